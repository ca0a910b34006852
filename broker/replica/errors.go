package replica

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
)

// The errors of Append. All but ErrOutcomeUnknown say that the batch is
// certainly not in the log and never will be.
var (
	// ErrNotLeader is returned by a replica that does not lead its group.
	ErrNotLeader = errors.New("this node does not lead the partition")
	// ErrNotReady is returned by a leader that has not caught up yet; trying
	// again in a moment is right.
	ErrNotReady = errors.New("the partition's leader is not ready yet")
	// ErrCorruptBatch is returned for a batch whose bytes contradict themselves.
	ErrCorruptBatch = errors.New("record batch is corrupt")
	// ErrUnsupportedMagic is returned for message formats before magic 2.
	ErrUnsupportedMagic = errors.New("unsupported message format, only magic 2 is taken")
	// ErrBatchTooLarge is returned for a batch beyond the topic's limit.
	ErrBatchTooLarge = errors.New("record batch is larger than the topic allows")
	// ErrInvalidRecord is returned for a batch that breaks a rule for producers.
	ErrInvalidRecord = errors.New("record batch breaks a rule for producers")
	// ErrOutOfOrderSequence is returned when an idempotent producer's batch
	// does not follow the one before it.
	ErrOutOfOrderSequence = errors.New("sequence number out of order")
	// ErrInvalidProducerEpoch is returned to a producer that a newer one with
	// the same id has replaced.
	ErrInvalidProducerEpoch = errors.New("a newer producer has replaced this one")
	// ErrInvalidTxnState is returned for a batch that does not fit the state of
	// its producer's transaction: sent outside of an open one, or after its end.
	ErrInvalidTxnState = errors.New("the batch does not fit the producer's transaction")
	// ErrCoordinatorFenced is returned for a marker of a coordinator that a
	// newer one has replaced.
	ErrCoordinatorFenced = errors.New("a newer transaction coordinator has replaced this one")
	// ErrQueueFull is returned when there was no room in the queue until the
	// caller's context ended.
	ErrQueueFull = errors.New("the partition's queue is full")
	// ErrDiskFull is returned while the disk has too little room left. It is a
	// kind of ErrStopped, but ends by itself when there is room again.
	ErrDiskFull = fmt.Errorf("%w for new records: the disk is full", ErrStopped)
	// ErrStopped is returned by a partition that was closed, or that stopped
	// because of an input/output error or damage; Err tells which.
	ErrStopped = errors.New("the partition has stopped")
	// ErrOutcomeUnknown is returned when it can't be said whether the batch
	// is in the log: leadership or the disk was lost while it was written.
	ErrOutcomeUnknown = errors.New("unknown whether the records were written")
)

// The errors of reading and opening.
var (
	// ErrOffsetOutOfRange is returned for offsets below the log start or above
	// the high watermark.
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrLostData is returned by Open when the log on disk ends before what
	// this replica is known to have acknowledged or voted on. It must not take
	// part under its old identity.
	ErrLostData = errors.New("the replica has lost data")
	// ErrCorrupt is returned for stored bytes that are damaged.
	ErrCorrupt = seglog.ErrCorrupt
)

// batchError maps what record finds wrong to the errors of this package.
func batchError(err error) error {
	switch {
	case errors.Is(err, record.ErrMagic):
		return fmt.Errorf("%w: %w", ErrUnsupportedMagic, err)
	case errors.Is(err, record.ErrTooLarge):
		return fmt.Errorf("%w: %w", ErrBatchTooLarge, err)
	case errors.Is(err, record.ErrInvalid), errors.Is(err, record.ErrCodec):
		return fmt.Errorf("%w: %w", ErrInvalidRecord, err)
	}
	return fmt.Errorf("%w: %w", ErrCorruptBatch, err)
}

// proposeError maps what raft answers to a proposal.
func proposeError(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	case errors.Is(err, errNotStored): // rolled back, nothing was sent to a peer
		return fmt.Errorf("%w: %w", ErrStopped, err)
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}
