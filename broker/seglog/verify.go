package seglog

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/weir-analytics/weir/internal/vfs"
)

// Report is what Verify has found in a log.
type Report struct {
	Segments int
	Entries  int // raft entries, batches included
	Batches  int
	Bytes    int64 // of batches
	LogStart int64
	Next     int64 // offset after the last record
	// Unfinished is how many segments have something after their last whole
	// entry, as an unclean stop leaves it: at most the last one.
	Unfinished int
}

// Verify reads a whole log through without changing anything: every batch with
// its checksum, the order of all entries, index against contents, segment
// against segment. The log may be open, as long as nobody writes. It returns
// the first thing that is wrong as ErrCorrupt.
func Verify(fsys vfs.FS, dir string) (Report, error) {
	m, found, err := openMeta(fsys, dir)
	if err != nil {
		return Report{}, err
	}
	if !found {
		return Report{}, fmt.Errorf("verify %s: %w", dir, fs.ErrNotExist)
	}
	defer m.close()
	a := m.cur.anchor
	r := Report{LogStart: m.cur.logStart, Next: a.NextOffset}
	l := &Log{cfg: Config{FS: fsys, Dir: dir}, meta: m}
	names, err := fsys.List(dir)
	if err != nil {
		return r, fmt.Errorf("verify %s: %w", dir, err)
	}
	var bases []int64
	for _, name := range names {
		if base, ok := parseSegmentName(name); ok && base >= a.NextOffset {
			bases = append(bases, base)
		}
	}
	want := rixHead{base: a.NextOffset, firstIndex: a.Index + 1, prevTerm: a.Term}
	for i, base := range bases {
		if r.Unfinished > 0 {
			return r, corrupt(l.path(base), 0, "a segment before it is not complete")
		}
		s, err := l.verifySegment(base, want, &r)
		if err != nil {
			if i == len(bases)-1 && i > 0 && errors.Is(err, errNoHead) && l.checkStillborn(base) == nil {
				break // its making was cut short
			}
			return r, err
		}
		r.Next = s.sum.next
		want = rixHead{base: s.sum.next, firstIndex: s.lastIndex() + 1, prevTerm: s.sum.lastTerm}
	}
	return r, nil
}

var errNoHead = errors.New("index file has no whole header")

func (l *Log) verifySegment(base int64, want rixHead, r *Report) (*segment, error) {
	h, err := l.readHead(base)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoHead, err)
	}
	s := newSegment(l.cfg.FS, l.cfg.Dir, h)
	if !h.joins(want) {
		return nil, corrupt(s.path+extRix, 0, "begins with %+v where %+v is next", h, want)
	}
	f, err := openFiles(l.cfg.FS, s.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = corrupt(s.path, 0, "%v", err)
		}
		return nil, err
	}
	defer f.close()
	if h.compacted {
		return s, l.verifyCompacted(s, f, r)
	}
	trailer := *s
	sealed, err := trailer.readTrailer(f)
	if err != nil {
		return nil, err
	}
	if _, err := s.rebuild(f); err != nil {
		return nil, err
	}
	if sealed {
		s.sum.slotsCRC = trailer.sum.slotsCRC
		if s.sum != trailer.sum {
			return nil, corrupt(s.path+extRix, 0, "the trailer says %+v, the segment has %+v", trailer.sum, s.sum)
		}
	} else {
		r.Unfinished++
	}
	r.Segments++
	r.Entries += s.sum.slots + s.sum.joined
	r.Bytes += s.sum.logSize
	r.Next = s.sum.next
	for _, sl := range s.mem {
		if sl.batch() {
			r.Batches++
		}
	}
	return s, nil
}

// verifyCompacted checks a compacted segment: its slots follow each other
// without a gap in entries and offsets, and each batch is where its slot says.
func (l *Log) verifyCompacted(s *segment, f *files, r *Report) error {
	ok, err := s.readTrailer(f)
	if err != nil {
		return err
	}
	if !ok {
		return corrupt(s.path+extRix, 0, "the trailer of a compacted segment is missing or does not fit its files")
	}
	v := view{s: s, f: f, sum: s.sum, log: l}
	slots, err := v.slots(0, s.sum.slots)
	if err != nil {
		return err
	}
	raw := make([]byte, int64(s.sum.slots)*compactedSlot)
	if n, err := f.rix.ReadAt(raw, rixHeaderSize); err != nil && n < len(raw) {
		return fmt.Errorf("read index: %w", err)
	}
	if checksum(raw) != s.sum.slotsCRC {
		return corrupt(s.path+extRix, rixHeaderSize, "the slots are not those of the trailer")
	}
	var index, rel uint32
	var pos int64
	joined := 0
	for n, sl := range slots {
		if sl.index != index || sl.rel != rel || sl.batch() && int64(sl.pos) != pos {
			return corrupt(s.path+extRix, rixHeaderSize+int64(n)*compactedSlot, "slot %d is %+v where entry %d, offset %d, byte %d is next", n, sl, index, rel, pos)
		}
		if _, err := v.entry(n); err != nil {
			return err
		}
		if sl.batch() {
			pos += int64(sl.size)
			r.Batches++
		}
		index, rel, joined = index+sl.entries, rel+sl.count, joined+int(sl.entries)-1
	}
	if pos != s.sum.logSize || joined != s.sum.joined || s.head.base+int64(rel) != s.sum.next {
		return corrupt(s.path+extRix, 0, "the trailer says %+v, the segment has %d bytes and ends at offset %d", s.sum, pos, s.head.base+int64(rel))
	}
	r.Segments++
	r.Entries += s.sum.slots + s.sum.joined
	r.Bytes += s.sum.logSize
	return nil
}
