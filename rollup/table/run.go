package table

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/zone"
)

// Run fills the table from the log until ctx ends, starting over by itself after errors. It returns only the cause of ctx.
func (t *Table) Run(ctx context.Context) error {
	for {
		err := t.follow(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.metrics.restarts.Inc()
		t.cfg.Logger.Warn("the table of counts reads the log anew", "err", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// follow reads all partitions of the topics from where the table is.
func (t *Table) follow(ctx context.Context) error {
	units := map[string]zone.Unit{}
	from := map[string]map[int32]kgo.Offset{}
	client, err := t.cfg.Log.Client()
	if err != nil {
		return err
	}
	for unit, topic := range t.cfg.Topics {
		units[topic] = unit
		bounds, err := feed.PartitionBounds(ctx, client, topic)
		if err != nil {
			client.Close()
			return err
		}
		if from[topic], err = t.positions(unit, topic, bounds); err != nil {
			client.Close()
			return err
		}
	}
	client.Close()

	client, err = t.cfg.Log.Client(
		kgo.ConsumePartitions(from),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxBytes(8<<20),
		kgo.FetchMaxPartitionBytes(1<<20),
		kgo.FetchMaxWait(5*time.Second),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read the counts: %w", err)
		}
		var failed error
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if failed != nil || len(p.Records) == 0 {
				return
			}
			failed = t.Take(units[p.Topic], p.Partition, p.Records)
		})
		if failed != nil {
			return failed
		}
	}
}

// positions returns where to read on in the partitions of a topic. What was read and not taken before a restart is read again.
func (t *Table) positions(unit zone.Unit, topic string, bounds map[int32]feed.Bounds) (map[int32]kgo.Offset, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := map[int32]kgo.Offset{}
	for partition, b := range bounds {
		p := t.part(partID{unit, partition})
		if p.next > b.End {
			return nil, fmt.Errorf("topic %s partition %d ends at offset %d, and the table holds it up to %d: the topic was cut; %w",
				topic, partition, b.End, p.next, ErrDamaged)
		}
		p.pending, p.readTo = nil, max(p.next, b.Start)
		from[partition] = kgo.NewOffset().At(p.readTo)
	}
	return from, nil
}
