package seglog

import (
	"errors"
	"fmt"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/vfs"
)

// Roll seals the last segment, if it holds batches, and begins the next, so
// that retention can delete it.
func (l *Log) Roll() error {
	l.wmu.Lock()
	defer l.wmu.Unlock()
	if err := l.writable(); err != nil {
		return err
	}
	if l.active().sum.batchTerm == 0 {
		return nil
	}
	return l.roll()
}

// roll seals the last segment and begins one after it. When the second step
// fails the next append tries it again.
func (l *Log) roll() error {
	last := l.active()
	if !last.sealed {
		if err := l.seal(last); err != nil {
			return l.fail(err) // the trailer may be there or not
		}
	}
	s, err := l.create(rixHead{base: last.sum.next, firstIndex: last.lastIndex() + 1, prevTerm: last.sum.lastTerm})
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.segs = append(l.segs[:len(l.segs):len(l.segs)], s)
	l.mu.Unlock()
	l.cfg.OnEvent(Rolled{Base: last.head.base})
	return nil
}

// seal trims a segment's files to their length, makes all of it durable and
// says so in the trailer. Its files may be closed from then on.
func (l *Log) seal(s *segment) error {
	f := s.own
	steps := []func() error{
		func() error { return f.log.Truncate(s.sum.logSize) },
		f.log.SyncData,
		func() error { return f.data.Truncate(s.sum.dataSize) },
		f.data.SyncData,
		func() error { return l.writeTrailer(s) },
		f.rix.SyncData,
		func() error { return l.writeTimeIndex(s) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("seal segment %d: %w", s.head.base, err)
		}
	}
	l.mu.Lock()
	s.sealed, s.mem, s.times, s.own = true, nil, nil, nil
	l.mu.Unlock()
	l.shared.release(s, f)
	return nil
}

// writeTrailer rewrites the index as a whole: what is in memory is right.
func (l *Log) writeTrailer(s *segment) error {
	b := s.head.encode()
	for i, sl := range s.mem {
		b = appendSlot(b, sl, i)
	}
	sum := checksum(b[rixHeaderSize:])
	l.mu.Lock()
	s.sum.slotsCRC = sum
	l.mu.Unlock()
	b = append(b, s.sum.encode()...)
	if _, err := s.own.rix.WriteAt(b, 0); err != nil {
		return fmt.Errorf("write trailer: %w", err)
	}
	return s.own.rix.Truncate(int64(len(b)))
}

// writeTimeIndex writes the index by time, which can be rebuilt and so is not
// synced. It must not hold the lock: only the writer changes times.
func (l *Log) writeTimeIndex(s *segment) error {
	l.mu.Lock()
	s.times.flush()
	b := encodeTimeIndex(s.times.entries)
	l.mu.Unlock()
	f, err := l.cfg.FS.Create(s.path + extTime)
	if err != nil {
		return fmt.Errorf("write time index: %w", err)
	}
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, f.Close())
}

func newSegment(fsys vfs.FS, dir string, h rixHead) *segment {
	return &segment{
		fs: fsys, path: dir + "/" + segmentName(h.base), head: h,
		sum: summary{
			lastTerm: h.prevTerm, next: h.base,
			minTimeMs: record.NoTimestamp, maxTimeMs: record.NoTimestamp,
		},
	}
}

// create makes the files of an empty segment durable. The index file comes
// last: a segment without one has not begun.
func (l *Log) create(h rixHead) (*segment, error) {
	h.createdMs = l.cfg.Now().UnixMilli()
	s := newSegment(l.cfg.FS, l.cfg.Dir, h)
	f := &files{}
	for _, x := range []struct {
		to  *vfs.File
		ext string
	}{{&f.log, extLog}, {&f.data, extData}, {&f.rix, extRix}} {
		var err error
		if *x.to, err = l.cfg.FS.Create(s.path + x.ext); err != nil {
			f.close()
			return nil, fmt.Errorf("create segment: %w", err)
		}
	}
	err := func() error {
		if _, err := f.rix.WriteAt(h.encode(), 0); err != nil {
			return err
		}
		if err := f.rix.SyncData(); err != nil {
			return err
		}
		return l.cfg.FS.SyncDir(l.cfg.Dir)
	}()
	if err != nil {
		f.close()
		return nil, fmt.Errorf("create segment: %w", err)
	}
	l.activate(s, f)
	return s, nil
}

// activate makes s a segment that can be appended to.
func (l *Log) activate(s *segment, f *files) {
	s.own = f
	if s.times == nil {
		s.times = newTimeIndex()
	}
	if s.mem == nil {
		s.mem = []slot{}
	}
	l.shared.adopt(s, f)
}
