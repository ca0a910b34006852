package seglog

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound is returned for an entry below the first or above the last.
	ErrNotFound = errors.New("no such log entry")
	// ErrOffsetRange is returned for a read below the log start or beyond the end.
	ErrOffsetRange = errors.New("offset out of range")
	// ErrOrder is returned when an entry does not continue the log: a gap in
	// the index, a term that goes back, a batch at another offset. Nothing is
	// written.
	ErrOrder = errors.New("entry does not continue the log")
	// ErrCorrupt is returned when stored bytes that were once durable are not
	// what they were. The log refuses to work and deletes nothing.
	ErrCorrupt = errors.New("log is damaged")
	// ErrFailed is returned once a write or sync could not be undone: what is
	// on disk is known only after the log has been opened again.
	ErrFailed = errors.New("log has stopped after a failed write")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("log is closed")
)

// corrupt describes damage such that an operator finds the place.
func corrupt(file string, pos int64, format string, args ...any) error {
	return fmt.Errorf("%w: %s at byte %d: %s; nothing was changed, restore this partition from a replica or a backup",
		ErrCorrupt, file, pos, fmt.Sprintf(format, args...))
}
