package txn

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AddPartitionsToTxn makes partitions part of a transaction; records may be sent to them after the answer. All of them are
// added or none: when one can't be, the others are answered OPERATION_NOT_ATTEMPTED.
//
// Version 2 knows PRODUCER_FENCED; 4 is what brokers send for several transactions at once, and may ask whether partitions are
// part of one without adding them; 5 knows TRANSACTION_ABORTABLE. denied returns the code for a topic that the caller may not
// write to or ask about, 0 for others.
func (c *Coordinator) AddPartitionsToTxn(ctx context.Context, conn uint64, req *kmsg.AddPartitionsToTxnRequest, denied func(topic string) int16) *kmsg.AddPartitionsToTxnResponse {
	resp := req.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	if req.Version < 4 {
		topics := make([]kmsg.AddPartitionsToTxnRequestTransactionTopic, len(req.Topics))
		for i, t := range req.Topics {
			topics[i] = kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: t.Topic, Partitions: t.Partitions}
		}
		codes := c.addPartitions(ctx, conn, req.Version, denied, &kmsg.AddPartitionsToTxnRequestTransaction{
			TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch, Topics: topics,
		})
		for _, t := range req.Topics {
			rt := kmsg.AddPartitionsToTxnResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				rt.Partitions = append(rt.Partitions, kmsg.AddPartitionsToTxnResponseTopicPartition{Partition: p, ErrorCode: codes(t.Topic, p)})
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	}
	for i := range req.Transactions {
		q := &req.Transactions[i]
		codes := c.addPartitions(ctx, conn, req.Version, denied, q)
		rx := kmsg.AddPartitionsToTxnResponseTransaction{TransactionalID: q.TransactionalID}
		for _, t := range q.Topics {
			rt := kmsg.AddPartitionsToTxnResponseTransactionTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				rt.Partitions = append(rt.Partitions, kmsg.AddPartitionsToTxnResponseTransactionTopicPartition{Partition: p, ErrorCode: codes(t.Topic, p)})
			}
			rx.Topics = append(rx.Topics, rt)
		}
		resp.Transactions = append(resp.Transactions, rx)
	}
	return resp
}

// codeOf is the answer for each partition of a request.
type codeOf func(topic string, partition int32) int16

func forAll(code int16) codeOf { return func(string, int32) int16 { return code } }

func (c *Coordinator) addPartitions(ctx context.Context, conn uint64, version int16, denied func(string) int16, q *kmsg.AddPartitionsToTxnRequestTransaction) codeOf {
	p := producer{q.ProducerID, q.ProducerEpoch}
	switch {
	case q.TransactionalID == "":
		return forAll(codeInvalidRequest)
	case q.VerifyOnly:
		return func(topic string, partition int32) int16 {
			if code := denied(topic); code != codeNone {
				return code
			}
			code := c.verify(ctx, q.TransactionalID, p, topicPartition{topic, partition})
			if code == codeInvalidTxnState && version >= 5 {
				return codeTransactionAbortable
			}
			return code
		}
	}
	tps, refused := c.checkPartitions(q.Topics, denied)
	if len(tps) == 0 && len(refused) == 0 {
		return forAll(codeNone) // a transaction begins with its first partition
	}
	if len(refused) > 0 {
		return func(topic string, partition int32) int16 {
			if code, ok := refused[topicPartition{topic, partition}]; ok {
				return code
			}
			return codeOperationNotAttempted
		}
	}
	transactions := versionOne
	if version >= 4 {
		transactions = versionTwo
	}
	return forAll(fencedCode(c.add(ctx, q.TransactionalID, p, transactions, tps, conn), version, 2))
}

// checkPartitions returns the partitions of a request, and those that can't be part of a transaction with the reason.
func (c *Coordinator) checkPartitions(topics []kmsg.AddPartitionsToTxnRequestTransactionTopic, denied func(string) int16) ([]topicPartition, map[topicPartition]int16) {
	var tps []topicPartition
	refused := map[topicPartition]int16{}
	for _, t := range topics {
		name := strings.Clone(t.Topic)
		count, internal, ok := c.env.cfg.Topics.Partitions(name)
		code := denied(name)
		for _, p := range t.Partitions {
			tp := topicPartition{name, p}
			switch {
			case code != codeNone:
				refused[tp] = code
			case internal:
				refused[tp] = codeTopicAuthorizationFailed
			case !ok || p < 0 || p >= count:
				refused[tp] = codeUnknownTopicOrPartition
			default:
				tps = append(tps, tp)
			}
		}
	}
	return tps, refused
}

// Verify says whether a producer may write into a partition as part of its transaction, nil for yes. With implicitAdd, as
// clients of transactions version 2 rely on, it makes the partition part of the transaction, which may begin with it.
func (c *Coordinator) Verify(ctx context.Context, transactionalID string, producerID int64, epoch int16, topic string, partition int32, implicitAdd bool) *kerr.Error {
	p, tp := producer{producerID, epoch}, topicPartition{topic, partition}
	var code int16
	if implicitAdd {
		tp.topic = strings.Clone(topic)
		code = c.add(ctx, transactionalID, p, versionTwo, []topicPartition{tp}, 0)
	} else {
		code = c.verify(ctx, transactionalID, p, tp)
	}
	if code == codeNone {
		return nil
	}
	return kerr.TypedErrorForCode(code)
}
