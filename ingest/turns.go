package ingest

import "time"

// turns lets few partitions write at a time. What a partition gets while it waits for its turn goes into one batch, so that under load batches
// are twice as large as when each partition writes whenever its last append has returned, and a batch costs the processor nearly the same
// whatever is in it. Two at a time: one that is synced, and one that is made ready or answered meanwhile.
type turns chan struct{}

const (
	turnsAtOnce = 2
	// turnWait bounds the wait: a partition that hangs, for want of its disk or of a quorum, must not hold up the others.
	turnWait = 5 * time.Millisecond
)

func newTurns() turns { return make(turns, turnsAtOnce) }

// take waits for a turn and reports whether there was one; without one the caller goes on all the same. timer is the caller's own, and stopped.
func (t turns) take(timer *time.Timer) bool {
	select {
	case t <- struct{}{}:
		return true
	default:
	}
	timer.Reset(turnWait)
	defer timer.Stop()
	select {
	case t <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

// giveBack ends a turn that was taken.
func (t turns) giveBack() { <-t }
