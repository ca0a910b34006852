package rollup

import (
	"errors"
	"fmt"
)

// ErrNoSite is returned for a site that does not exist.
var ErrNoSite = errors.New("there is no such site")

// ErrBehind is returned while counts are missing that were published before the start: the table is being made from the log.
var ErrBehind = errors.New("the counts are being read from the log after a start; ask again in a moment")

// InvalidError is returned for a question that makes no sense.
type InvalidError struct {
	Field  string // of Query, as it is called in the API
	Reason string
}

func (e *InvalidError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Reason) }
