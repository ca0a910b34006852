package ingest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
)

var (
	// errQueueFull is returned when hits come faster than the log takes them.
	errQueueFull = errors.New("the queue to the log is full")
	// errNoTopic is returned while the topic for hits does not exist.
	errNoTopic = errors.New("the topic for hits does not exist yet")
	// errStopping is returned once a stop has begun.
	errStopping = errors.New("the node is stopping")
)

// queue is all partitions of the topic for hits.
type queue struct {
	cfg     *Config
	metrics *metrics
	source  string // of the identities given here; differs with every start
	turns   turns
	lost    func(site state.SiteID, why reason, hits int)
	bytes   atomic.Int64

	parts   atomic.Pointer[[]*partition] // set once, when the topic is known
	mu      sync.Mutex                   // guards running and stopped
	running context.Context              // of Run; nil before it
	stopped bool
	stop    chan struct{} // closed when a stop begins
	writers sync.WaitGroup
}

func newQueue(cfg *Config, m *metrics, source string, lost func(state.SiteID, reason, int)) *queue {
	return &queue{cfg: cfg, metrics: m, source: source, lost: lost, turns: newTurns(), stop: make(chan struct{})}
}

// partitions returns the partitions, as many as the topic has.
func (q *queue) partitions(s *state.State) ([]*partition, error) {
	if parts := q.parts.Load(); parts != nil {
		return *parts, nil
	}
	return q.begin(s)
}

// begin makes the partitions once the topic exists and, when Run has started, their writers.
func (q *queue) begin(s *state.State) ([]*partition, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if parts := q.parts.Load(); parts != nil {
		return *parts, nil
	}
	if q.stopped {
		return nil, errStopping
	}
	number := q.cfg.partitions(s, q.cfg.Topic)
	if number < 1 {
		return nil, errNoTopic
	}
	parts := make([]*partition, number)
	for i := range parts {
		parts[i] = &partition{q: q, number: int32(i), wake: make(chan struct{}, 1)}
		if q.running != nil {
			q.startWriter(parts[i])
		}
	}
	q.parts.Store(&parts)
	return parts, nil
}

func (q *queue) startWriter(p *partition) {
	q.writers.Go(func() { p.run(q.running, q.stop) })
}

// run writes until ctx ends, and then what is queued, for at most the drain timeout.
func (q *queue) run(ctx context.Context) {
	writing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	q.mu.Lock()
	q.running = writing
	if parts := q.parts.Load(); parts != nil {
		for _, p := range *parts {
			q.startWriter(p)
		}
	}
	q.mu.Unlock()

	gauge := time.NewTicker(time.Second)
	defer gauge.Stop()
	for waiting := true; waiting; {
		select {
		case <-gauge.C:
			q.metrics.queued.Set(float64(q.bytes.Load()))
		case <-ctx.Done():
			waiting = false
		}
	}
	q.mu.Lock()
	q.stopped = true
	close(q.stop)
	q.mu.Unlock()
	overdue := time.AfterFunc(q.cfg.DrainTimeout, cancel)
	defer overdue.Stop()
	q.writers.Wait()
}

// stopping reports whether a stop has begun.
func (q *queue) stopping() bool {
	select {
	case <-q.stop:
		return true
	default:
		return false
	}
}

// waits collects the batches that the hits of one request went into.
type waits struct {
	batches []*batch
	first   [8]*batch // most requests touch one batch, a large one all partitions
}

func (w *waits) add(b *batch) {
	for i := len(w.batches) - 1; i >= 0; i-- {
		if w.batches[i] == b {
			return
		}
	}
	if w.batches == nil {
		w.batches = w.first[:0]
	}
	w.batches = append(w.batches, b)
}

// wait blocks until all batches are committed or failed, or ctx ends. Of several failures one where the outcome is unknown wins; when some
// batches were written and others not, the outcome is unknown too: "nothing was written" would make the sender count hits twice.
func (w *waits) wait(ctx context.Context) error {
	var failed error
	written := false
	for _, b := range w.batches {
		select {
		case <-b.done:
			written = written || b.err == nil
			if b.err != nil && (failed == nil || errors.Is(b.err, ErrOutcomeUnknown)) {
				failed = b.err
			}
		case <-ctx.Done():
			return errors.Join(ErrOutcomeUnknown, context.Cause(ctx))
		}
	}
	if failed != nil && written {
		return errors.Join(ErrOutcomeUnknown, failed)
	}
	return failed
}
