package broker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/replica"
)

// A partition that stopped because its disk refused something is opened again, as soon as the disk takes writes. Waiting grows from try to
// try: a disk that fills up is often made room on within seconds, and one that is broken is not asked all the time. A guess.
const (
	reopenSoonest = 500 * time.Millisecond
	reopenLatest  = 4 * time.Second
)

// forGood says that opening again will not help: somebody has to restore the files.
func forGood(err error) bool {
	return errors.Is(err, replica.ErrCorrupt) || errors.Is(err, replica.ErrLostData)
}

// keepOpen follows the replica and opens it again when it has stopped or did not open, until the partition is closed or it is damaged.
// While it waits for the disk the stopped replica stays, to be read.
func (p *partition) keepOpen() {
	defer p.follows.Done()
	wait := reopenSoonest
	for {
		box, err := p.engine.Load(), p.failure()
		if err == nil && box != nil {
			began := time.Now()
			if !p.follow(box) {
				return
			}
			if time.Since(began) > reopenLatest { // it worked for a while: this is another failure
				wait = reopenSoonest
			}
			err = p.failure()
		}
		if forGood(err) {
			return
		}
		select {
		case <-time.After(wait):
		case <-p.stop:
			return
		}
		wait = min(2*wait, reopenLatest)
		if box != nil && box.Writable() != nil {
			continue
		}
		p.reopen(box)
	}
}

// reopen closes what is left of the replica and opens it again, which reads its log through as after a crash.
func (p *partition) reopen(box *engineBox) {
	log := p.log.With("topic", p.spec.Topic.Name, "partition", p.spec.Partition)
	if box != nil {
		p.engine.Store(nil)
		if err := box.Close(); err != nil {
			log.Debug("close a partition that had stopped", "err", err)
		}
	}
	p.mu.Lock()
	spec, before := p.spec, p.err
	if !p.closed {
		p.phase = api.Opening
	}
	p.mu.Unlock()
	if err := p.openEngine(spec); err != nil {
		level := slog.LevelWarn
		if before != nil && before.Error() == err.Error() { // said already; a disk may be away for days
			level = slog.LevelDebug
		}
		log.Log(context.Background(), level, "the partition does not open again yet", "err", err)
		p.moved()
		return
	}
	log.Info("the partition is open again")
}
