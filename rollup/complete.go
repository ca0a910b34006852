package rollup

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/zone"
)

// sampleFor is how long a sample of the ends of events is good enough: an answer may then say that it is complete up to a moment that
// long ago, though it is complete up to now. It bounds what many askers cost the log.
const sampleFor = 200 * time.Millisecond

// sampleTimeout is how long an answer waits for the log to say where it ends.
const sampleTimeout = 500 * time.Millisecond

// ends knows where the partitions of events end. It asks the log only when somebody asks it.
type ends struct {
	now     func() time.Time
	ask     chan chan<- sample
	running atomic.Bool

	mu   sync.Mutex
	last sample
}

// sample is where partitions ended at a moment, or later.
type sample struct {
	at      time.Time
	offsets map[int32]int64
}

func newEnds(now func() time.Time) *ends { return &ends{now: now, ask: make(chan chan<- sample)} }

// run answers until ctx ends. All who ask while the log is being asked get one answer.
func (e *ends) run(ctx context.Context, log feed.Log) error {
	client, err := log.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	e.running.Store(true)
	defer e.running.Store(false)
	admin := kadm.NewClient(client)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case reply := <-e.ask:
			s := e.current()
			if e.now().Sub(s.at) >= sampleFor || s.at.After(e.now()) {
				s = e.sample(ctx, admin, s)
			}
			reply <- s
		}
	}
}

func (e *ends) current() sample {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// sample asks the log, and returns the sample before when it does not answer in time.
func (e *ends) sample(ctx context.Context, admin *kadm.Client, before sample) sample {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	s := sample{at: e.now(), offsets: map[int32]int64{}}
	listed, err := admin.ListEndOffsets(ctx, TopicEvents)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return before
	}
	for partition, offset := range listed[TopicEvents] {
		s.offsets[partition] = offset.Offset
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = s
	return s
}

// get returns a sample that is not older than sampleFor, or the best there is when the log does not answer.
func (e *ends) get(ctx context.Context) sample {
	s := e.current()
	if age := e.now().Sub(s.at); age >= 0 && age < sampleFor || !e.running.Load() {
		return s
	}
	reply := make(chan sample, 1)
	timeout := time.NewTimer(2 * sampleTimeout)
	defer timeout.Stop()
	select {
	case e.ask <- reply:
	case <-ctx.Done():
		return e.current()
	case <-timeout.C:
		return e.current()
	}
	select {
	case s := <-reply:
		return s
	case <-ctx.Done():
		return e.current()
	}
}

// completeTo returns the moment up to which the counts in windows of some lengths hold every hit that was acknowledged: the moment of the
// sample for partitions that are counted to where they ended then, and the last time of receipt that is counted for the rest. The zero
// time means that this is not known. Call it before looking at the counts.
func (r *Rollup) completeTo(ctx context.Context, used map[zone.Unit]bool) (time.Time, error) {
	s := r.ends.get(ctx)
	complete := s.at
	for partition, end := range s.offsets {
		for unit := range used {
			progress, ok, err := r.table.Progress(unit, partition)
			if err != nil {
				return time.Time{}, fmt.Errorf("look up the progress of partition %d: %w", partition, err)
			}
			switch {
			case progress.SourceTo >= end:
			case !ok:
				return time.Time{}, nil
			default:
				if received := time.UnixMilli(progress.ReceivedMs); received.Before(complete) {
					complete = received
				}
			}
		}
	}
	return complete, nil
}
