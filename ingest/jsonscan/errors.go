package jsonscan

import (
	"errors"
	"fmt"
)

// ErrCut is in the chain of an error for input that ends in the middle of a value.
var ErrCut = errors.New("the JSON is cut off")

// SyntaxError says where the input stops being JSON.
type SyntaxError struct {
	Offset int // bytes from the start of the input, from 0
	msg    string
	cut    bool
}

// Error implements error.
func (e *SyntaxError) Error() string {
	if e.cut {
		return fmt.Sprintf("the JSON is cut off after byte %d: %s", e.Offset, e.msg)
	}
	return fmt.Sprintf("not JSON at byte %d: %s", e.Offset, e.msg)
}

// Is makes errors.Is(err, ErrCut) true for input that ends too early.
func (e *SyntaxError) Is(target error) bool { return e.cut && target == ErrCut }
