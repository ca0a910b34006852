package ingest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/weir-analytics/weir/ingest/hit"
)

// partition queues hits for one partition of the topic. Its run loop is the only one that writes to it.
type partition struct {
	q      *queue
	number int32
	wake   chan struct{} // capacity 1: a token means that there may be something to write

	space  recordSpace   // of the run loop
	timer  *time.Timer   // of the run loop, for waiting for a turn
	held   bool          // a turn is held; of the run loop
	took   time.Duration // the last append; of the run loop
	said   time.Time     // when refused hits were logged last; of the run loop
	unsaid int           // hits refused since

	mu       sync.Mutex
	full     []*batch // closed to new hits, in order
	filling  *batch   // nil when there is none
	sequence uint64   // of the last hit that got one
	failures uint64   // grows when batches failed: whoever must keep an order compares it
	closed   bool     // the run loop has ended: nothing more is taken
}

// add encodes a hit into the batch that is being filled and returns that batch. The hit gets the next sequence when it has no identity
// yet; call flush after the last one. A caller that needs all its hits before the failed one written passes the failures it saw first, others anyFailures.
// A hit that nobody waits for is alone.
func (p *partition) add(h *hit.Hit, from origin, failures uint64, alone bool) (*batch, error) {
	if p.q.bytes.Load() >= p.q.cfg.QueueBytes {
		return nil, errQueueFull
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errStopping
	}
	if failures != anyFailures && failures != p.failures {
		return nil, ErrNotWritten
	}
	if h.ClientID == "" && h.ID.Seq == 0 {
		p.sequence++
		h.ID = hit.ID{Source: p.q.source, Seq: p.sequence}
	}
	b := p.filling
	if b == nil {
		b = newBatch()
		p.filling = b
	}
	b.add(h, from, alone)
	if len(b.buf)-b.counted >= countBytes {
		p.count(b)
	}
	if len(b.buf) >= p.q.cfg.BatchBytes || len(b.entries) >= p.q.cfg.BatchHits {
		p.full = append(p.full, b)
		p.filling = nil
		p.flush()
	}
	return b, nil
}

// countBytes is after how many bytes the queue counts them: the number is shared by all cores. Until then they are known to the batch alone, so
// that the queue may hold so much more for each partition.
const countBytes = 4 << 10

// count lets the queue count what is in a batch. p.mu is held, or nobody adds to the batch any more.
func (p *partition) count(b *batch) {
	p.q.bytes.Add(int64(len(b.buf) - b.counted))
	b.counted = len(b.buf)
}

// flush makes the run loop write what is queued. Until then only full batches are written, so that the hits of one request stay
// together.
func (p *partition) flush() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// anyFailures is for callers of add that keep no order.
const anyFailures = ^uint64(0)

// seen returns the failures so far.
func (p *partition) seen() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures
}

// take returns the next batch to write, nil when there is none.
func (p *partition) take() *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.full) > 0 {
		b := p.full[0]
		p.full = p.full[1:]
		return b
	}
	b := p.filling
	p.filling = nil
	return b
}

// waiting reports whether there is something to write.
func (p *partition) waiting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.full) > 0 || p.filling != nil
}

// takeTurn waits until few other partitions write. Where appends take longer than that may last, they are what hits wait for and batches grow
// by themselves.
func (p *partition) takeTurn() { p.held = p.took < turnWait && p.q.turns.take(p.timer) }

// giveTurnBack lets another partition write.
func (p *partition) giveTurnBack() {
	if p.held {
		p.q.turns.giveBack()
		p.held = false
	}
}

// closeIfEmpty ends the taking of hits when none is left, and reports whether it did.
func (p *partition) closeIfEmpty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = len(p.full) == 0 && p.filling == nil
	return p.closed
}

