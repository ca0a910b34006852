package group

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/weir-analytics/weir/broker/led"
)

// shard coordinates the groups of one partition of the offsets topic, for one epoch of this node's leadership.
type shard struct {
	partition int32
	epoch     int32
	part      Partition
	env       *env
	log       *slog.Logger

	ctx    context.Context
	cancel context.CancelCauseFunc // ends ctx and with it Run

	mu     sync.Mutex
	stage  led.Stage
	groups map[string]*group
	// staged says which groups have offsets of a producer's open transaction.
	staged map[int64]map[*group]struct{}
	alarm  led.Alarm
	queue  led.Queue[pendingWrite]
	// next is the offset that the next batch gets if nobody else writes to the partition.
	next int64
}

func newShard(ctx context.Context, cancel context.CancelCauseFunc, p, epoch int32, part Partition, e *env) *shard {
	return &shard{
		partition: p, epoch: epoch, part: part, env: e, log: e.log.With("partition", p, "term", epoch),
		ctx: ctx, cancel: cancel, alarm: led.NewAlarm(e.cfg.ExpiryEvery), queue: led.NewQueue[pendingWrite](),
		groups: map[string]*group{}, staged: map[int64]map[*group]struct{}{},
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
	s.log.Info("groups unloaded", "groups", len(s.groups))
	s.stage = led.Unloaded
	s.cancel(led.ErrUnloaded)
	now := s.env.cfg.Now()
	for _, w := range s.queue.Drop() {
		w.done(now, led.ErrUnloaded)
	}
	for _, g := range s.groups {
		for _, m := range g.order {
			g.failParked(m, codeNotCoordinator)
		}
	}
	s.groups, s.staged = map[string]*group{}, nil
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

// group returns the group, nil when there is none. For use in do.
func (s *shard) group(id string) *group { return s.groups[id] }

// ensure returns the group and makes it if necessary. For use in do.
func (s *shard) ensure(id string, now time.Time) *group {
	g, ok := s.groups[id]
	if !ok {
		g = newGroup(id, s.env, s, now)
		s.groups[id] = g
	}
	return g
}

// settle must follow every step that gave a group new deadlines or took something away.
func (s *shard) settle(g *group) {
	if g.disposable() {
		if s.groups[g.id] == g {
			delete(s.groups, g.id)
		}
		return
	}
	s.alarm.WakeBy(g.due())
}

// tick does what is due in all groups and returns the time until the next call.
func (s *shard) tick() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.env.cfg.Now()
	return s.alarm.Tick(now, func(expire bool) {
		for _, g := range s.groups {
			g.tick(now)
			if expire {
				g.expire(now)
			}
			s.settle(g)
		}
	})
}
