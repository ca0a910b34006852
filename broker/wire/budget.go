package wire

import (
	"context"
	"sync"
)

// smallReserve is what small requests may hold when large ones have taken the rest, so that they are always read. A guess: a thousand
// consumers that wait for records at once.
const smallReserve = 32 << 20

// budget bounds the memory of the requests of many connections. Large requests take their share as their bytes
// come, so there could be many of which none can be finished. Therefore a part that holds the largest request is kept for one of them at
// a time, the keeper: it never waits, and when it is done the next one that waits becomes the keeper.
//
// Safe for concurrent use.
type budget struct {
	mu      sync.Mutex
	free    int64 // for all
	small   int64 // for small requests only
	keeper  *share
	waiting []*waiter // in order of arrival
}

// waiter is a share that waits to grow by n. granted is closed once it has.
type waiter struct {
	s       *share
	n       int64
	granted chan struct{}
}

// newBudget returns a budget of total bytes of which kept, the cost of the largest request, are for one at a time.
func newBudget(total, kept int64) *budget { return &budget{free: total - kept, small: smallReserve} }

// share is what one request holds.
type share struct {
	b               *budget
	common, ofSmall int64
	small           bool // may take from the reserve
}

// grow takes n more bytes, and waits for them until ctx ends.
func (s *share) grow(ctx context.Context, n int64) error {
	if n == 0 {
		return nil
	}
	s.b.mu.Lock()
	if (len(s.b.waiting) == 0 || s.small || s.b.keeper == s) && s.take(n) {
		s.b.mu.Unlock()
		return nil
	}
	w := &waiter{s: s, n: n, granted: make(chan struct{})}
	s.b.waiting = append(s.b.waiting, w)
	s.b.grant() // there may be no keeper
	s.b.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
		s.b.leave(w)
		return context.Cause(ctx)
	}
}

// take takes n bytes if they are there. The caller holds mu.
func (s *share) take(n int64) bool {
	switch {
	case s.b.keeper == s:
	case s.b.free >= n:
		s.b.free -= n
		s.common += n
	case s.small && s.b.small >= n:
		s.b.small -= n
		s.ofSmall += n
	case s.b.keeper == nil && !s.small:
		s.b.keeper = s
	default:
		return false
	}
	return true
}

// grant lets those go on that can, in order; small ones overtake. The caller holds mu.
func (b *budget) grant() {
	left := b.waiting[:0]
	for _, w := range b.waiting {
		if (len(left) == 0 || w.s.small) && w.s.take(w.n) {
			close(w.granted)
			continue
		}
		left = append(left, w)
	}
	clear(b.waiting[len(left):])
	b.waiting = left
}

// leave takes a waiter out. What it was granted meanwhile is given back with its share.
func (b *budget) leave(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.waiting {
		if other == w {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			b.grant()
			return
		}
	}
}

// keeps reports whether others may be waiting for this request to be read.
func (s *share) keeps() bool {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	return s.b.keeper == s
}

// release gives everything back. It is called once.
func (s *share) release() {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.free += s.common
	s.b.small += s.ofSmall
	if s.b.keeper == s {
		s.b.keeper = nil
	}
	s.b.grant()
}
