package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/broker/txn"
)

// statePartitions shows __transaction_state to the transaction coordinator.
type statePartitions struct{ coordinated }

// StatePartition returns the partition itself: the same one is the same value.
func (s statePartitions) StatePartition(n int32) (txn.Partition, error) {
	p, err := s.partition(n)
	if err != nil {
		return nil, err
	}
	return statePartition{p}, nil
}

// statePartition is comparable: two of the same partition are equal.
type statePartition struct{ *partition }

// Append writes one batch and waits until it is committed.
func (s statePartition) Append(ctx context.Context, recs []record.Record) (int64, error) {
	base, err := appendRecords(ctx, s.partition, recs)
	return base, asStoreError(err)
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
	count := offsetsOf(b).Count()
	if count == 0 {
		return "", 0, false
	}
	return group.OffsetsTopic, group.PartitionOf(name, count), true
}

// markers writes markers into partitions, wherever their leader is.
type markers struct{ b *Broker }

// Write ends a producer's transaction in a partition and waits until that is committed.
func (k markers) Write(ctx context.Context, topic string, n int32, m record.Marker) error {
	if p, ok := k.b.view.Load().ByName[topic].Partition(n); ok {
		if to, elsewhere := k.b.serverOf(p); elsewhere {
			return k.b.writeMarker(ctx, to, remoteMarker{topic, n, m})
		}
	}
	return k.write(ctx, topic, n, m)
}

// write is Write for a partition that this node leads. In __consumer_offsets it goes through the group coordinator, whose offsets it makes
// count.
func (k markers) write(ctx context.Context, topic string, n int32, m record.Marker) error {
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
