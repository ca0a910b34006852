package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// Produce (0): append one record batch per partition.
//
//	v3 record batches of magic 2, transactional id; v5 log start in the answer; v7 zstd; v8 error text and bad records; v9 tagged
//	fields; v10 current leader in errors; v12 implicit enlisting in transactions; v13 topic ids
//
// v0-2 are advertised and refused: librdkafka up to 2.8 looks for version 2 before it compresses, and none of its versions sends it.
// acks=1 is acks=all here: an answer means that the batch is on the disks of a majority. acks=0 gets no answer, and an error closes
// the connection, so that the producer looks for the leader again.
// Batches are handed to the log in the order of the requests of a connection, and waited for together (wire.Reply.Wait).
// The bytes of a request become the log's without a copy, unless the topic's compression.type asks for another codec.
// A batch in a transaction needs the transactional id in the request; before the first one of a transaction in a partition the coordinator
// is asked (transactions.go). Markers come from the broker alone.
// Left out on purpose: leader hints in errors (one node leads everything).
func (h *Handler) produceKey() key {
	return key{num: 0, min: 0, max: 13, serve: h.produce}
}

// appending is one partition's part of a produce request.
type appending struct {
	topic     *kmsg.ProduceResponseTopic
	partition int32
	records   int
	bytes     int
	pending   Pending
	err       error
}

func (h *Handler) produce(ctx context.Context, req *wire.Request) wire.Reply {
	timing := h.time(req)
	defer timing.stop()
	q := kmsg.NewPtrProduceRequest()
	if err := decode(q, req); err != nil {
		return wire.Reply{Err: err}
	}
	ctx, cancel := context.WithTimeout(wire.Outlive(ctx), millis(q.TimeoutMillis))
	all := h.appendAll(ctx, req, q)
	wait := max(h.charge(req, state.QuotaProduce, len(req.Body)), timing.charge())
	return wire.Reply{
		Silent: q.Acks == 0,
		Wait: func() (net.Buffers, error) {
			defer cancel()
			return h.produced(ctx, q, all, wait)
		},
	}
}

// appendAll hands every batch to its partition and does not wait for any to be committed.
func (h *Handler) appendAll(ctx context.Context, req *wire.Request, q *kmsg.ProduceRequest) []appending {
	v, refused := h.backend.View(), refuseProduce(q)
	if refused == nil && q.TransactionID != nil {
		refused = h.authorize(req, acl.TransactionalID, *q.TransactionID, acl.Write)
	}
	if refused == nil {
		refused = refuseTxn(q)
	}
	n := 0
	for i := range q.Topics {
		n += len(q.Topics[i].Partitions)
	}
	all := make([]appending, 0, n)
	for i := range q.Topics {
		qt := &q.Topics[i]
		topic, unknown := v.ByName[qt.Topic], kerr.UnknownTopicOrPartition
		if q.Version >= 13 {
			topic, unknown = v.ByID[qt.TopicID], kerr.UnknownTopicID
		}
		denied := h.denied(req, qt.Topic, topic, acl.Write)
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic, rt.TopicID = qt.Topic, qt.TopicID
		for j := range qt.Partitions {
			a := appending{topic: &rt, partition: qt.Partitions[j].Partition, bytes: len(qt.Partitions[j].Records)}
			switch {
			case refused != nil:
				a.err = refused
			case denied != nil:
				a.err = denied
			case topic == nil:
				a.err = unknown
			default:
				h.append(ctx, q, topic, qt.Partitions[j].Records, &a)
			}
			all = append(all, a)
		}
	}
	return all
}

// refuseProduce returns why nothing of a request is taken.
func refuseProduce(q *kmsg.ProduceRequest) error {
	switch {
	case q.Version < 3:
		return kerr.UnsupportedVersion
	case q.Acks < -1 || q.Acks > 1:
		return refuse(kerr.InvalidRequiredAcks, fmt.Sprintf("acks=%d, must be -1 (all), 0 or 1", q.Acks))
	}
	return nil
}

