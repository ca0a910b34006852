package group

import (
	"errors"

	"github.com/weir-analytics/weir/broker/led"
)

var (
	// ErrTxnEnded is what Partition.AppendInTxn returns, together with led.ErrNotWritten, when the transaction has ended.
	ErrTxnEnded = errors.New("the transaction has ended")
	// ErrProducerFenced is what Partition.AppendInTxn and AppendMarker return, together with led.ErrNotWritten, when the partition
	// knows a newer epoch of the producer.
	ErrProducerFenced = errors.New("a newer producer has replaced this one")
	// ErrInvalidConfig is returned by New.
	ErrInvalidConfig = errors.New("invalid configuration of the group coordinator")
)

// Error codes of the protocol, as far as group requests are answered with them.
const (
	codeNone                      int16 = 0
	codeUnknownTopicOrPartition   int16 = 3
	codeOffsetMetadataTooLarge    int16 = 12
	codeCoordinatorLoadInProgress int16 = 14
	codeCoordinatorNotAvailable   int16 = 15
	codeNotCoordinator            int16 = 16
	codeIllegalGeneration         int16 = 22
	codeInconsistentGroupProtocol int16 = 23
	codeInvalidGroupID            int16 = 24
	codeUnknownMemberID           int16 = 25
	codeInvalidSessionTimeout     int16 = 26
	codeRebalanceInProgress       int16 = 27
	codeInvalidCommitOffsetSize   int16 = 28
	codeInvalidRequest            int16 = 42
	codeUnknownServerError        int16 = -1
	codeInvalidProducerEpoch      int16 = 47
	codeInvalidTxnState           int16 = 48
	codeNonEmptyGroup             int16 = 68
	codeGroupIDNotFound           int16 = 69
	codeMemberIDRequired          int16 = 79
	codeGroupMaxSizeReached       int16 = 81
	codeFencedInstanceID          int16 = 82
	codeGroupSubscribedToTopic    int16 = 86
	codeUnstableOffsetCommit      int16 = 88
	codeUnknownTopicID            int16 = 100
)

// commitCode is the answer to an offset commit that could not be stored.
func commitCode(err error) int16 {
	if errors.Is(err, led.ErrTooLarge) {
		return codeInvalidCommitOffsetSize
	}
	return led.StoreCode(err)
}

// txnCommitCode is the answer to an offset commit in a transaction that could not be stored.
func txnCommitCode(err error) int16 {
	switch {
	case errors.Is(err, ErrTxnEnded):
		return codeInvalidTxnState
	case errors.Is(err, ErrProducerFenced):
		return codeInvalidProducerEpoch
	}
	return commitCode(err)
}
