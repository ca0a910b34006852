package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// Errors of an Appender, told apart by errors.Is.
var (
	// ErrNotWritten is returned when none of the records was written nor will be. The batch may be tried again.
	ErrNotWritten = errors.New("not written")
	// ErrRefused is the ErrNotWritten of a partition that has stopped and will not take the batch in the next seconds either.
	ErrRefused = fmt.Errorf("%w: refused", ErrNotWritten)
	// ErrOutcomeUnknown is returned when the records may or may not be written, now or later. Trying again is safe for hits: they carry
	// their identity, and repeats are dropped when counting.
	ErrOutcomeUnknown = errors.New("not known whether it was written")
)

// Record is one record for the log.
type Record struct {
	Key, Value  []byte
	TimestampMs int64 // Unix milliseconds
}

// Appender writes to the log: the broker in this process, or a Kafka client.
type Appender interface {
	// Append writes the records as one batch and returns the offset of the first one once they are committed and durable. An error is
	// ErrNotWritten or ErrOutcomeUnknown; any other counts as ErrOutcomeUnknown. It is called by one goroutine per partition at a time,
	// and by several for different partitions. The records and their bytes belong to the caller again after it returned.
	Append(ctx context.Context, topic string, partition int32, records []Record) (base int64, err error)
}

// Sites gives the cluster state: sites, salts, tokens, topics. The snapshot is immutable. Safe for concurrent use.
type Sites interface {
	State() *state.State
}
