package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/broker/txn"
)

// statePartitions shows __transaction_state to the transaction coordinator.
type statePartitions struct{ b *Broker }

func (s statePartitions) Count() int32 {
	t := s.b.view.Load().ByName[txn.StateTopic]
	if t == nil {
		return 0
	}
	return int32(len(t.Partitions))
}

// StatePartition returns the partition itself: the same one is the same value.
func (s statePartitions) StatePartition(n int32) (txn.Partition, error) {
	p, ok := s.b.view.Load().ByName[txn.StateTopic].Partition(n)
	if !ok {
		return nil, fmt.Errorf("partition %d of %s: %w", n, txn.StateTopic, replica.ErrNotReady)
	}
	if p.Phase() == api.Closed {
		return nil, fmt.Errorf("partition %d of %s is not open: %w", n, txn.StateTopic, replica.ErrNotReady)
	}
	return statePartition{p.(*partition)}, nil
}

// statePartition is comparable: two of the same partition are equal.
type statePartition struct{ *partition }

// Append writes one batch and waits until it is committed.
func (s statePartition) Append(ctx context.Context, recs []record.Record) (int64, error) {
	base, err := appendRecords(ctx, s.partition, recs)
	switch {
	case err == nil, errors.Is(err, replica.ErrOutcomeUnknown):
		return base, err
	case errors.Is(err, replica.ErrNotLeader):
		return base, fmt.Errorf("%w: %w", txn.ErrNotLeader, err)
	case errors.Is(err, replica.ErrBatchTooLarge):
		return base, fmt.Errorf("%w: %w", txn.ErrTooLarge, err)
	case notWritten(err):
		return base, fmt.Errorf("%w: %w", txn.ErrNotWritten, err)
	}
	return base, err
}

// txnTopics tells the coordinator which partitions can take part in transactions.
type txnTopics struct{ b *Broker }

func (t txnTopics) Partitions(name string) (count int32, internal, ok bool) {
	topic := t.b.view.Load().ByName[name]
	if topic == nil {
		return 0, false, false
	}
	return int32(len(topic.Partitions)), topic.Internal, true
}

// groupPartition returns the partition of __consumer_offsets that a group belongs to.
func (b *Broker) groupPartition(name string) (topic string, partition int32, ok bool) {
	count := offsetsPartitions{b}.Count()
	if count == 0 {
		return "", 0, false
	}
	return group.OffsetsTopic, group.PartitionOf(name, count), true
}

// markers writes markers into the partitions of this node.
type markers struct{ b *Broker }

// Write ends a producer's transaction in a partition and waits until that is committed. In __consumer_offsets it goes through the
// group coordinator, whose offsets it makes count.
func (k markers) Write(ctx context.Context, topic string, n int32, m record.Marker) error {
	p, ok := k.b.view.Load().ByName[topic].Partition(n)
	if !ok {
		return fmt.Errorf("partition %d of %s: %w", n, topic, txn.ErrNoPartition)
	}
	var err error
	if topic == group.OffsetsTopic {
		p.Open()
		err = k.b.groups.WriteMarker(ctx, n, m)
	} else {
		err = p.AppendMarker(ctx, m)
	}
	switch {
	case errors.Is(err, replica.ErrInvalidProducerEpoch):
		return fmt.Errorf("%w: %w", txn.ErrNewerProducer, err)
	case errors.Is(err, replica.ErrCoordinatorFenced):
		return fmt.Errorf("%w: %w", txn.ErrNewerCoordinator, err)
	}
	return err
}