func (h *Handler) append(ctx context.Context, q *kmsg.ProduceRequest, topic *Topic, batch []byte, a *appending) {
	p, ok := topic.Partition(a.partition)
	switch {
	case !ok:
		a.err = kerr.UnknownTopicOrPartition
		return
	case topic.Internal:
		a.err = refuse(kerr.InvalidTopicException, topic.Name+" is written by the broker alone")
		return
	}
	header, err := h.checkBatch(q.Version, topic, batch)
	if err != nil {
		a.err = err
		return
	}
	if codec, ok := topic.Config.Codec(header.Codec()); ok {
		if batch, err = record.Recompress(batch, codec, replica.MaxInflated(topic.Config.MaxBatchBytes)); err != nil {
			a.err = err
			return
		}
	}
	a.records = int(header.Count)
	if !header.Transactional() {
		a.pending = p.Append(ctx, batch)
		return
	}
	since, err := h.verifyTxn(ctx, q, topic, p, a.partition, header)
	if err != nil {
		a.err = err
		return
	}
	a.pending = p.AppendVerified(ctx, batch, since)
}

// checkBatch is what a batch must keep beside what the log itself looks at: checksum, records, size, producer and sequence.
func (h *Handler) checkBatch(version int16, topic *Topic, batch []byte) (record.Batch, error) {
	if len(batch) == 0 {
		return record.Batch{}, refuse(kerr.InvalidRecord, "no record batch in the request")
	}
	b, err := record.ParseHeader(batch)
	switch {
	case err != nil:
		return b, err
	case b.Control():
		return b, refuse(kerr.InvalidRecord, "control batches come from the broker alone")
	case b.Codec() == record.Zstd && version < 7:
		return b, refuse(kerr.UnsupportedCompressionType, "zstd needs Produce version 7 or later")
	case !topic.Config.LogAppendTime && b.MaxTimestampMs > h.cfg.Now().Add(topic.Config.MaxAhead).UnixMilli():
		return b, refuse(kerr.InvalidTimestamp,
			fmt.Sprintf("a record is dated %s, more than %v ahead", time.UnixMilli(b.MaxTimestampMs).UTC(), topic.Config.MaxAhead))
	}
	return b, nil
}

// produced waits for what was appended and makes the answer. With acks=0 it returns the first error instead.
func (h *Handler) produced(ctx context.Context, q *kmsg.ProduceRequest, all []appending, wait time.Duration) (net.Buffers, error) {
	r := kmsg.NewPtrProduceResponse()
	r.ThrottleMillis = int32(wait.Milliseconds())
	r.Topics = make([]kmsg.ProduceResponseTopic, 0, len(q.Topics))
	var first error
	var current *kmsg.ProduceResponseTopic
	for i := range all {
		a := &all[i]
		done, err := a.result(ctx)
		h.metrics.produced(a, err)
		if err != nil && first == nil {
			first = err
		}
		if a.topic != current {
			current = a.topic
			r.Topics = append(r.Topics, *a.topic)
		}
		t := &r.Topics[len(r.Topics)-1]
		t.Partitions = append(t.Partitions, producedPartition(a, done, err))
	}
	if q.Acks == 0 {
		if first != nil {
			return nil, fmt.Errorf("produce with acks=0: %w", first)
		}
		return nil, nil
	}
	r.SetVersion(q.Version)
	return net.Buffers{r.AppendTo(nil)}, nil
}

func (a *appending) result(ctx context.Context) (replica.Appended, error) {
	if a.err != nil {
		return replica.Appended{}, a.err
	}
	select {
	case <-a.pending.Done():
		return a.pending.Result()
	case <-ctx.Done():
		return replica.Appended{}, fmt.Errorf("%w: not committed in time: %w", replica.ErrOutcomeUnknown, ctx.Err())
	}
}

func producedPartition(a *appending, done replica.Appended, err error) kmsg.ProduceResponseTopicPartition {
	p := kmsg.NewProduceResponseTopicPartition()
	p.Partition = a.partition
	if err != nil {
		p.ErrorCode, p.BaseOffset = code(err), -1
		var known *kerr.Error
		if !errors.As(err, &known) || error(known) != err {
			p.ErrorMessage = message(err) // more than the code says by itself
		}
		var records *record.RecordsError
		if errors.As(err, &records) {
			p.ErrorRecords = badRecords(records)
		}
		return p
	}
	p.BaseOffset, p.LogAppendTime, p.LogStartOffset = done.BaseOffset, done.LogAppendTimeMs, done.LogStart
	return p
}

// badRecords lets clients fail those records alone and send the others again.
func badRecords(e *record.RecordsError) []kmsg.ProduceResponseTopicPartitionErrorRecord {
	list := make([]kmsg.ProduceResponseTopicPartitionErrorRecord, len(e.Records))
	for i, position := range e.Records {
		r := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		r.RelativeOffset, r.ErrorMessage = position, &e.Reason
		list[i] = r
	}
	return list
}
