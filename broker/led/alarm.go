package led

import (
	"context"
	"time"
)

// Alarm says when a shard must look at what is due: at the earliest deadline it was told of, and every now and then at everything that
// may have expired. Its methods are called under the lock of the shard, but for Run.
type Alarm struct {
	every time.Duration
	poke  chan struct{} // one token: wakeAt has become earlier
	// wakeAt is a lower bound, never later than the earliest deadline; zero for none.
	wakeAt   time.Time
	expireAt time.Time
}

// NewAlarm makes an alarm that looks for what has expired at this interval, at once for the first time.
func NewAlarm(every time.Duration) Alarm { return Alarm{every: every, poke: make(chan struct{}, 1)} }

// Expire sets when to look next for what has expired: an interval from now.
func (a *Alarm) Expire(now time.Time) { a.expireAt = now.Add(a.every) }

// WakeBy notes a deadline, zero for none.
func (a *Alarm) WakeBy(at time.Time) {
	if at.IsZero() || (!a.wakeAt.IsZero() && !at.Before(a.wakeAt)) {
		return
	}
	a.wakeAt = at
	Signal(a.poke)
}

// Tick calls look if something may be due, with expire when it is time for what has expired; look calls WakeBy for every deadline there
// is. It returns the time until the next call.
func (a *Alarm) Tick(now time.Time, look func(expire bool)) time.Duration {
	expire := !now.Before(a.expireAt)
	if expire {
		a.Expire(now)
	}
	if expire || (!a.wakeAt.IsZero() && !now.Before(a.wakeAt)) {
		a.wakeAt = time.Time{}
		look(expire)
	}
	next := a.expireAt
	if !a.wakeAt.IsZero() && a.wakeAt.Before(next) {
		next = a.wakeAt
	}
	return max(next.Sub(now), 0)
}

// Run calls tick, which is Tick under the lock, whenever it is time to, until ctx ends.
func (a *Alarm) Run(ctx context.Context, tick func() time.Duration) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.poke:
		case <-timer.C:
		}
		timer.Reset(tick())
	}
}
