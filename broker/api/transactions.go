package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/record"
)

// Transactions is the coordinator of transactions as the partitions see it (KIP-890).
type Transactions interface {
	// Verify asks whether a partition is part of the transaction that a producer has open; with implicitAdd, for clients that leave it to
	// the broker, it is made part of it, durably. Safe for concurrent use. The errors are those of AddPartitionsToTxn: INVALID_TXN_STATE
	// or TRANSACTION_ABORTABLE when it is not, PRODUCER_FENCED or INVALID_PRODUCER_EPOCH for an old producer, those of a coordinator
	// that can't say now.
	Verify(ctx context.Context, transactionalID string, producerID int64, epoch int16, topic string, partition int32, implicitAdd bool) *kerr.Error
}

const (
	// implicitAddVersion is the version of Produce from which on the broker adds the partition.
	implicitAddVersion = 12
	// abortableVersion is the version of Produce whose clients know TRANSACTION_ABORTABLE.
	abortableVersion = 11
)

// refuseTxn returns why nothing of a request is taken because of the transactions in it: all its batches must be those of one producer,
// whose transactional id it names.
func refuseTxn(q *kmsg.ProduceRequest) error {
	producer := record.NoProducer
	for i := range q.Topics {
		for j := range q.Topics[i].Partitions {
			b, err := record.ParseHeader(q.Topics[i].Partitions[j].Records)
			if err != nil || !b.Transactional() || b.Control() {
				continue // what is wrong with it is said for its partition alone
			}
			if q.TransactionID == nil || *q.TransactionID == "" {
				return refuse(kerr.TransactionalIDAuthorizationFailed, "a batch in a transaction, without a transactional id in the request")
			}
			if producer != record.NoProducer && producer != b.ProducerID {
				return refuse(kerr.InvalidProducerIDMapping, "batches of several producers in one transactional request")
			}
			producer = b.ProducerID
		}
	}
	return nil
}

// verifyTxn makes sure that a batch belongs to a transaction that somebody will end. The coordinator is asked for the first batch of a
// transaction in a partition; the partitions of a request one after the other, since it changes one transaction at a time. since is the
// high watermark from before the answer: a marker that comes later ends this transaction.
//
// Adding the partition may have to wait until the producer's transaction before has ended, so that the marker of that one may come after the
// first high watermark: it is asked again.
func (h *Handler) verifyTxn(ctx context.Context, q *kmsg.ProduceRequest, topic *Topic, p Partition, number int32, b record.Batch) (since int64, err error) {
	if _, err := checkEpoch(p, -1); err != nil {
		return 0, err // before the coordinator takes note of it
	}
	since = max(p.HighWatermark(), 0) // -1 until the partition is open
	if h.cfg.Transactions == nil || p.OpenTxn(b.ProducerID, b.ProducerEpoch) {
		return since, nil
	}
	for _, add := range []bool{true, false} {
		if add && q.Version < implicitAddVersion {
			continue
		}
		since = max(p.HighWatermark(), 0)
		if err := h.cfg.Transactions.Verify(ctx, *q.TransactionID, b.ProducerID, b.ProducerEpoch, topic.Name, number, add); err != nil {
			return 0, verifyError(err, q.Version)
		}
	}
	return since, nil
}

// verifyError is what a producer is told of the coordinator's answer, as by Kafka. What ends by itself becomes an error that every version
// tries again without looking for another leader.
func verifyError(err *kerr.Error, version int16) error {
	switch err.Code {
	case kerr.ProducerFenced.Code:
		return refuse(kerr.InvalidProducerEpoch, "a newer producer has replaced this one")
	case kerr.TransactionAbortable.Code:
		if version < abortableVersion {
			return refuse(kerr.InvalidTxnState, notInTxn)
		}
	case kerr.InvalidTxnState.Code:
		return refuse(kerr.InvalidTxnState, notInTxn)
	case kerr.ConcurrentTransactions.Code:
		if version < implicitAddVersion {
			return refuse(kerr.NotEnoughReplicas, "the coordinator still ends the transaction before; try again")
		}
	case kerr.CoordinatorLoadInProgress.Code, kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code, kerr.NetworkException.Code,
		kerr.RequestTimedOut.Code:
		return refuse(kerr.NotEnoughReplicas, "the transaction's coordinator could not be asked ("+err.Message+"); try again")
	}
	return err
}

const notInTxn = "the partition is not part of the producer's transaction"
