package broker

import (
	"errors"
	"fmt"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/broker/txn"
)

// coordinated is an internal topic in which a coordinator keeps its state.
type coordinated struct {
	b     *Broker
	topic string
}

func offsetsOf(b *Broker) offsetsPartitions {
	return offsetsPartitions{coordinated{b, group.OffsetsTopic}}
}

func stateOf(b *Broker) statePartitions { return statePartitions{coordinated{b, txn.StateTopic}} }

// Count is the number of partitions, 0 while there is no such topic.
func (c coordinated) Count() int32 {
	t := c.b.view.Load().ByName[c.topic]
	if t == nil {
		return 0
	}
	return int32(len(t.Partitions))
}

// partition returns a partition that is open on this node.
func (c coordinated) partition(n int32) (*partition, error) {
	p, ok := c.b.view.Load().ByName[c.topic].Partition(n)
	if !ok {
		return nil, fmt.Errorf("partition %d of %s: %w", n, c.topic, replica.ErrNotReady)
	}
	if p.Phase() == api.Closed {
		return nil, fmt.Errorf("partition %d of %s is not open: %w", n, c.topic, replica.ErrNotReady)
	}
	return p.(*partition), nil
}

// asStoreError sorts errors of appends the way coordinators ask for.
func asStoreError(err error) error {
	switch {
	case err == nil, errors.Is(err, replica.ErrOutcomeUnknown):
		return err
	case errors.Is(err, replica.ErrNotLeader):
		return fmt.Errorf("%w: %w", led.ErrNotLeader, err)
	case errors.Is(err, replica.ErrBatchTooLarge):
		return fmt.Errorf("%w: %w", led.ErrTooLarge, err)
	case notWritten(err):
		return fmt.Errorf("%w: %w", led.ErrNotWritten, err)
	}
	return err
}

// notWritten reports whether an error of an append says that nothing was written.
func notWritten(err error) bool {
	for _, certain := range []error{
		replica.ErrNotLeader, replica.ErrNotReady, replica.ErrQueueFull, replica.ErrStopped, replica.ErrBatchTooLarge,
		replica.ErrCorruptBatch, replica.ErrInvalidRecord, replica.ErrUnsupportedMagic, replica.ErrOutOfOrderSequence, replica.ErrInvalidProducerEpoch,
		replica.ErrInvalidTxnState, replica.ErrCoordinatorFenced,
	} {
		if errors.Is(err, certain) {
			return true
		}
	}
	return false
}
