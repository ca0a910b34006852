package txn

import (
	"errors"
	"time"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
)

// pendingWrite is what one call of write left behind.
type pendingWrite struct {
	txn   *txn
	rec   record.Record
	bytes int
	done  func(now time.Time, err error)
}

// write puts a record into the queue of the writer. It implements journal; the lock is held.
func (s *shard) write(t *txn, rec record.Record, done func(now time.Time, err error)) {
	if s.stage != led.Loaded {
		done(s.env.cfg.Now(), led.ErrUnloaded)
		return
	}
	w := pendingWrite{txn: t, rec: rec, bytes: rec.Size(), done: done}
	s.queue = append(s.queue, w)
	s.queuedBytes += w.bytes
	led.Signal(s.queued)
}

// crowded says that the queue has no room for requests that can be refused. The lock is held.
func (s *shard) crowded() bool { return s.queuedBytes >= s.env.cfg.QueueBytes }

// writeLoop appends what is queued, one batch at a time; what comes meanwhile goes into the next one.
func (s *shard) writeLoop() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.queued:
		}
		for batch := s.take(); len(batch) > 0; batch = s.take() {
			recs := make([]record.Record, len(batch))
			for i, w := range batch {
				recs[i] = w.rec
			}
			base, err := s.part.Append(s.ctx, recs)
			s.finishWrite(batch, base, err)
		}
	}
}

// take removes from the queue what goes into one batch.
func (s *shard) take() []pendingWrite {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, bytes := 0, 0
	for n < len(s.queue) && (n == 0 || bytes+s.queue[n].bytes <= s.env.cfg.BatchBytes) {
		bytes += s.queue[n].bytes
		n++
	}
	batch := s.queue[:n:n]
	s.queue = s.queue[n:]
	s.queuedBytes -= bytes
	s.writing = n > 0
	return batch
}

// finishWrite tells the transactions what became of their writes.
func (s *shard) finishWrite(batch []pendingWrite, base int64, err error) {
	// The records are in the log or not whatever Leader says, but only in this epoch is the memory known to match the log.
	if err == nil && !s.Current() {
		err = led.ErrUnloaded
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.noteIdle()
	s.writing = false
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
