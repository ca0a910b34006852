package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/broker/seglog"
)

const (
	// A checkpoint is written when that much was applied since the last one,
	// but not more often than checkpointEvery. What a restart replays is
	// bounded by the two.
	checkpointEvery   = 5 * time.Second
	checkpointEntries = 4096
	checkpointBytes   = 16 << 20
	// checkpointAfter is when a little is worth a checkpoint too.
	checkpointAfter = time.Minute
	// retentionEvery is how often a leader looks for records to let go.
	retentionEvery = 30 * time.Second
	// maxSegmentAge is the age at which a segment is sealed when the settings
	// do not say, so that what is in it can be deleted one day. With short
	// retention it is a quarter of that, so that little is kept for longer than
	// was asked.
	maxSegmentAge = 7 * 24 * time.Hour
	minSegmentAge = 10 * time.Minute
	// forgetAtOnce bounds the producers that one command forgets.
	forgetAtOnce = 1000
)

func (r *Replica) kickKeeper() {
	select {
	case r.keeperKick <- struct{}{}:
	default: // one is waiting already
	}
}

// keepLoop writes checkpoints, proposes retention and deletes old segments.
func (r *Replica) keepLoop() {
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	lastCkpt, lastRetention := r.cfg.Now(), r.cfg.Now()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-r.keeperKick:
		case <-tick.C:
		}
		now := r.cfg.Now()
		if r.checkpointDue(now.Sub(lastCkpt)) {
			lastCkpt = now
			if err := r.checkpoint(); err != nil {
				r.fail(err)
				return
			}
		}
		if now.Sub(lastRetention) >= retentionEvery {
			lastRetention = now
			if err := r.proposeRetention(now); err != nil {
				r.cfg.Log.Debug("retention not proposed", "err", err)
			}
		}
		if err := r.retire(); err != nil && !errors.Is(err, seglog.ErrClosed) {
			r.fail(fmt.Errorf("delete old segments: %w", err))
			return
		}
	}
}

func (r *Replica) checkpointDue(since time.Duration) bool {
	entries, bytes := r.sinceCkptEntries.Load(), r.sinceCkptBytes.Load()
	if since < checkpointEvery || entries == 0 {
		return false
	}
	return entries >= checkpointEntries || bytes >= checkpointBytes || since >= checkpointAfter
}

// checkpoint stores the applied state, and before that what the index of
// aborted transactions has of it.
func (r *Replica) checkpoint() error {
	entries, bytes := r.sinceCkptEntries.Load(), r.sinceCkptBytes.Load()
	s := r.save()
	if s.index == r.ckptIndex.Load() && !r.staleAborted.Load() {
		return nil
	}
	r.staleAborted.Store(false)
	var err error
	if s.aborted, err = r.log.SyncAborted(s.next); err != nil {
		return err
	}
	if err := writeSaved(r.cfg.FS, r.cfg.Dir, ckptPrefix, s, keepSaved); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	r.ckptIndex.Store(s.index)
	r.sinceCkptEntries.Add(-entries)
	r.sinceCkptBytes.Add(-bytes)
	return nil
}

// proposeRetention is the leader's part of retention: it moves the log start and
// forgets silent producers, both by commands that all replicas apply.
func (r *Replica) proposeRetention(now time.Time) error {
	if r.serving() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.ctx, retentionEvery)
	defer cancel()
	if start := r.retainFrom(now); start > r.LogStart() {
		if _, err := r.SetLogStart(ctx, start); err != nil {
			return err
		}
	}
	r.mu.Lock()
	list := r.st.producers.silent(now.Add(-r.cfg.ProducerExpiry).UnixMilli(), forgetAtOnce)
	r.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	return r.command(ctx, encodeForget(list))
}

