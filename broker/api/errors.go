package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/broker/txn"
	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// errMalformed closes a connection whose request could not be decoded.
var errMalformed = errors.New("malformed request")

// errUnsupported closes a connection that asks for what was never advertised.
var errUnsupported = errors.New("unsupported request")

// table maps our errors to those of the protocol; the first that matches counts. Errors up to "unknown" mean that nothing was done.
// What is in no row becomes UNKNOWN_SERVER_ERROR, which clients take as final.
var table = []struct {
	is error
	as *kerr.Error
}{
	{replica.ErrNotLeader, kerr.NotLeaderForPartition},
	{replica.ErrNotReady, kerr.NotLeaderForPartition}, // clients ask for metadata and come back
	{replica.ErrCorruptBatch, kerr.CorruptMessage},
	{replica.ErrBatchTooLarge, kerr.MessageTooLarge},
	{replica.ErrInvalidRecord, kerr.InvalidRecord},
	{replica.ErrUnsupportedMagic, kerr.UnsupportedForMessageFormat},
	{replica.ErrOutOfOrderSequence, kerr.OutOfOrderSequenceNumber},
	{replica.ErrInvalidProducerEpoch, kerr.InvalidProducerEpoch},
	{replica.ErrInvalidTxnState, kerr.InvalidTxnState},
	{replica.ErrCoordinatorFenced, kerr.TransactionCoordinatorFenced},
	{replica.ErrStopped, kerr.KafkaStorageError},
	{replica.ErrCorrupt, kerr.CorruptMessage},    // what is stored is: clients tell their owner, where a storage error is tried again for ever
	{replica.ErrQueueFull, kerr.RequestTimedOut}, // retriable by every client, and the batch was not taken
	{replica.ErrOffsetOutOfRange, kerr.OffsetOutOfRange},
	{record.ErrMagic, kerr.UnsupportedForMessageFormat},
	{record.ErrShort, kerr.CorruptMessage},
	{record.ErrCorrupt, kerr.CorruptMessage},
	{record.ErrTooLarge, kerr.MessageTooLarge},
	{record.ErrCodec, kerr.UnsupportedCompressionType},
	{record.ErrInvalid, kerr.InvalidRecord},
	{txn.ErrNoPartition, kerr.UnknownTopicOrPartition},
	{led.ErrNotLeader, kerr.NotLeaderForPartition},
	{led.ErrNotWritten, kerr.NotLeaderForPartition}, // of a marker: asked again after a look at the metadata
	{raftfsm.ErrUnavailable, kerr.NotController},    // clients look for the controller and try again
	{state.ErrExists, kerr.TopicAlreadyExists},
	{state.ErrNotFound, kerr.UnknownTopicOrPartition},

	// Unknown outcome: retriable, and a producer with sequences finds out by trying again.
	{replica.ErrOutcomeUnknown, kerr.RequestTimedOut},
	{raftfsm.ErrOutcomeUnknown, kerr.RequestTimedOut},
	{context.DeadlineExceeded, kerr.RequestTimedOut},
	{context.Canceled, kerr.RequestTimedOut},
}

// code returns the protocol's error code, 0 for nil.
func code(err error) int16 {
	var k *kerr.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &k):
		return k.Code
	}
	for _, row := range table {
		if errors.Is(err, row.is) {
			return row.as.Code
		}
	}
	var invalid state.ErrInvalid
	if errors.As(err, &invalid) {
		return invalidField(invalid.Field).Code
	}
	return kerr.UnknownServerError.Code
}

// invalidField maps the fields of a topic that the controller may refuse.
func invalidField(field string) *kerr.Error {
	switch field {
	case "name":
		return kerr.InvalidTopicException
	case "partitions":
		return kerr.InvalidPartitions
	case "replication_factor":
		return kerr.InvalidReplicationFactor
	}
	return kerr.InvalidRequest
}

// message is the text that goes with code, nil for nil.
func message(err error) *string {
	if err == nil {
		return nil
	}
	s := err.Error()
	return &s
}

// refusal is an error of the protocol with a text of our own for the person who reads it.
type refusal struct {
	as   *kerr.Error
	text string
}

func (r refusal) Error() string { return r.text }
func (r refusal) Unwrap() error { return r.as }

func refuse(as *kerr.Error, text string) error { return refusal{as: as, text: text} }
