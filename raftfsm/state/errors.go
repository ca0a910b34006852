package state

import (
	"errors"
	"fmt"
)

// ErrExists is returned when something is added under a name that is taken.
var ErrExists = errors.New("already exists")

// ErrNotFound is returned when something is changed or removed that is not there.
var ErrNotFound = errors.New("not found")

// ErrSetupDone is returned by the first-run set-up once a user exists.
var ErrSetupDone = errors.New("set-up is done already: log in instead")

// ErrInvalid is returned for a value that is not allowed. Get it with errors.As.
type ErrInvalid struct {
	Field  string // as in the API: "name", "timezone", "email", ...
	Reason string // what is wrong and what is allowed
}

func (e ErrInvalid) Error() string { return e.Field + ": " + e.Reason }

func invalid(field, format string, args ...any) error {
	return ErrInvalid{Field: field, Reason: fmt.Sprintf(format, args...)}
}

func exists(what, name string) error   { return fmt.Errorf("%s %q %w", what, name, ErrExists) }
func notFound(what, name string) error { return fmt.Errorf("%s %q %w", what, name, ErrNotFound) }
