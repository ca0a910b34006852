package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// TxnOffsetCommit (28): keep offsets for a group, that count once the producer's transaction is committed.
//
//	v2 leader epochs; v3 tagged fields, and members of the group are fenced (KIP-447); v4 TRANSACTION_ABORTABLE; v5 makes the offsets
//	part of the transaction (KIP-890), before that AddOffsetsToTxn does; v6 topic ids
func (h *Handler) txnOffsetCommitKey() key {
	return key{num: 28, min: 0, max: 6, serve: decoded(h, h.txnOffsetCommit)}
}

// addsOffsetsVersion is the version from which on TxnOffsetCommit adds the offsets to the transaction.
const addsOffsetsVersion = 5

func (h *Handler) txnOffsetCommit(ctx context.Context, req *wire.Request, q *kmsg.TxnOffsetCommitRequest) *kmsg.TxnOffsetCommitResponse {
	denied := h.deniedTxnCommits(req, q)
	if len(q.Topics) == 0 {
		r := kmsg.NewPtrTxnOffsetCommitResponse()
		r.Topics = denied
		return r
	}
	r := h.groups.TxnOffsetCommit(ctx, q, func(topic string, partition int32, add bool) int16 {
		add = add && q.Version >= addsOffsetsVersion
		err := h.txns.Verify(ctx, q.TransactionalID, q.ProducerID, q.ProducerEpoch, topic, partition, add)
		return txnCommitCode(err, q.Version)
	})
	r.Topics = append(r.Topics, denied...)
	return r
}

// deniedTxnCommits takes what may not be committed out of a request, and answers it.
func (h *Handler) deniedTxnCommits(req *wire.Request, q *kmsg.TxnOffsetCommitRequest) []kmsg.TxnOffsetCommitResponseTopic {
	var denied []kmsg.TxnOffsetCommitResponseTopic
	all := cmp.Or(h.authorize(req, acl.TransactionalID, q.TransactionalID, acl.Write), h.authorize(req, acl.Group, q.Group, acl.Read))
	v := h.backend.View()
	q.Topics = slices.DeleteFunc(q.Topics, func(t kmsg.TxnOffsetCommitRequestTopic) bool {
		name, known := t.Topic, true
		if q.Version >= 6 {
			topic := v.ByID[t.TopicID]
			if known = topic != nil; known {
				name = topic.Name
			}
		}
		err := all
		if err == nil && known { // an id of no topic is answered as such
			err = h.authorize(req, acl.Topic, name, acl.Read)
		}
		if err == nil {
			return false
		}
		d := kmsg.TxnOffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			d.Partitions = append(d.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: code(err)})
		}
		denied = append(denied, d)
		return true
	})
	return denied
}

// txnCommitCode is what a client is told of the coordinator's answer, as by Kafka: errors that end by themselves become ones that
// every version tries again.
func txnCommitCode(err *kerr.Error, version int16) int16 {
	switch {
	case err == nil:
		return 0
	case err.Code == kerr.ProducerFenced.Code:
		return kerr.InvalidProducerEpoch.Code
	case err.Code == kerr.InvalidTxnState.Code && version >= 4:
		return kerr.TransactionAbortable.Code
	case err.Code == kerr.ConcurrentTransactions.Code && version < addsOffsetsVersion:
		return kerr.CoordinatorLoadInProgress.Code
	case err.Code == kerr.NotCoordinator.Code: // that of the transaction, not of the group
		return kerr.CoordinatorLoadInProgress.Code
	}
	return err.Code
}
