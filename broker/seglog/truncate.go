package seglog

import (
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strings"

	"github.com/weir-analytics/weir/broker/record"
)

// TruncateFrom removes the entries from index on, because the group has
// agreed on others. The removal is durable when it returns. Any error but
// ErrOrder and ErrClosed is ErrFailed.
func (l *Log) TruncateFrom(index uint64) error {
	l.wmu.Lock()
	defer l.wmu.Unlock()
	if err := l.writable(); err != nil {
		return err
	}
	if index > l.lastIndex {
		return nil
	}
	if first := l.Bounds().Anchor.Index + 1; index < first {
		return fmt.Errorf("%w: can't remove entry %d, the log begins with entry %d", ErrOrder, index, first)
	}
	if err := l.truncate(index); err != nil {
		return l.fail(err)
	}
	l.cfg.OnEvent(Truncated{FromIndex: index, NextOffset: l.next})
	return nil
}

// ResetTo removes all entries and begins anew after the anchor, as a follower
// does that has got a snapshot.
func (l *Log) ResetTo(a Anchor, logStart int64) error {
	l.wmu.Lock()
	defer l.wmu.Unlock()
	if err := l.writable(); err != nil {
		return err
	}
	l.metaMu.Lock()
	defer l.metaMu.Unlock()
	if err := l.meta.write(a, logStart, cut{index: a.Index + 1, base: -1}); err != nil {
		return l.fail(err)
	}
	l.tail.truncate(0)
	l.mu.Lock()
	old := l.segs
	l.mu.Unlock()
	for _, s := range old {
		l.shared.forget(s, true)
	}
	if err := l.removeSegmentFiles(func(int64) bool { return true }); err != nil {
		return l.fail(err)
	}
	s, err := l.create(rixHead{base: a.NextOffset, firstIndex: a.Index + 1, prevTerm: a.Term})
	if err != nil {
		return l.fail(err)
	}
	if err := l.meta.write(a, logStart, cut{}); err != nil {
		return l.fail(err)
	}
	l.adopt([]*segment{s}, a, logStart)
	return nil
}

// truncate does the work of TruncateFrom; the caller holds wmu. The cut is
// noted first, so that a crash in the middle is finished by the next Open.
func (l *Log) truncate(index uint64) error {
	l.metaMu.Lock()
	defer l.metaMu.Unlock()
	keep := sort.Search(len(l.segs), func(i int) bool { return l.segs[i].head.firstIndex > index }) - 1
	s := l.segs[keep]
	if err := l.meta.write(l.anchor, l.logStart, cut{index: index, base: s.head.base}); err != nil {
		return err
	}
	l.tail.truncate(index)
	for _, gone := range l.segs[keep+1:] {
		l.shared.forget(gone, true)
	}
	if err := l.removeSegmentFiles(func(base int64) bool { return base > s.head.base }); err != nil {
		return err
	}
	short, err := l.shorten(s, int(index-s.head.firstIndex))
	if err != nil {
		return err
	}
	if err := l.meta.write(l.anchor, l.logStart, cut{}); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	short.aborted = s.aborted // the owner may have added to it until now
	if marker := short.aborted.newest(); marker >= short.sum.next {
		return corrupt(s.path+extTxn, 0, "the transaction aborted at offset %d was agreed on, and offsets from %d on were removed",
			marker, short.sum.next)
	}
	l.adoptLocked(append(l.segs[:keep:keep], short), l.anchor, l.logStart)
	return nil
}

