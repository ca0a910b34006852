package seglog

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weir-analytics/weir/internal/vfs"
)

// Space is watched so that new records are refused before the disk is full:
// what raft and retention write must still find room, and a partition that
// fails to write stops.
const (
	// reserveBytes is kept free: a guess that lets a few hundred partitions
	// write their checkpoints and new segments. On small disks it is a
	// twentieth of the disk.
	reserveBytes = 64 << 20
	spaceEvery   = time.Second
)

type space struct {
	checked atomic.Int64 // when, in nanoseconds since 1970
	problem atomic.Pointer[string]
}

// WatchSpace looks at the free space of the disk that dir is on, at most once a
// second for all logs together. Owners call it from time to time and before
// writing.
func (p *Shared) WatchSpace(fsys vfs.FS, dir string, now time.Time) {
	last := p.space.checked.Load()
	if now.UnixNano()-last < spaceEvery.Nanoseconds() || !p.space.checked.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	free, total, err := fsys.Space(dir)
	if err != nil {
		return // the next write will tell
	}
	need := min(int64(reserveBytes), total/20)
	if free >= need {
		p.space.problem.Store(nil)
		return
	}
	s := fmt.Sprintf("%d MiB are free in %s, %d MiB are needed; make room or shorten retention", free>>20, dir, need>>20)
	p.space.problem.Store(&s)
}

// Space returns nil while new records may be written.
func (p *Shared) Space() error {
	if s := p.space.problem.Load(); s != nil {
		return fmt.Errorf("%s", *s)
	}
	return nil
}
