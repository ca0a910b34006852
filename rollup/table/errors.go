package table

import "errors"

// ErrDamaged is returned, wrapped, when the table holds what nobody wrote. The table is a cache: stop the node and delete its directory.
var ErrDamaged = errors.New("the table of counts is damaged; stop the node, delete the directory and start again: it is filled from the log")
