package compact

import (
	"context"
	"time"
)

// Turn lets one log of a node be cleaned at a time, so that the map of keys is
// there once, and no faster than a number of bytes a second.
type Turn struct {
	free        chan struct{} // holds one while nobody cleans
	bytesPerSec float64
}

// DefaultRate is how many bytes a second a node reads and writes to clean: a
// guess that leaves most of a slow disk to others.
const DefaultRate = 50 << 20

// NewTurn returns the turn of one node.
func NewTurn(bytesPerSec int64) *Turn {
	t := &Turn{free: make(chan struct{}, 1), bytesPerSec: float64(bytesPerSec)}
	t.free <- struct{}{}
	return t
}

// Take waits for the turn; done gives it back. pace is for Config.Pace, and ends
// with the cause of ctx.
func (t *Turn) Take(ctx context.Context) (pace func(bytes int) error, done func(), err error) {
	select {
	case <-t.free:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	began, total := time.Now(), 0.0
	pace = func(bytes int) error {
		total += float64(bytes)
		due := time.Duration(total / t.bytesPerSec * float64(time.Second))
		ahead := due - time.Since(began)
		if ahead < 10*time.Millisecond { // shorter waits cost more than they spread
			return context.Cause(ctx)
		}
		select {
		case <-time.After(ahead):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return pace, func() { t.free <- struct{}{} }, nil
}
