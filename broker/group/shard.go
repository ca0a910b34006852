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

	queued chan struct{} // one token: the queue is not empty
	poke   chan struct{} // one token: wakeAt has become earlier
	ctx    context.Context
	cancel context.CancelCauseFunc // ends ctx and with it Run

	mu     sync.Mutex
	stage  led.Stage
	groups map[string]*group
	// staged says which groups have offsets of a producer's open transaction.
	staged map[int64]map[*group]struct{}
	// wakeAt is when the groups must be looked at for what is due: a lower bound, never later than the earliest deadline.
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
		groups: map[string]*group{}, staged: map[int64]map[*group]struct{}{},
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
	queue := s.queue
	s.queue, s.queuedBytes, s.writing = nil, 0, false
	s.noteIdle()
	for _, w := range queue {
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
	s.wakeBy(g.due())
}

func (s *shard) wakeBy(t time.Time) {
	if t.IsZero() || (!s.wakeAt.IsZero() && !t.Before(s.wakeAt)) {
		return
	}
	s.wakeAt = t
	led.Signal(s.poke)
}

// timeLoop wakes the groups when something is due.
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

// tick does what is due in all groups and returns the time until the next call.
func (s *shard) tick() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.env.cfg.Now()
	expire := !now.Before(s.expireAt)
	if expire {
		s.expireAt = now.Add(s.env.cfg.ExpiryEvery)
	}
	if expire || (!s.wakeAt.IsZero() && !now.Before(s.wakeAt)) {
		s.wakeAt = time.Time{}
		for _, g := range s.groups {
			g.tick(now)
			if expire {
				g.expire(now)
			}
			s.settle(g)
		}
	}
	next := s.expireAt
	if !s.wakeAt.IsZero() && s.wakeAt.Before(next) {
		next = s.wakeAt
	}
	return max(next.Sub(now), 0)
}
