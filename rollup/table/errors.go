package table

import "errors"

// ErrDamaged is returned, wrapped, when the table holds what nobody wrote. The table is a cache: the next start makes it again.
var ErrDamaged = errors.New("the table of counts is damaged; start the node again: the table is made again from the log")
