package tally

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/delta"
	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/ring"
	"github.com/weir-analytics/weir/rollup/visit"
)

// Open makes the workers of partitions that were assigned to this member: each goes on where the last flush that counts ended.
func (t *Tally) Open(ctx context.Context, partitions []int32) (map[int32]feed.Start, error) {
	client, err := t.Log.Client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	deltas, err := feed.PartitionBounds(ctx, client, t.Deltas)
	if err != nil {
		return nil, err
	}
	events, err := feed.PartitionBounds(ctx, client, t.Events)
	if err != nil {
		return nil, err
	}
	states, err := feed.PartitionBounds(ctx, client, t.State)
	if err != nil {
		return nil, err
	}
	opened := make(map[int32]*Partition, len(partitions))
	starts := make(map[int32]feed.Start, len(partitions))
	// failed leaves a partition out, and lets the others go on.
	failed := func(partition int32, err error) {
		starts[partition] = feed.Start{Err: err}
		delete(opened, partition)
	}
	for _, partition := range partitions {
		bounds, ok := deltas[partition]
		if !ok {
			return nil, fmt.Errorf("topic %s has no partition %d: it needs as many as %s", t.Deltas, partition, t.Events)
		}
		if err := cmp.Or(bounds.Err, events[partition].Err); err != nil {
			failed(partition, err)
			continue
		}
		opened[partition] = &Partition{t: t, partition: partition, at: bounds.End, inc: newIncrements()}
	}
	if err := t.findLast(ctx, deltas, opened, failed); err != nil {
		return nil, err
	}
	if err := t.restore(ctx, events, states, opened, failed); err != nil {
		return nil, err
	}
	for partition, p := range opened {
		starts[partition] = feed.Start{Worker: p, Offset: p.next}
	}
	return starts, nil
}

// tailRecords is how many of the last deltas are looked at first; a flush has a handful.
const tailRecords = 64

// findLast sets from, next and received by the last flush in the log that counts. Where the tail holds none (it may end with what a
// member without the partition wrote), a longer one is read.
func (t *Tally) findLast(ctx context.Context, bounds map[int32]feed.Bounds, opened map[int32]*Partition, failed func(int32, error)) error {
	missing := map[int32]bool{}
	for partition := range opened {
		if b := bounds[partition]; b.End > b.Start {
			missing[partition] = true
		} else if b.End > 0 {
			failed(partition, fmt.Errorf("topic %s partition %d: retention has deleted every delta, so nothing says which events are counted", t.Deltas, partition))
		}
	}
	for tail := int64(tailRecords); len(missing) > 0; tail *= 16 {
		var ranges []feed.Range
		for partition := range missing {
			b := bounds[partition]
			ranges = append(ranges, feed.Range{Partition: partition, From: max(b.Start, b.End-tail), To: b.End})
		}
		last := map[int32]delta.Flush{}
		readers := map[int32]*delta.Reader{}
		stuck, err := t.Log.Read(ctx, t.Deltas, ranges, func(r *kgo.Record) error {
			reader := readers[r.Partition]
			if reader == nil {
				reader = new(delta.Reader)
				readers[r.Partition] = reader
			}
			whole, err := reader.Add(r.Offset, func(d *delta.Delta) error { return delta.Parse(r.Value, d) })
			if err == nil && len(whole) > 0 {
				last[r.Partition] = whole[0].Flush
			}
			return nil // garbage is passed over, as the folds do
		})
		if err != nil {
			return err
		}
		for partition, err := range stuck {
			failed(partition, err)
			delete(missing, partition)
		}
		for partition := range missing {
			flush, ok := last[partition]
			if ok {
				p := opened[partition]
				p.from, p.next, p.received = flush.To, flush.To, flush.ReceivedMs
				delete(missing, partition)
			} else if b := bounds[partition]; b.End-tail <= b.Start {
				if b.Start > 0 {
					failed(partition, fmt.Errorf("topic %s partition %d: no flush in it counts, so nothing says which events are counted", t.Deltas, partition))
				}
				delete(missing, partition) // only garbage so far: begin at the first event
			}
		}
	}
	return nil
}

// restore brings what is known of identities and visits to the position of each partition, and steps over events that retention took.
func (t *Tally) restore(ctx context.Context, events, states map[int32]feed.Bounds, opened map[int32]*Partition, failed func(int32, error)) error {
	var replay []feed.Range
	received := map[int32]int64{} // by the last flush, which knows of events that may be gone
	for partition, p := range opened {
		b, saved, err := events[partition], Saved{}, error(nil)
		if p.from > b.End {
			failed(partition, fmt.Errorf("topic %s partition %d ends at offset %d, and events up to %d are counted already: the topic was cut or made anew",
				t.Events, partition, b.End, p.from))
			continue
		}
		if saved, p.visits, err = t.load(ctx, partition, p.from, states[partition]); err != nil {
			return err
		}
		p.stateAt, p.stateFrom = time.Now(), p.from
		received[partition], p.received = p.received, saved.ReceivedMs
		p.dedup = newDedup(t.Sites.State().RouteKey, saved)
		replay = append(replay, feed.Range{Partition: partition, From: max(saved.Position, b.Start), To: p.from})
		if b.Start > p.from {
			t.Logger.Error("events were deleted by retention before they were counted: give topic "+t.Events+" more room or time",
				"partition", partition, "from", p.from, "to", b.Start)
			t.Metrics.gaps.Add(float64(b.Start - p.from))
			p.next = b.Start
		}
	}
	return t.replay(ctx, replay, received, opened, failed)
}