// retainFrom returns the offset from which records are to be kept. Whole
// segments go: by time when their newest record is too old, by size as long as
// what remains is enough.
func (r *Replica) retainFrom(now time.Time) int64 {
	s := r.settings.Load()
	hw := r.HighWatermark()
	segs := r.log.Segments()
	left := int64(0)
	for _, g := range segs {
		left += g.SizeBytes
	}
	start := r.LogStart()
	for _, g := range segs {
		if g.NextOffset > hw || g.NextOffset == g.Base {
			break
		}
		emptied := g.Sealed && g.SizeBytes == 0 // nothing is left in it to keep
		old := s.RetainFor > 0 && (emptied || g.MaxTimeMs >= 0 && now.UnixMilli()-g.MaxTimeMs > s.RetainFor.Milliseconds())
		large := s.RetainBytes > 0 && g.Sealed && left-g.SizeBytes >= s.RetainBytes
		if !old && !large {
			break
		}
		left -= g.SizeBytes
		start = max(start, g.NextOffset)
	}
	return start
}

// retire seals a segment that is due and deletes those below the log start.
func (r *Replica) retire() error {
	segs := r.log.Segments()
	last := segs[len(segs)-1]
	if last.NextOffset > last.Base && (last.NextOffset <= r.LogStart() || r.log.Age() > r.segmentAge()) {
		if err := r.log.Roll(); err != nil {
			return err
		}
	}
	r.mu.Lock()
	index := r.st.index
	r.mu.Unlock()
	_, err := r.log.Retire(index, r.prepareAnchor)
	return err
}

func (r *Replica) segmentAge() time.Duration {
	s := r.settings.Load()
	age := maxSegmentAge
	if s.SegmentAge > 0 {
		age = s.SegmentAge
	}
	if s.RetainFor > 0 {
		age = min(age, max(minSegmentAge, s.RetainFor/4))
	}
	if s.Compact && s.MaxLag > 0 {
		age = min(age, s.MaxLag)
	}
	return age
}

// prepareAnchor stores the state of the partition at a new log start: that of
// the old one, moved forward by the entries in between.
func (r *Replica) prepareAnchor(to seglog.Anchor) error {
	s, err := r.anchorState(r.log.Bounds().Anchor)
	if err != nil {
		return err
	}
	st := stateOf(s)
	if _, err := r.advance(&st, to.Index); err != nil {
		return err
	}
	if st.next != to.NextOffset {
		return fmt.Errorf("%w: entries up to %d end at offset %d, want %d", ErrCorrupt, to.Index, st.next, to.NextOffset)
	}
	return writeSaved(r.cfg.FS, r.cfg.Dir, anchorPrefix, &saved{
		index: to.Index, term: uint64(to.Term), next: to.NextOffset, logStart: r.LogStart(),
		config: to.Config, configIndex: to.ConfigIndex, lastStampMs: st.lastStampMs, producers: st.producers,
	}, keepSaved)
}

// advance moves a state forward by the entries of the log up to an index, and
// returns the transactions that were aborted on the way.
func (r *Replica) advance(st *state, to uint64) ([]seglog.Aborted, error) {
	var aborted []seglog.Aborted
	err := r.log.ForEachHead(st.index, to, func(e seglog.Entry) error {
		if e.Kind != seglog.KindBatch && e.Kind != kindCommand && e.Kind != seglog.KindHole {
			return nil
		}
		l := raft.Log{Index: e.Index, Term: uint64(e.Term), Type: raft.LogCommand, Data: e.Data}
		switch e.Kind {
		case kindCommand:
			l.Extensions = commandMark
		case seglog.KindHole:
			l.Extensions = holeMark
		}
		_, eff, err := st.apply(&l, 0)
		if eff.aborted != nil {
			aborted = append(aborted, *eff.aborted)
		}
		return err
	})
	return aborted, err
}

// anchorState is the stored state at an anchor.
func (r *Replica) anchorState(a seglog.Anchor) (*saved, error) {
	if a.Index == 0 {
		return &saved{producers: producers{}}, nil
	}
	return readSaved(r.cfg.FS, r.cfg.Dir, anchorPrefix, a.Index, r.cfg.Now().UnixMilli())
}
