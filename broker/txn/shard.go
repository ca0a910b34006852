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

	ctx    context.Context
	cancel context.CancelCauseFunc // ends ctx and with it Run
	// finishing counts the goroutines that write markers.
	finishing sync.WaitGroup

	mu    sync.Mutex
	stage led.Stage
	txns  map[string]*txn
	alarm led.Alarm
	queue led.Queue[pendingWrite]
	// next is the offset that the next batch gets if nobody else writes to the partition.
	next int64
}

func newShard(ctx context.Context, cancel context.CancelCauseFunc, p, epoch int32, part Partition, e *env) *shard {
	return &shard{
		partition: p, epoch: epoch, part: part, env: e, log: e.log.With("partition", p, "term", epoch),
		ctx: ctx, cancel: cancel, alarm: led.NewAlarm(e.cfg.ExpiryEvery), queue: led.NewQueue[pendingWrite](),
		txns: map[string]*txn{},
	}
}

// Run loads the shard and serves it until it is unloaded. changed is called when requests need not wait longer.
func (s *shard) Run(changed func()) {
	if !s.loadUntilDone(changed) {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.queue.Run(s.ctx, s.take, s.append) })
	wg.Go(func() { s.alarm.Run(s.ctx, s.tick) })
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
	for _, w := range s.queue.Drop() {
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
	return s.queue.Written()
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
	s.alarm.WakeBy(t.due())
}

// tick does what is due in all transactions and returns the time until the next call.
func (s *shard) tick() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.env.cfg.Now()
	return s.alarm.Tick(now, func(expire bool) {
		for _, t := range s.txns {
			t.tick(now)
			if expire && t.expired(now) {
				t.forget(now)
			}
			s.settle(t)
		}
	})
}
