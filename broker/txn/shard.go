package txn

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/weir-analytics/weir/broker/led"
)

// shard coordinates the transactional ids of one partition of the state topic, for one epoch of this node's leadership.
type shard struct {
	partition int32
	epoch     int32
	part      Partition
	env       *env
	log       *slog.Logger

	queued chan struct{} // one token: the queue is not empty
	poke   chan struct{} // one token: wakeAt has become earlier
	ctx    context.Context
	cancel context.CancelCauseFunc // ends ctx and with it Run
	// finishing counts the goroutines that write markers.
	finishing sync.WaitGroup

	mu    sync.Mutex
	stage led.Stage
	txns  map[string]*txn
	// wakeAt is when the transactions must be looked at for what is due: a lower bound, never later than the earliest deadline.
	wakeAt   time.Time
	expireAt time.Time

	queue       []pendingWrite
	queuedBytes int
	writing     bool          // a batch is being appended
	idle        chan struct{} // when somebody waits: closed when nothing is queued or being appended
	// next is the offset that the next batch gets if nobody else writes to the partition.
	next int64
}

func newShard(ctx context.Context, cancel context.CancelCauseFunc, p, epoch int32, part Partition, e *env) *shard {
	return &shard{
		partition: p, epoch: epoch, part: part, env: e, log: e.log.With("partition", p, "term", epoch),
		queued: make(chan struct{}, 1), poke: make(chan struct{}, 1), ctx: ctx, cancel: cancel,
		txns: map[string]*txn{},
	}
}

// Run loads the shard and serves it until it is unloaded. changed is called when requests need not wait longer.
func (s *shard) Run(changed func()) {
	if !s.loadUntilDone(changed) {
		return
	}
	var wg sync.WaitGroup
	wg.Go(s.writeLoop)
	wg.Go(s.timeLoop)
	wg.Wait()
	s.finishing.Wait()
}

// Current says whether what this shard answers still counts.
func (s *shard) Current() bool {
	node, epoch, serving := s.part.Leader()
	return serving && node == s.env.cfg.NodeID && epoch == s.epoch
}

func (s *shard) Stage() led.Stage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stage
}

// Unload gives the shard up: everything that waits is answered, nothing is taken any more.
func (s *shard) Unload() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unloadLocked()
}

func (s *shard) unloadLocked() {
	if s.stage == led.Unloaded {
		return
	}
	s.log.Info("transactions unloaded", "ids", len(s.txns))
	s.stage = led.Unloaded
	s.cancel(led.ErrUnloaded)
	now := s.env.cfg.Now()
	queue := s.queue
	s.queue, s.queuedBytes, s.writing = nil, 0, false
	s.noteIdle()
	for _, w := range queue {
		w.done(now, led.ErrUnloaded)
	}
	for _, t := range s.txns {
		t.wake()
	}
	s.txns = map[string]*txn{}
}

// Written returns a channel that is closed once everything that was to be written is, or never will be.
func (s *shard) Written() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.noteIdle()
	return idle
}

// noteIdle tells those who wait for it if nothing is to be written. The lock is held.
func (s *shard) noteIdle() {
	if s.idle != nil && !s.writing && len(s.queue) == 0 {
		close(s.idle)
		s.idle = nil
	}
}

// do runs fn under the lock, with the time, if the shard is loaded. fn must not block.
func (s *shard) do(fn func(now time.Time)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage != led.Loaded {
		return false
	}
	fn(s.env.cfg.Now())
	return true
}

// ensure returns the transactional id and makes it if necessary. For use in do.
func (s *shard) ensure(id string) *txn {
	t, ok := s.txns[id]
	if !ok {
		t = newTxn(id, s.env, s)
		s.txns[id] = t
	}
	return t
}

// settle must follow every step that gave a transaction a new deadline or took something away.
func (s *shard) settle(t *txn) {
	if t.disposable() {
		if s.txns[t.id] == t {
			delete(s.txns, t.id)
		}
		return
	}
	s.wakeBy(t.due())
}

func (s *shard) wakeBy(at time.Time) {
	if at.IsZero() || (!s.wakeAt.IsZero() && !at.Before(s.wakeAt)) {
		return
	}
	s.wakeAt = at
	led.Signal(s.poke)
}

// timeLoop wakes the transactions when something is due.
func (s *shard) timeLoop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.poke:
		case <-timer.C:
		}
		timer.Reset(s.tick())
	}
}

// tick does what is due in all transactions and returns the time until the next call.
func (s *shard) tick() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage != led.Loaded {
		return s.env.cfg.ExpiryEvery
	}
	now := s.env.cfg.Now()
	expire := !now.Before(s.expireAt)
	if expire {
		s.expireAt = now.Add(s.env.cfg.ExpiryEvery)
	}
	if expire || (!s.wakeAt.IsZero() && !now.Before(s.wakeAt)) {
		s.wakeAt = time.Time{}
		for _, t := range s.txns {
			t.tick(now)
			if expire && t.expired(now) {
				t.forget(now)
			}
			s.settle(t)
		}
	}
	next := s.expireAt
	if !s.wakeAt.IsZero() && s.wakeAt.Before(next) {
		next = s.wakeAt
	}
	return max(next.Sub(now), 0)
}
