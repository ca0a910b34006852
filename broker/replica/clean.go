package replica

import (
	"errors"
	"fmt"
	"time"

	"github.com/weir-analytics/weir/broker/compact"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
)

// cleanEvery is how often a replica looks whether its log is dirty enough to be
// cleaned; Kafka's log.cleaner.backoff.ms.
const cleanEvery = 15 * time.Second

// cleanLoop cleans the log of a compacted topic. Each replica cleans its own:
// what it removes is told by what is committed.
func (r *Replica) cleanLoop() {
	tick := time.NewTicker(r.cfg.cleanEvery)
	defer tick.Stop()
	said := ""
	var horizonMs int64 // when all that waits for its horizon may go
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
		}
		plan, due := r.cleaningDue(horizonMs)
		if !due {
			continue
		}
		res, err := r.clean(plan)
		switch {
		case err == nil:
			horizonMs, said = res.LastHorizonMs, ""
			r.report(Cleaned{res})
		case r.ctx.Err() != nil:
			return
		case errors.Is(err, seglog.ErrFailed):
			r.fail(fmt.Errorf("clean the log: %w", err))
			return
		case errors.Is(err, seglog.ErrNotFound), errors.Is(err, seglog.ErrOffsetRange): // retention was there first
		default:
			_ = r.readError(err) // damage is made known
			if err.Error() != said {
				said = err.Error()
				r.cfg.Log.Warn("the log is not cleaned; it is tried again", "err", err)
			}
		}
	}
}

// cleaningDue says what can be cleaned and whether it is time to.
func (r *Replica) cleaningDue(horizonMs int64) (compact.Plan, bool) {
	s := r.settings.Load()
	if !s.Compact || r.cfg.Space.Err() != nil {
		return compact.Plan{}, false
	}
	now := r.cfg.Now()
	plan := compact.Look(r.log.Segments(), r.LastStableOffset(), s.MinLag, now)
	switch {
	case len(plan.Segments) == 0:
		return plan, false
	case horizonMs > 0 && now.UnixMilli() >= horizonMs:
		return plan, true
	case plan.DirtyBytes == 0:
		return plan, false
	case s.MaxLag > 0 && now.UnixMilli()-plan.OldestDirtyMs > s.MaxLag.Milliseconds():
		return plan, true
	}
	return plan, plan.DirtyRatio() >= s.DirtyRatio
}

// clean makes one round when it is this replica's turn.
func (r *Replica) clean(plan compact.Plan) (compact.Result, error) {
	pace, done, err := r.cfg.Turn.Take(r.ctx)
	if err != nil {
		return compact.Result{}, err
	}
	defer done()
	end := plan.Segments[len(plan.Segments)-1].NextOffset
	aborted, err := r.log.AbortedIn(plan.Segments[0].Base, end)
	if err != nil {
		return compact.Result{}, err
	}
	s := r.settings.Load()
	segmentBytes := s.SegmentBytes
	if segmentBytes == 0 {
		segmentBytes = defaultSegmentBytes
	}
	res, err := compact.Clean(r.log, plan, compact.Config{
		DeleteRetention: s.DeleteRetention,
		// A member that was away may have a record and not its tombstone: it
		// must find it when it comes back.
		KeepDeletes:  !r.logs.headsOnly.Load(),
		SegmentBytes: segmentBytes,
		Retain:       r.neededBy,
		Aborted:      aborted,
		Now:          r.cfg.Now(),
		Pace:         pace,
	})
	if len(aborted) > 0 && !errors.Is(err, seglog.ErrFailed) {
		r.staleAborted.Store(true)
		if ckptErr := r.checkpoint(); ckptErr != nil {
			return res, fmt.Errorf("%w: %w", seglog.ErrFailed, ckptErr)
		}
	}
	return res, err
}

const defaultSegmentBytes = 128 << 20

// neededBy says whether a batch is the last of its producer, or its last marker:
// what is known of producers follows from those.
func (r *Replica) neededBy(h record.Batch) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.st.producers[h.ProducerID]
	if p == nil {
		return false
	}
	return h.BaseOffset == p.last || h.BaseOffset == p.marker || p.n > 0 && h.BaseOffset == p.recent[p.n-1].base
}
