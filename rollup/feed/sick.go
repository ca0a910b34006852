package feed

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"
)

// A partition that cannot be counted does not keep the others from being counted. At first its errors make the feed start over like any
// other: a leader that changes is back within moments. When they last, the partition is left out, and tried again now and then.
const (
	sickAfter  = 10 * time.Second // errors that last as long are about the partition
	tryAgain   = 5 * time.Second  // at first; doubled up to
	tryAtLast  = time.Minute
	speakEvery = time.Minute // of each partition
)

// errWell ends a session in which a partition was left out that can be counted again.
var errWell = errors.New("it is taken in again")

// partitionError is an error of one partition.
type partitionError struct {
	partition int32
	err       error
}

func (e *partitionError) Error() string { return fmt.Sprintf("partition %d: %s", e.partition, e.err) }
func (e *partitionError) Unwrap() error { return e.err }

// sick knows the partitions with errors. It outlives sessions.
type sick struct {
	cfg   Config
	mu    sync.Mutex
	parts map[int32]*ill
}

type ill struct {
	err    error
	since  time.Time
	out    bool      // left out
	again  time.Time // when it is tried again
	wait   time.Duration
	spoken time.Time
}

func newSick(cfg Config) *sick { return &sick{cfg: cfg, parts: map[int32]*ill{}} }

// failed notes an error of a partition. It returns true when the partition is to be left out, and says so in the log.
func (s *sick) failed(partition int32, err error, now time.Time) bool {
	if errors.Is(err, ErrLostRace) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.parts[partition]
	if p == nil {
		p = &ill{since: now, wait: tryAgain}
		s.parts[partition] = p
	}
	p.err = err
	if now.Sub(p.since) < sickAfter {
		return false
	}
	p.out, p.again = true, now.Add(p.wait)
	p.wait = min(2*p.wait, tryAtLast)
	return true
}

// well forgets the errors of a partition: something of it was counted.
func (s *sick) well(partition int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.parts, partition)
}

// opened forgets the errors of a partition unless it fails again soon.
func (s *sick) opened(partition int32, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.parts[partition]; p != nil {
		p.out, p.again = false, now
	}
}

// settle forgets partitions that were opened and had no error for a time.
func (s *sick) settle(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.parts, func(_ int32, p *ill) bool {
		return !p.out && now.Sub(p.again) > tryAtLast && now.Sub(p.since) > tryAtLast
	})
}

// waiting says whether a partition is left out for now.
func (s *sick) waiting(partition int32, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.parts[partition]
	return p != nil && p.out && now.Before(p.again)
}

// speak says whether the log is to hear of a partition now.
func (s *sick) speak(partition int32, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.parts[partition]
	if p == nil || now.Sub(p.spoken) < speakEvery {
		return p == nil
	}
	p.spoken = now
	return true
}

// all returns the partitions that are left out.
func (s *sick) all() map[int32]error {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[int32]error{}
	for partition, p := range s.parts {
		if p.out {
			out[partition] = p.err
		}
	}
	return out
}
