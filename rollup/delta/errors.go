package delta

import "errors"

// ErrNotDelta is returned, wrapped, by Parse for bytes that are not a whole delta.
var ErrNotDelta = errors.New("not a delta record")
