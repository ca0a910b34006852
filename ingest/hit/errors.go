package hit

import "errors"

// ErrNotHit is returned by Parse and Borrow for bytes that are not a whole hit: cut off, not protobuf, or without version or site.
var ErrNotHit = errors.New("not a hit record")
