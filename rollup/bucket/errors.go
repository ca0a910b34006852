package bucket

import "errors"

// ErrNotCell is returned, wrapped, for keys and values that are neither a cell nor a progress record.
var ErrNotCell = errors.New("not a cell")