// shorten makes a segment end after n slots and returns it as the last segment.
// Readers that hold the longer one go on with its files.
func (l *Log) shorten(s *segment, n int) (*segment, error) {
	if s.head.compacted {
		return nil, corrupt(s.path+extRix, 0, "entries of a compacted segment, which were agreed on, are to be removed")
	}
	slots := make([]slot, 0, n)
	if s.own != nil {
		slots = append(slots, s.mem[:n]...)
		l.shared.forget(s, false)
	} else {
		v := view{s: s, sum: s.sum, log: l}
		var err error
		if v.f, err = l.shared.acquire(s); err != nil {
			return nil, err
		}
		got, err := v.slots(0, n)
		v.release()
		if err != nil {
			return nil, err
		}
		slots = append(slots, got...)
		l.shared.forget(s, false)
	}
	f, err := openFiles(l.cfg.FS, s.path)
	if err != nil {
		return nil, err
	}
	if s.own != nil { // its own use of the old files ends
		l.shared.release(s, s.own)
	}
	short := newSegment(l.cfg.FS, l.cfg.Dir, s.head)
	short.mem, short.times = slots, newTimeIndex()
	l.activate(short, f)
	if err := l.recount(short); err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error { return f.rix.Truncate(rixHeaderSize + int64(n)*slotSize) },
		f.rix.SyncData,
		func() error { return f.log.Truncate(short.sum.logSize) },
		f.log.SyncData,
		func() error { return f.data.Truncate(short.sum.dataSize) },
		f.data.SyncData,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("shorten segment %d: %w", s.head.base, err)
		}
	}
	short.filled = short.sum.logSize
	return short, nil
}

// recount makes summary and time index anew from the slots and the batch
// headers they point to.
func (l *Log) recount(s *segment) error {
	v := view{s: s, f: s.own, mem: s.mem, log: l}
	for _, sl := range s.mem {
		s.sum.slots++
		s.sum.lastTerm = sl.term
		if !sl.batch() {
			s.sum.dataSize = int64(sl.pos) + recordHeader + int64(sl.size)
			if sl.count > 0 {
				s.sum.batchTerm, s.sum.next = sl.term, s.head.base+int64(sl.rel)+int64(sl.count)
			}
			continue
		}
		h, err := v.batchHead(sl)
		if err != nil {
			return err
		}
		s.count(sl, h)
	}
	return nil
}

// count adds a batch at the end of the segment to its summary.
func (s *segment) count(sl slot, h record.Batch) {
	s.sum.logSize = int64(sl.pos) + int64(sl.size)
	s.sum.batchTerm = sl.term
	s.sum.next = s.head.base + int64(sl.rel) + int64(sl.count)
	s.sum.addTime(h)
	s.times.add(h.MaxTimestampMs, sl.rel+sl.count-1, int(sl.size))
}

// adopt makes the segments what readers see.
func (l *Log) adopt(segs []*segment, a Anchor, logStart int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.adoptLocked(segs, a, logStart)
}

func (l *Log) adoptLocked(segs []*segment, a Anchor, logStart int64) {
	last := segs[len(segs)-1]
	l.segs, l.anchor, l.logStart = segs, a, logStart
	l.next, l.lastIndex, l.lastTerm = last.sum.next, last.lastIndex(), last.sum.lastTerm
	l.epochs = epochsOf(segs, l.lastTerm, l.next)
}

// removeSegmentFiles deletes the files of all segments whose base is accepted,
// durably. Files that are not ours stay.
func (l *Log) removeSegmentFiles(accept func(base int64) bool) error {
	names, err := l.cfg.FS.List(l.cfg.Dir)
	if err != nil {
		return fmt.Errorf("list segments: %w", err)
	}
	removed := false
	for _, name := range names {
		stem, ext, found := strings.Cut(name, ".")
		if !found {
			continue
		}
		switch "." + ext {
		case extLog, extRix, extData, extTime, extTxn:
		default:
			continue
		}
		base, ok := parseSegmentName(stem + extRix)
		if !ok || !accept(base) {
			continue
		}
		if err := l.cfg.FS.Remove(l.cfg.Dir + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove segment: %w", err)
		}
		removed = true
	}
	if !removed {
		return nil
	}
	if err := l.cfg.FS.SyncDir(l.cfg.Dir); err != nil {
		return fmt.Errorf("remove segment: %w", err)
	}
	return nil
}
