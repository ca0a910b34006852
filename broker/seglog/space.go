package seglog

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weir-analytics/weir/internal/vfs"
)

const (
	// reserveBytes is kept free: a guess that lets a few hundred partitions
	// write their checkpoints and new segments. On small disks it is a
	// twentieth of the disk.
	reserveBytes = 64 << 20
	spaceEvery   = time.Second
)

// Space watches the room on the disk of one directory, so that new records are
// refused before the disk is full: what raft and retention write must still
// find room, and a partition that fails to write stops. Safe for concurrent
// use.
type Space struct {
	fs      vfs.FS
	dir     string
	checked atomic.Int64 // when, in nanoseconds since 1970
	problem atomic.Pointer[string]
}

// NewSpace returns the watch over the disk that dir is on. Logs of one
// directory share it.
func NewSpace(fsys vfs.FS, dir string) *Space { return &Space{fs: fsys, dir: dir} }

// Watch looks at the free space, at most once a second. Owners call it from
// time to time and before writing.
func (s *Space) Watch(now time.Time) {
	last := s.checked.Load()
	if now.UnixNano()-last < spaceEvery.Nanoseconds() || !s.checked.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	free, total, err := s.fs.Space(s.dir)
	if err != nil {
		return // the next write will tell
	}
	need := min(int64(reserveBytes), total/20)
	if free >= need {
		s.problem.Store(nil)
		return
	}
	text := fmt.Sprintf("%d MiB are free in %s, %d MiB are needed; make room or shorten retention", free>>20, s.dir, need>>20)
	s.problem.Store(&text)
}

// Err returns nil while new records may be written.
func (s *Space) Err() error {
	if text := s.problem.Load(); text != nil {
		return fmt.Errorf("%s", *text)
	}
	return nil
}
