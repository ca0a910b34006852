package group

import (
	"context"
	"errors"
	"time"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
)

// pendingWrite is what one call of write, writeInTxn or writeMarker left behind.
type pendingWrite struct {
	group  *group // nil for a marker
	recs   []record.Record
	in     *Transaction   // nil outside of transactions
	marker *record.Marker // instead of records
	done   func(now time.Time, err error)
}

// write puts records into the queue of the writer. It implements journal; the lock is held.
func (s *shard) write(g *group, recs []record.Record, done func(now time.Time, err error)) {
	s.enqueue(pendingWrite{group: g, recs: recs, done: done})
}

// writeInTxn is write for records in a transaction. It implements journal; the lock is held.
func (s *shard) writeInTxn(g *group, in Transaction, recs []record.Record, done func(now time.Time, err error)) {
	s.enqueue(pendingWrite{group: g, recs: recs, in: &in, done: func(now time.Time, err error) {
		done(now, err)
		if err == nil {
			s.note(in.ProducerID, g)
		}
	}})
}

// note remembers that a group has offsets of a producer's open transaction. The lock is held.
func (s *shard) note(producer int64, g *group) {
	if s.staged[producer] == nil {
		s.staged[producer] = map[*group]struct{}{}
	}
	s.staged[producer][g] = struct{}{}
}

// writeMarker ends a producer's transaction in the partition, in its place among the other writes. The lock is held.
func (s *shard) writeMarker(m record.Marker, done func(err error)) {
	s.enqueue(pendingWrite{marker: &m, done: func(_ time.Time, err error) {
		if err == nil {
			for g := range s.staged[m.ProducerID] {
				g.endTxn(m.ProducerID, m.Commit)
				s.settle(g)
			}
			delete(s.staged, m.ProducerID)
		}
		done(err)
	}})
}

func (s *shard) enqueue(w pendingWrite) {
	if s.stage != led.Loaded {
		w.done(s.env.cfg.Now(), led.ErrUnloaded)
		return
	}
	bytes := 0
	for _, r := range w.recs {
		bytes += r.Size()
	}
	s.queue.Add(w, bytes, w.in != nil || w.marker != nil)
}

// crowded says that the queue has no room for requests that can be refused. The lock is held.
func (s *shard) crowded() bool { return s.queue.Bytes() >= s.env.cfg.QueueBytes }

// append writes what take returned.
func (s *shard) append(batch []pendingWrite) {
	base, count, err := s.appendTo(s.ctx, batch)
	s.finish(batch, base, count, err)
}

// appendTo writes into the partition and says where that is and how many offsets it took.
func (s *shard) appendTo(ctx context.Context, batch []pendingWrite) (base, count int64, err error) {
	first := &batch[0]
	if first.marker != nil {
		err = s.part.AppendMarker(ctx, *first.marker)
		// It says nothing of its place: the partition ends after it, or where it did when there was nothing to end.
		end := s.part.HighWatermark()
		count = min(max(end-s.next, 0), 1)
		return end - count, count, err
	}
	var recs []record.Record
	for _, w := range batch {
		recs = append(recs, w.recs...)
	}
	if first.in != nil {
		base, err = s.part.AppendInTxn(ctx, *first.in, recs)
	} else {
		base, err = s.part.Append(ctx, recs)
	}
	return base, int64(len(recs)), err
}

// take removes from the queue what goes into one batch.
func (s *shard) take() []pendingWrite {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.Take(s.env.cfg.BatchBytes)
}

// finish tells the groups what became of their writes.
func (s *shard) finish(batch []pendingWrite, base, count int64, err error) {
	// The records are in the log or not whatever Leader says, but only in this epoch is the memory known to match the log.
	if err == nil && !s.Current() {
		err = led.ErrUnloaded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.queue.Settled()
	if s.stage == led.Unloaded {
		err = led.ErrUnloaded
	}
	result := "ok"
	if err != nil {
		result = "failed"
		s.log.Warn("write to the offsets topic failed", "records", count, "err", err)
	}
	s.env.metrics.writes.WithLabelValues(result).Inc()
	now := s.env.cfg.Now()
	for _, w := range batch {
		w.done(now, err)
		if s.stage == led.Loaded && w.group != nil {
			s.settle(w.group)
		}
	}
	switch {
	case s.stage != led.Loaded:
	case err == nil && base == s.next:
		s.next += count
	case err == nil:
		// Records that memory does not know: an earlier write of unknown outcome, or another writer.
		s.log.Warn("offsets topic holds records of somebody else, loading again", "offset", base, "want", s.next)
		s.unloadLocked()
	case !errors.Is(err, led.ErrNotWritten) && !errors.Is(err, led.ErrTooLarge):
		s.unloadLocked()
	}
}
