package sketch

import "errors"

// ErrCorrupt is returned, wrapped, for bytes that Append did not write.
var ErrCorrupt = errors.New("not a sketch")
