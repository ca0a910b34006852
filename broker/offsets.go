package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
)

// offsetsPartitions shows __consumer_offsets to the group coordinator.
type offsetsPartitions struct{ coordinated }

// OffsetsPartition returns the partition itself: the same one is the same value.
func (o offsetsPartitions) OffsetsPartition(n int32) (group.Partition, error) {
	p, err := o.partition(n)
	if err != nil {
		return nil, err
	}
	return offsetsPartition{p}, nil
}

// offsetsPartition is comparable: two of the same partition are equal.
type offsetsPartition struct{ *partition }

// Append writes one batch and waits until it is committed.
func (o offsetsPartition) Append(ctx context.Context, recs []record.Record) (int64, error) {
	base, err := appendRecords(ctx, o.partition, recs)
	return base, asGroupError(err)
}

// AppendInTxn writes one batch in a producer's transaction and waits until it is committed. The sequence goes on by itself: the
// coordinator is the only writer, and has one batch under way.
func (o offsetsPartition) AppendInTxn(ctx context.Context, in group.Transaction, recs []record.Record) (int64, error) {
	batch, err := buildBatch(recs, func(b *record.Builder) {
		b.SetProducer(in.ProducerID, in.ProducerEpoch, o.NextSequence(in.ProducerID, in.ProducerEpoch))
		b.SetTransactional()
	})
	if err != nil {
		return -1, asGroupError(err)
	}
	base, err := wait(ctx, o.AppendVerified(ctx, batch, in.Since))
	return base, asGroupError(err)
}

// AppendMarker ends a producer's transaction and waits until that is committed.
func (o offsetsPartition) AppendMarker(ctx context.Context, m record.Marker) error {
	return asGroupError(o.partition.AppendMarker(ctx, m))
}

// asGroupError sorts errors the way the coordinator asks for.
func asGroupError(err error) error {
	switch {
	case errors.Is(err, replica.ErrOutcomeUnknown):
		return err
	case errors.Is(err, replica.ErrInvalidTxnState):
		return fmt.Errorf("%w: %w: %w", led.ErrNotWritten, group.ErrTxnEnded, err)
	case errors.Is(err, replica.ErrInvalidProducerEpoch):
		return fmt.Errorf("%w: %w: %w", led.ErrNotWritten, group.ErrProducerFenced, err)
	}
	return asStoreError(err)
}

// topicNames tells the coordinator which topics exist.
type topicNames struct{ b *Broker }

func (n topicNames) TopicByName(name string) (id [16]byte, partitions int32, ok bool) {
	t := n.b.view.Load().ByName[name]
	if t == nil {
		return id, 0, false
	}
	return t.ID, int32(len(t.Partitions)), true
}

func (n topicNames) TopicByID(id [16]byte) (name string, ok bool) {
	t := n.b.view.Load().ByID[id]
	if t == nil {
		return "", false
	}
	return t.Name, true
}
