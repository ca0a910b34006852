package table

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/zone"
)

// Run fills the table from the log until ctx ends, starting over by itself after errors. It returns only the cause of ctx.
func (t *Table) Run(ctx context.Context) error {
	flushed := make(chan struct{})
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		defer close(flushed)
		t.flushNowAndThen(ctx)
	}()
	defer func() {
		cancel(nil)
		<-flushed
	}()
	var warned time.Time
	said := ""
	for {
		err := t.follow(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.metrics.restarts.Inc()
		if now := time.Now(); now.Sub(warned) >= warnEvery || err.Error() != said {
			warned, said = now, err.Error()
			t.cfg.Logger.Warn("the table of counts reads the log anew", "err", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// flushEvery bounds how much is read again from the log after a crash.
const flushEvery = 30 * time.Second

func (t *Table) flushNowAndThen(ctx context.Context) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if !t.dirty.Swap(false) {
				continue
			}
			if err := t.flush(ctx); err != nil && ctx.Err() == nil {
				t.cfg.Logger.Warn("the table of counts could not be brought to the disk", "err", err)
			}
		}
	}
}

// flush brings what is in memory to the disk. On a full disk that takes until there is room, so ctx bounds it.
func (t *Table) flush(ctx context.Context) error {
	done, err := t.db.AsyncFlush()
	if err != nil {
		return fmt.Errorf("write the table of counts: %w", err)
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Partitions that the log cannot offer do not keep the others from being read: they are asked for again now and then.
const (
	askAgain   = 2 * time.Second
	missingFor = 10 * time.Second // after so long the start does not wait for them
	warnEvery  = time.Minute
)

// follow reads all partitions of the topics from where the table is.
func (t *Table) follow(ctx context.Context) error {
	units := map[string]zone.Unit{}
	from := map[string]map[int32]kgo.Offset{}
	ends := map[partID]int64{}
	reading := map[partID]bool{}
	var missing []error // of partitions that the log cannot offer now
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
		for partition, b := range bounds {
			if b.Err != nil {
				missing = append(missing, b.Err)
				delete(bounds, partition) // the folds say that it is not counted
				continue
			}
			ends[partID{unit, partition}] = b.End
		}
		if from[topic], err = t.positions(unit, topic, bounds, reading); err != nil {
			client.Close()
			return err
		}
	}
	client.Close()
	if t.began.IsZero() {
		t.began = time.Now()
	}
	if len(missing) == 0 || time.Since(t.began) > missingFor {
		t.aim(ends)
	}
	if len(missing) > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, askAgain, errors.Join(missing...))
		defer cancel()
	}

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
	var fed sync.WaitGroup
	defer fed.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	fed.Go(func() { t.followFed(ctx, client, reading) })
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
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

// positions returns where to read on in the partitions of a topic that are not fed, and notes for all of them whether they are read. What
// was read and not taken before a restart is read again.
func (t *Table) positions(unit zone.Unit, topic string, bounds map[int32]feed.Bounds, reading map[partID]bool) (map[int32]kgo.Offset, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := map[int32]kgo.Offset{}
	for partition, b := range bounds {
		p := t.part(partID{unit, partition})
		reading[partID{unit, partition}] = !p.fed
		if p.fed {
			continue
		}
		if p.next > max(b.End, p.fedTo) {
			return nil, fmt.Errorf("topic %s partition %d ends at offset %d, and the table holds it up to %d: the topic was cut; %w",
				topic, partition, b.End, p.next, ErrDamaged)
		}
		p.pending, p.readTo = nil, max(p.next, b.Start)
		from[partition] = kgo.NewOffset().At(p.readTo)
	}
	return from, nil
}

// aim notes where the topics ended when they were first asked after the start.
func (t *Table) aim(ends map[partID]int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.aims == nil {
		t.aims = ends
	}
}

// Behind says how many offsets of the topics, as they were at the start, the table has yet to read. known is false while the topics have
// not said where they end, and empty then says that the table holds nothing.
func (t *Table) Behind() (offsets int64, known, empty bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, end := range t.aims {
		p := t.part(id)
		if behind := end - max(p.next, p.readTo); behind > 0 {
			offsets += behind
		} else {
			delete(t.aims, id)
		}
	}
	empty = true
	for _, p := range t.parts {
		empty = empty && p.next == 0
	}
	return offsets, t.aims != nil, empty
}

// Damaged returns the damage that was found while the table was read, or nil.
func (t *Table) Damaged() error {
	if err := t.bad.Load(); err != nil {
		return *err
	}
	return nil
}