// load returns what was saved of a partition: on this node, or in the log where that is much further. What is ahead of the log belongs to
// another log, and is forgotten; so is what is damaged.
func (t *Tally) load(ctx context.Context, partition int32, position int64, state feed.Bounds) (Saved, *visit.Visits, error) {
	saved, ok, err := t.Store.Load(partition)
	if err != nil {
		return Saved{}, nil, fmt.Errorf("load what is known of identities and visits: %w", err)
	}
	if ok && saved.Position <= position {
		visits, err := visit.New(saved.Visits)
		if err == nil && position-saved.Position <= stateEvents {
			return saved, visits, nil
		}
		if err != nil {
			t.Logger.Error("what was saved of visits is damaged: it is made again from the log", "partition", partition, "err", err)
			ok = false
		}
	}
	ok = ok && saved.Position <= position
	if written, visits := t.readState(ctx, partition, position, state); written != nil && (!ok || written.Position > saved.Position) {
		if err := t.Store.Forget(partition); err != nil {
			return Saved{}, nil, fmt.Errorf("forget what is known of identities and visits: %w", err)
		}
		change := Change{Position: written.Position, ReceivedMs: written.ReceivedMs, Sources: written.Sources, Added: written.Blocks, Visits: written.Visits}
		if err := t.Store.Save(partition, change); err != nil {
			return Saved{}, nil, fmt.Errorf("save what is known of identities and visits: %w", err)
		}
		return *written, visits, nil
	}
	if ok {
		visits, err := visit.New(saved.Visits)
		return saved, visits, err
	}
	if err := t.Store.Forget(partition); err != nil {
		return Saved{}, nil, fmt.Errorf("forget what is known of identities and visits: %w", err)
	}
	visits, err := visit.New(nil)
	return Saved{}, visits, err
}

// readState returns what was written to the log of a partition up to a position, the last of it, and nil when nothing can be found: then
// the events tell.
func (t *Tally) readState(ctx context.Context, partition int32, position int64, b feed.Bounds) (*Saved, *visit.Visits) {
	if b.Err != nil || b.Start >= b.End {
		return nil, nil
	}
	for tail := int64(tailRecords); ; tail *= 16 {
		g := gathering{atMost: position}
		stuck, err := t.Log.Read(ctx, t.State, []feed.Range{{Partition: partition, From: max(b.Start, b.End-tail), To: b.End}}, func(r *kgo.Record) error {
			g.add(r.Value)
			return nil
		})
		if err = cmp.Or(err, stuck[partition]); err != nil {
			t.Logger.Warn("what is known of identities and visits cannot be read from the log: it is made again from the events", "partition", partition, "err", err)
			return nil, nil
		}
		if g.best != nil {
			visits, err := visit.New(g.best.Visits)
			if err == nil {
				return g.best, visits
			}
			t.Logger.Error("what was written of visits is damaged: it is made again from the events", "partition", partition, "err", err)
			return nil, nil
		}
		if b.End-tail <= b.Start {
			return nil, nil
		}
	}
}

// replay reads events that are counted already, for their identities and visits.
func (t *Tally) replay(ctx context.Context, ranges []feed.Range, received map[int32]int64, opened map[int32]*Partition, failed func(int32, error)) error {
	stuck, err := t.Log.Read(ctx, t.Events, ranges, func(r *kgo.Record) error {
		opened[r.Partition].retake(r)
		return nil
	})
	if err != nil {
		return err
	}
	for partition, err := range stuck {
		failed(partition, err)
	}
	for partition, p := range opened {
		p.received = max(p.received, received[partition])
		change := p.dedup.takeChange(p.from, p.received)
		change.Visits = p.visits.TakeChange()
		if err := t.Store.Save(partition, change); err != nil {
			return fmt.Errorf("save what is known of identities and visits: %w", err)
		}
	}
	return nil
}

// retake takes an event that is counted already, for what is to be known of it.
func (p *Partition) retake(r *kgo.Record) {
	h := &p.hit
	if hit.Borrow(r.Value, h) != nil {
		return
	}
	p.received = max(p.received, h.ReceivedMs)
	if p.dedup.repeat(h, p.received) || ring.Judge(h.TimeMs, h.ReceivedMs) != ring.Counts {
		return
	}
	if _, ok := p.t.Sites.State().Sites[h.SiteID]; ok {
		p.visits.Add(h, r.Offset, p.received, nobody{})
	}
}
