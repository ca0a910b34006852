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

// Damage is an ErrCorrupt that knows its place.
type Damage struct {
	File string
	Pos  int64 // byte in the file
	What string
}

// Error describes the damage such that an operator finds the place.
func (d *Damage) Error() string {
	return fmt.Sprintf("%v: %s at byte %d: %s; nothing was changed, restore this partition from a replica or a backup",
		ErrCorrupt, d.File, d.Pos, d.What)
}

// Unwrap makes it an ErrCorrupt.
func (d *Damage) Unwrap() error { return ErrCorrupt }

func corrupt(file string, pos int64, format string, args ...any) error {
	return &Damage{file, pos, fmt.Sprintf(format, args...)}
}