// run writes batches until stop is closed and nothing is left, or ctx ends.
func (p *partition) run(ctx context.Context, stop <-chan struct{}) {
	p.timer = time.NewTimer(turnWait)
	p.timer.Stop()
	for {
		for p.waiting() {
			p.takeTurn()
			// Whoever is ready to run now goes first: requests that came together get into one batch, which costs them together what each of
			// them would cost alone. Where nobody is ready this is nothing.
			runtime.Gosched()
			p.write(ctx, p.take())
			p.giveTurnBack()
		}
		select {
		case <-p.wake:
		case <-stop:
			if p.closeIfEmpty() {
				return
			}
		}
	}
}

// write brings a batch into the log and tells those who wait for it.
func (p *partition) write(ctx context.Context, b *batch) {
	records := b.records(&p.space)
	p.count(b)
	begin := time.Now()
	base, err := p.append(ctx, records)
	p.took = time.Since(begin)
	if err == nil {
		b.part, b.next = p.number, base+int64(len(records))
		p.q.metrics.committed(b.entries, p.took)
		p.finish(b, nil)
		return
	}
	p.say(len(records), err)
	p.fail(b, err)
}

// sayEvery is how often refused hits are logged: a partition that has stopped refuses every batch.
const sayEvery = 10 * time.Second

// say logs that hits were refused. Only the run loop calls it.
func (p *partition) say(hits int, err error) {
	p.unsaid += hits
	now := time.Now()
	if !p.said.IsZero() && now.Sub(p.said) < sayEvery {
		return
	}
	p.q.cfg.Log.Error("hits refused: the log did not take them", "topic", p.q.cfg.Topic, "partition", p.number, "hits", p.unsaid, "err", err)
	p.said, p.unsaid = now, 0
}

// settleFor is how long a batch of unknown outcome is offered to a log that refuses everything, to learn what became of it: a partition whose
// disk failed for a moment is back within a second.
const settleFor = 2 * time.Second

// append tries until the batch is written, the partition is known to take nothing, or the time is over.
func (p *partition) append(ctx context.Context, records []Record) (base int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.q.cfg.AppendTimeout)
	defer cancel()
	unknown, refused := false, time.Time{} // since when the log has been refusing
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		base, err := p.q.cfg.Appender.Append(ctx, p.q.cfg.Topic, p.number, records)
		if err == nil {
			return base, nil
		}
		unknown = unknown || !errors.Is(err, ErrNotWritten)
		if errors.Is(err, ErrRefused) && !unknown {
			return 0, err
		}
		if !errors.Is(err, ErrRefused) {
			refused = time.Time{}
		} else if refused.IsZero() {
			refused = time.Now()
		} else if time.Since(refused) > settleFor {
			return 0, errors.Join(ErrOutcomeUnknown, err)
		}
		p.giveTurnBack()
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			p.q.metrics.retries.Inc()
		case <-ctx.Done():
			timer.Stop()
			if unknown {
				return 0, errors.Join(ErrOutcomeUnknown, err)
			}
			return 0, errors.Join(ErrNotWritten, err)
		}
	}
}

// fail ends a batch and all behind it: hits behind a gap must not be written, or a repeat of the hits in the gap would be taken for one
// that was counted.
func (p *partition) fail(b *batch, err error) {
	p.mu.Lock()
	behind := p.full
	if p.filling != nil {
		behind = append(behind, p.filling)
	}
	p.full, p.filling = nil, nil
	p.failures++
	p.mu.Unlock()
	p.finish(b, err)
	for _, b := range behind {
		p.finish(b, ErrNotWritten)
	}
}

func (p *partition) finish(b *batch, err error) {
	p.q.bytes.Add(-int64(b.counted))
	b.err = err
	if err != nil {
		p.countLost(b)
	}
	b.release()
	close(b.done)
}

// countLost counts the hits of a batch that nobody waits for, so that each hit that is not written is told to somebody.
func (p *partition) countLost(b *batch) {
	for _, e := range b.entries {
		if e.alone {
			p.q.lost(e.site, refusalOf(b.err).reason, 1)
		}
	}
}
