package dialect

import "fmt"

// FieldError says which field of a hit is wrong, under the name that the sender's own server uses, and how.
type FieldError struct {
	Field   string
	Message string
}

// Error implements error.
func (e *FieldError) Error() string { return fmt.Sprintf("%s %s", e.Field, e.Message) }

func wrong(field, format string, args ...any) error {
	return &FieldError{Field: field, Message: fmt.Sprintf(format, args...)}
}
