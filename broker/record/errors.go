package record

import (
	"errors"
	"fmt"
)

// The sentinels say what kind of wrong a batch is; the wrapping text says where.
var (
	// ErrShort is returned when the bytes end before the batch does. A reader
	// of a stream may try again with more bytes.
	ErrShort = errors.New("record batch is cut short")
	// ErrMagic is returned for a message format other than magic 2.
	ErrMagic = errors.New("unsupported record format, only magic 2 is kept")
	// ErrCorrupt is returned when lengths, counts or the checksum disagree with
	// the bytes.
	ErrCorrupt = errors.New("record batch is corrupt")
	// ErrInvalid is returned when a batch is well formed but breaks a rule that
	// producers must keep, such as dense offset deltas.
	ErrInvalid = errors.New("record batch breaks a rule for producers")
	// ErrTooLarge is returned when a batch inflates to more than the bound.
	ErrTooLarge = errors.New("record batch inflates beyond the limit")
	// ErrCodec is returned for a compression codec that does not exist.
	ErrCodec = errors.New("unknown compression codec")
)

// RecordsError names the records of a well-formed batch that must not be
// there. None of the batch is taken. It is an ErrInvalid.
type RecordsError struct {
	Records []int32 // positions in the batch, from 0, rising
	Reason  string  // holds for each of them
}

// Error tells how many there are and where the first one is.
func (e *RecordsError) Error() string {
	return fmt.Sprintf("%v: %d of its records, the first at position %d: %s", ErrInvalid, len(e.Records), e.Records[0], e.Reason)
}

// Unwrap returns ErrInvalid.
func (e *RecordsError) Unwrap() error { return ErrInvalid }
