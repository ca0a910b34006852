package seglog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/weir-analytics/weir/internal/vfs"
)

// Open opens the log in a directory or makes a new one there. After an unclean
// stop it reads through the last segment and drops unfinished writes. It fails
// with ErrCorrupt when something that was durable is damaged.
func Open(cfg Config) (*Log, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	l := &Log{cfg: cfg, shared: cfg.Shared}
	l.SetSegments(cfg.SegmentBytes, 0)
	if err := l.open(); err != nil {
		for _, s := range l.segs {
			l.shared.forget(s, true)
			if s.own != nil {
				l.shared.release(s, s.own)
			}
		}
		if l.meta != nil {
			_ = l.meta.close()
		}
		return nil, fmt.Errorf("open log %s: %w", cfg.Dir, err)
	}
	return l, nil
}

func (l *Log) open() error {
	if err := l.cfg.FS.MkdirAll(l.cfg.Dir); err != nil {
		return err
	}
	if err := l.openMeta(); err != nil {
		return err
	}
	m := l.meta.cur
	if !l.meta.twins { // what is acted on must be on disk, not only in the memory of the system
		if err := l.meta.write(m.anchor, m.logStart, m.cut); err != nil {
			return err
		}
	}
	if err := l.finishSwap(); err != nil {
		return err
	}
	if err := l.removeSegmentFiles(func(base int64) bool {
		return base < m.anchor.NextOffset || m.cut.index != 0 && base > m.cut.base
	}); err != nil {
		return err
	}
	bases, err := l.bases()
	if err != nil {
		return err
	}
	for i, base := range bases {
		s, err := l.load(base, i == len(bases)-1)
		if err != nil {
			return err
		}
		l.segs = append(l.segs, s)
		if err := l.checkJoint(i); err != nil {
			return err
		}
	}
	if len(l.segs) == 0 {
		s, err := l.create(rixHead{base: m.anchor.NextOffset, firstIndex: m.anchor.Index + 1, prevTerm: m.anchor.Term})
		if err != nil {
			return err
		}
		l.segs = append(l.segs, s)
	}
	if m.cut.index != 0 {
		if err := l.meta.write(m.anchor, m.logStart, cut{}); err != nil {
			return err
		}
	}
	l.adopt(l.segs, m.anchor, m.logStart)
	return nil
}

// openMeta opens the meta file, or makes it when the directory holds no log.
func (l *Log) openMeta() error {
	m, found, err := openMeta(l.cfg.FS, l.cfg.Dir)
	if err != nil {
		return err
	}
	if !found {
		names, err := l.cfg.FS.List(l.cfg.Dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.HasSuffix(name, extLog) || strings.HasSuffix(name, extRix) {
				return corrupt(l.cfg.Dir+"/"+metaName, 0, "the file is missing beside segments")
			}
		}
		if m, err = createMeta(l.cfg.FS, l.cfg.Dir, Anchor{}, 0); err != nil {
			return err
		}
	}
	l.meta = m
	return nil
}

// bases lists the base offsets of the segments, in order. A segment whose
// creation was cut short is removed.
func (l *Log) bases() ([]int64, error) {
	names, err := l.cfg.FS.List(l.cfg.Dir)
	if err != nil {
		return nil, err
	}
	var bases, logs []int64
	for _, name := range names {
		if base, ok := parseSegmentName(name); ok {
			bases = append(bases, base)
		}
		if stem, ok := strings.CutSuffix(name, extLog); ok {
			if base, ok := parseSegmentName(stem + extRix); ok {
				logs = append(logs, base)
			}
		}
	}
	for i, base := range logs {
		if slices.Contains(bases, base) {
			continue
		}
		if i < len(logs)-1 {
			return nil, corrupt(l.path(base)+extRix, 0, "the file is missing beside its segment")
		}
		if err := l.removeStillborn(base); err != nil {
			return nil, err
		}
	}
	if n := len(bases); n > 0 {
		_, err := l.readHead(bases[n-1])
		if err == nil {
			return bases, nil
		}
		if !errors.Is(err, ErrCorrupt) {
			return nil, err
		}
		if err := l.removeStillborn(bases[n-1]); err != nil {
			return nil, err
		}
		bases = bases[:n-1]
	}
	return bases, nil
}

func (l *Log) path(base int64) string { return l.cfg.Dir + "/" + segmentName(base) }

// removeStillborn removes a last segment without a whole index file.
func (l *Log) removeStillborn(base int64) error {
	if err := l.checkStillborn(base); err != nil {
		return err
	}
	return l.removeSegmentFiles(func(b int64) bool { return b == base })
}

// checkStillborn returns an error when something was ever written to a segment
// without a whole index file: then it was not cut short while it was made.
func (l *Log) checkStillborn(base int64) error {
	for _, ext := range []string{extLog, extData} {
		b, err := vfs.ReadFile(l.cfg.FS, l.path(base)+ext, maxFillBytes+gatherBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, io.ErrShortBuffer) || err == nil && slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
			return corrupt(l.path(base)+extRix, 0, "no whole index file beside a segment with data")
		}
		if err != nil {
			return fmt.Errorf("read segment: %w", err)
		}
	}
	return nil
}

func (l *Log) readHead(base int64) (rixHead, error) {
	f, err := l.cfg.FS.Open(l.path(base) + extRix)
	if err != nil {
		return rixHead{}, fmt.Errorf("open segment: %w", err)
	}
	defer f.Close()
	b := make([]byte, rixHeaderSize)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return rixHead{}, fmt.Errorf("read index: %w", err)
	}
	h, err := parseRixHead(b[:n])
	if err == nil && h.base != base {
		err = fmt.Errorf("header says base offset %d", h.base)
	}
	if err != nil {
		return rixHead{}, corrupt(l.path(base)+extRix, 0, "%v", err)
	}
	return h, nil
}

