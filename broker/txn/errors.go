package txn

import "errors"

var (
	// ErrInvalidConfig is returned by New.
	ErrInvalidConfig = errors.New("invalid configuration of the transaction coordinator")

	// ErrNoPartition is what Markers.Write returns for a partition that does not exist any more: there is nothing left to end.
	ErrNoPartition = errors.New("no such partition")
	// ErrNewerProducer is what Markers.Write returns when the partition has seen a newer epoch of the producer: the
	// transaction was ended there by somebody else.
	ErrNewerProducer = errors.New("the partition knows a newer epoch of the producer")
	// ErrNewerCoordinator is what Markers.Write returns when the partition has a marker of a later coordinator: this one
	// leads no longer.
	ErrNewerCoordinator = errors.New("the partition knows a newer transaction coordinator")
)

// Error codes of the protocol, as far as requests of transactions are answered with them.
const (
	codeNone                      int16 = 0
	codeUnknownTopicOrPartition   int16 = 3
	codeCoordinatorLoadInProgress int16 = 14
	codeCoordinatorNotAvailable   int16 = 15
	codeNotCoordinator            int16 = 16
	codeTopicAuthorizationFailed  int16 = 29
	codeInvalidRequest            int16 = 42
	codeInvalidProducerEpoch      int16 = 47
	codeInvalidTxnState           int16 = 48
	codeInvalidProducerIDMapping  int16 = 49
	codeInvalidTransactionTimeout int16 = 50
	codeConcurrentTransactions    int16 = 51
	codeOperationNotAttempted     int16 = 55
	codeProducerFenced            int16 = 90
	codeTransactionalIDNotFound   int16 = 105
	codeTransactionAbortable      int16 = 120
	codeInvalidRegularExpression  int16 = 128
	codeUnknownServerError        int16 = -1
)
