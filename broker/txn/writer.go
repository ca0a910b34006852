package txn

import (
	"errors"
	"time"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
)

// pendingWrite is what one call of write left behind.
type pendingWrite struct {
	txn  *txn
	rec  record.Record
	done func(now time.Time, err error)
}

// write puts a record into the queue of the writer. It implements journal; the lock is held.
func (s *shard) write(t *txn, rec record.Record, done func(now time.Time, err error)) {
	if s.stage != led.Loaded {
		done(s.env.cfg.Now(), led.ErrUnloaded)
		return
	}
	s.queue.Add(pendingWrite{txn: t, rec: rec, done: done}, rec.Size(), false)
}

// crowded says that the queue has no room for requests that can be refused. The lock is held.
func (s *shard) crowded() bool { return s.queue.Bytes() >= s.env.cfg.QueueBytes }

// append writes what take returned.
func (s *shard) append(batch []pendingWrite) {
	recs := make([]record.Record, len(batch))
	for i, w := range batch {
		recs[i] = w.rec
	}
	base, err := s.part.Append(s.ctx, recs)
	s.finishWrite(batch, base, err)
}

// take removes from the queue what goes into one batch.
func (s *shard) take() []pendingWrite {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.Take(s.env.cfg.BatchBytes)
}

// finishWrite tells the transactions what became of their writes.
func (s *shard) finishWrite(batch []pendingWrite, base int64, err error) {
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
		s.log.Warn("write to the transaction topic failed", "records", len(batch), "err", err)
	}
	s.env.metrics.writes.WithLabelValues(result).Inc()
	now := s.env.cfg.Now()
	for _, w := range batch {
		w.done(now, err)
		if s.stage == led.Loaded {
			s.settle(w.txn)
		}
	}
	switch {
	case s.stage != led.Loaded:
	case err == nil && base == s.next:
		s.next += int64(len(batch))
	case err == nil:
		// Records that memory does not know: an earlier write of unknown outcome, or another writer.
		s.log.Warn("transaction topic holds records of somebody else, loading again", "offset", base, "want", s.next)
		s.unloadLocked()
	case !errors.Is(err, led.ErrNotWritten) && !errors.Is(err, led.ErrTooLarge):
		s.unloadLocked()
	}
}
