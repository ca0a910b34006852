package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// part is one room while it runs.
type part struct {
	name string
	run  func(context.Context) error
	// within is how long the part may take to stop. One that takes longer is left behind and reported: the process ends anyway, and
	// every part recovers from that as from a crash.
	within time.Duration
}

// running is a part that was started.
type running struct {
	part
	cancel context.CancelFunc
	done   chan error // gets what run returned; bound 1
}

// supervise starts the parts in order and waits until ctx ends or one of them stops by itself. Then it stops them in the reverse order, each
// after the one above it is done.
func supervise(ctx context.Context, log *slog.Logger, parts []part) error {
	var started []*running
	ended := make(chan *running, len(parts))
	for _, p := range parts {
		partCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		r := &running{part: p, cancel: cancel, done: make(chan error, 1)}
		started = append(started, r)
		go func() {
			r.done <- r.run(partCtx)
			ended <- r
		}()
	}
	var errs []error
	select {
	case <-ctx.Done():
	case r := <-ended:
		errs = append(errs, fmt.Errorf("%s stopped", r.name))
	}
	for i := len(started) - 1; i >= 0; i-- {
		if err := started[i].stop(log); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (r *running) stop(log *slog.Logger) error {
	began := time.Now()
	r.cancel()
	timer := time.NewTimer(r.within)
	defer timer.Stop()
	select {
	case err := <-r.done:
		log.Debug("part stopped", "part", r.name, "took", time.Since(began))
		if err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("%s did not stop within %s", r.name, r.within)
	}
}