// load reads what is needed of a segment: the trailer of a sealed one, all
// slots of the last one, everything when there is no trailer.
func (l *Log) load(base int64, last bool) (*segment, error) {
	h, err := l.readHead(base)
	if err != nil {
		return nil, err
	}
	s := newSegment(l.cfg.FS, l.cfg.Dir, h)
	if c := l.meta.cur.cut; c.index != 0 && c.base == base {
		if c.index < h.firstIndex {
			return nil, corrupt(s.path+extRix, 16, "first entry is %d, but entries from %d on are to be removed", h.firstIndex, c.index)
		}
		return l.shorten(s, int(c.index-h.firstIndex))
	}
	f, err := openFiles(l.cfg.FS, s.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = corrupt(s.path, 0, "a file of the segment is missing: %v", err)
		}
		return nil, err
	}
	ok, err := s.readTrailer(f)
	if err != nil {
		f.close()
		return nil, err
	}
	if h.compacted && !ok {
		f.close()
		return nil, corrupt(s.path+extRix, 0, "the trailer of a compacted segment is missing or does not fit its files")
	}
	if ok && (!last || h.compacted) {
		s.sealed = true
		return s, f.close()
	}
	if ok {
		ok, err = s.readSlots(f)
	}
	if err == nil && ok {
		err = l.reopen(s, f)
	} else if err == nil {
		err = l.recover(s, f)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return s, nil
}

// readTrailer fills the summary from the trailer. ok is false when there is
// none or when the files were written to after it.
func (s *segment) readTrailer(f *files) (ok bool, err error) {
	size, err := f.rix.Size()
	if err != nil {
		return false, fmt.Errorf("read index: %w", err)
	}
	if size < rixHeaderSize+rixTrailerSize {
		return false, nil
	}
	b := make([]byte, rixTrailerSize)
	if _, err := f.rix.ReadAt(b, size-rixTrailerSize); err != nil {
		return false, fmt.Errorf("read index: %w", err)
	}
	sum, ok := parseSummary(b)
	if !ok || size != rixHeaderSize+int64(sum.slots)*s.head.slotSize()+rixTrailerSize {
		return false, nil
	}
	for _, x := range []struct {
		f    vfs.File
		size int64
	}{{f.log, sum.logSize}, {f.data, sum.dataSize}} {
		if size, err = x.f.Size(); err != nil {
			return false, fmt.Errorf("read segment: %w", err)
		}
		if size != x.size {
			return false, nil
		}
	}
	s.sum = sum
	return true, nil
}

// readSlots reads all slots that the trailer counts; ok is false when they are
// not those it was written for.
func (s *segment) readSlots(f *files) (ok bool, err error) {
	b := make([]byte, s.sum.slots*slotSize)
	if len(b) > 0 {
		if _, err := f.rix.ReadAt(b, rixHeaderSize); err != nil {
			return false, fmt.Errorf("read index: %w", err)
		}
	}
	if checksum(b) != s.sum.slotsCRC {
		return false, nil
	}
	s.mem = make([]slot, s.sum.slots)
	for i := range s.mem {
		if s.mem[i], ok = parseSlot(b[i*slotSize:], i); !ok {
			s.mem = nil
			return false, nil
		}
	}
	return true, nil
}

// reopen makes a cleanly closed last segment ready for more.
func (l *Log) reopen(s *segment, f *files) error {
	s.filled = s.sum.logSize
	v := view{s: s, sum: s.sum, log: l}
	if entries := v.timeEntries(); entries != nil {
		s.times = &timeIndex{entries: entries, maxMs: s.sum.maxTimeMs, last: int64(entries[len(entries)-1].rel)}
	} else {
		s.times = newTimeIndex()
		v := view{s: s, f: f, log: l}
		for _, sl := range s.mem {
			if !sl.batch() {
				continue
			}
			h, err := v.batchHead(sl)
			if err != nil {
				return err
			}
			s.times.add(h.MaxTimestampMs, sl.rel+sl.count-1, int(sl.size))
		}
	}
	// The trailer no longer holds once something is appended.
	if err := f.rix.Truncate(rixHeaderSize + int64(s.sum.slots)*slotSize); err != nil {
		return fmt.Errorf("reopen segment: %w", err)
	}
	l.activate(s, f)
	return nil
}

// checkJoint verifies that segment i continues the one before it.
func (l *Log) checkJoint(i int) error {
	s := l.segs[i]
	a := l.meta.cur.anchor
	want := rixHead{base: a.NextOffset, firstIndex: a.Index + 1, prevTerm: a.Term}
	if i > 0 {
		p := l.segs[i-1]
		want = rixHead{base: p.sum.next, firstIndex: p.lastIndex() + 1, prevTerm: p.sum.lastTerm}
		if p.own != nil { // recovered although others follow: sealed now
			if err := l.seal(p); err != nil {
				return err
			}
		}
	}
	if !s.head.joins(want) {
		return corrupt(s.path+extRix, 0,
			"the segment begins with offset %d, entry %d after term %d, where offset %d, entry %d after term %d is next",
			s.head.base, s.head.firstIndex, s.head.prevTerm, want.base, want.firstIndex, want.prevTerm)
	}
	return nil
}
