package seglog

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/finding"
	"github.com/weir-analytics/weir/internal/vfs"
)

// Report is what Inspect has seen of a log.
type Report struct {
	Segments  int
	Entries   int // raft entries, batches included
	Batches   int
	Bytes     int64 // of batches
	LogStart  int64
	Next      int64 // offset after the last record
	LastIndex uint64
	LastTerm  uint32
	Anchor    Anchor
	// Compacted says that a segment was rewritten by the cleaner, or that there
	// are holes.
	Compacted bool
	// Unfinished is how many segments have something after their last whole
	// entry, as an unclean stop leaves it: at most the last one.
	Unfinished int
	// Damaged says that something was found to be damaged that the log needs.
	Damaged bool
}

// Inspection says what Inspect tells of what it reads.
type Inspection struct {
	// Found takes what is wrong. Required.
	Found finding.Sink
	// Entry is given every entry up to the first segment with damage, in order; of
	// batches of records the data is the header only. A hole is told once, with
	// the index of the last entry of its run. The report is that up to there.
	// nil: not told.
	Entry func(Entry, Report) error
	// Progress is told of the bytes of each file that was read through. nil: not told.
	Progress func(bytes int64)
}

// ErrUnderWay is returned by Inspect for a log in which a removal or replacement
// of segments was begun and not finished: Open finishes it.
var ErrUnderWay = errors.New("segments are being removed or replaced; the next start finishes that")

// Verify is Inspect that returns the first damage as ErrCorrupt.
func Verify(fsys vfs.FS, dir string) (Report, error) {
	var first error
	r, err := Inspect(fsys, dir, Inspection{Found: func(f finding.Finding) {
		if first == nil && !f.Note {
			first = corrupt(f.File, f.Offset, "%s", f.What)
		}
	}})
	if err == nil {
		err = first
	}
	return r, err
}

// Inspect reads a whole log through without changing anything: every batch with
// its checksum, the order of all entries, index against contents, segment
// against segment, index by time against the batches. It goes on behind
// damage. The log may be open, as long as nobody writes; of a log that is
// written to, the result holds for what was durable when its last segment was
// looked at. An error means that it could not be looked at: fs.ErrNotExist when
// there is no log.
func Inspect(fsys vfs.FS, dir string, in Inspection) (Report, error) {
	c := &inspector{in: in, l: &Log{cfg: Config{FS: fsys, Dir: dir}}}
	m, found, err := openMeta(fsys, dir)
	if damage := (*Damage)(nil); errors.As(err, &damage) {
		c.damage(damage)
		return c.r, nil
	}
	if err != nil {
		return c.r, err
	}
	names, err := fsys.List(dir)
	if err != nil {
		return c.r, fmt.Errorf("inspect %s: %w", dir, err)
	}
	if !found {
		if err := c.noMeta(names); err != nil {
			return c.r, err
		}
		return c.r, nil
	}
	defer m.close()
	c.l.meta = m
	c.r.LogStart, c.r.Next, c.r.Anchor = m.cur.logStart, m.cur.anchor.NextOffset, m.cur.anchor
	c.r.LastIndex, c.r.LastTerm = m.cur.anchor.Index, m.cur.anchor.Term
	if m.cur.cut.index != 0 || m.cur.swap.on {
		return c.r, fmt.Errorf("inspect %s: %w", dir, ErrUnderWay)
	}
	if !m.twins {
		c.note(dir+"/"+metaName, 0, "one of its two copies is not the other", finding.StartNode)
	}
	return c.r, c.segments(names)
}

// inspector is one Inspect.
type inspector struct {
	in Inspection
	l  *Log
	r  Report
}

func (c *inspector) damage(d *Damage) {
	do := finding.RestorePartition
	if strings.HasSuffix(d.File, extTime) {
		do = finding.Derived
	} else {
		c.r.Damaged = true
	}
	c.in.Found(finding.Finding{File: d.File, Offset: d.Pos, What: d.What, Do: do})
}

func (c *inspector) note(file string, pos int64, what, do string) {
	c.in.Found(finding.Finding{Note: true, File: file, Offset: pos, What: what, Do: do})
}

// take reports an error if it is damage, and returns it if it is not.
func (c *inspector) take(err error) error {
	if d := (*Damage)(nil); errors.As(err, &d) {
		c.damage(d)
		return nil
	}
	return err
}

func (c *inspector) noMeta(names []string) error {
	for _, name := range names {
		if strings.HasSuffix(name, extLog) || strings.HasSuffix(name, extRix) {
			c.damage(&Damage{c.l.cfg.Dir + "/" + metaName, -1, "the file is missing beside segments"})
			return nil
		}
	}
	return fmt.Errorf("inspect %s: %w", c.l.cfg.Dir, fs.ErrNotExist)
}

// segments inspects all from the anchor on, oldest first.
func (c *inspector) segments(names []string) error {
	a := c.r.Anchor
	var bases []int64
	for _, name := range names {
		if stem, ok := strings.CutSuffix(name, extLog); ok {
			name = stem + extRix
		}
		if base, ok := parseSegmentName(name); ok && base >= a.NextOffset && !slices.Contains(bases, base) {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	want := &rixHead{base: a.NextOffset, firstIndex: a.Index + 1, prevTerm: a.Term}
	for i, base := range bases {
		last := i == len(bases)-1
		h, err := c.l.readHead(base)
		if errors.Is(err, fs.ErrNotExist) {
			err = corrupt(c.l.path(base)+extRix, -1, "the file is missing beside its segment")
		}
		if err != nil && last && c.l.checkStillborn(base) == nil {
			c.note(c.l.path(base)+extRix, -1, "the making of this segment was cut short", finding.StartNode)
			return nil
		}
		if err := c.take(err); err != nil {
			return err
		} else if h == (rixHead{}) {
			want = nil // what follows can't be compared
			continue
		}
		s := newSegment(c.l.cfg.FS, c.l.cfg.Dir, h)
		if want != nil && !h.joins(*want) {
			c.damage(&Damage{s.path + extRix, 0, fmt.Sprintf("begins with offset %d, entry %d after term %d, where offset %d, entry %d after term %d is next",
				h.base, h.firstIndex, h.prevTerm, want.base, want.firstIndex, want.prevTerm)})
		}
		whole, err := c.segment(s, last)
		if err != nil {
			return err
		}
		want = nil
		if whole {
			want = &rixHead{base: s.sum.next, firstIndex: s.lastIndex() + 1, prevTerm: s.sum.lastTerm}
			c.r.Next, c.r.LastIndex, c.r.LastTerm = s.sum.next, s.lastIndex(), s.sum.lastTerm
		}
	}
	return nil
}

// segment inspects one segment; whole says that its end is known.
func (c *inspector) segment(s *segment, last bool) (whole bool, err error) {
	f, err := openFiles(c.l.cfg.FS, s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, c.take(corrupt(s.path+extLog, -1, "a file of the segment is missing: %v", err))
	}
	if err != nil {
		return false, err
	}
	defer f.close()
	sealed, err := s.readTrailer(f)
	if err != nil {
		return false, err
	}
	trailer := s.sum
	switch {
	case s.head.compacted && !sealed:
		return false, c.take(corrupt(s.path+extRix, 0, "the trailer of a compacted segment is missing or does not fit its files"))
	case s.head.compacted:
		c.r.Compacted = true
		whole, err = c.compacted(s, f)
	case !sealed && !last:
		return false, c.take(corrupt(s.path+extRix, 0, "the trailer is missing or does not fit the files, and other segments follow"))
	default:
		whole, err = c.rebuilt(s, f, sealed, trailer)
	}
	if err != nil || !whole {
		return false, err
	}
	if sealed {
		if err := c.times(s, f); err != nil {
			return false, err
		}
	}
	c.r.Segments++
	c.r.Entries += s.sum.slots + s.sum.joined
	c.r.Bytes += s.sum.logSize
	if c.in.Progress != nil {
		c.in.Progress(s.sum.logSize)
	}
	return true, nil
}

// rebuilt inspects a segment as it was written: its index is made anew from its
// contents and compared.
func (c *inspector) rebuilt(s *segment, f *files, sealed bool, trailer summary) (whole bool, err error) {
	acked, err := s.rebuild(f)
	if err := c.take(err); err != nil {
		return false, err
	}
	damaged := err != nil
	if sealed {
		s.sum.slotsCRC = checksum(s.slotBytes())
		if got, err := rawSlots(f.rix, trailer.slots); err != nil {
			return false, err
		} else if !damaged && checksum(got) != trailer.slotsCRC {
			damaged = true
			c.damage(&Damage{s.path + extRix, rixHeaderSize + firstDifference(got, s.slotBytes()), "the slots are not those of the trailer"})
		}
		if !damaged && s.sum != trailer {
			damaged = true
			c.damage(&Damage{s.path + extRix, rixHeaderSize + int64(trailer.slots)*slotSize,
				fmt.Sprintf("the trailer says %+v, the segment has %+v", trailer, s.sum)})
		}
	} else {
		c.r.Unfinished++
		if err := c.take(c.stray(f.rix, acked, s.path)); err != nil {
			return false, err
		}
	}
	for _, sl := range s.mem {
		if sl.batch() {
			c.r.Batches++
		}
		c.r.Compacted = c.r.Compacted || sl.kind == KindHole
	}
	if damaged {
		return false, c.behind(s, f, acked)
	}
	return true, c.tell(s, f)
}

func (s *segment) slotBytes() []byte {
	b := make([]byte, 0, len(s.mem)*slotSize)
	for i, sl := range s.mem {
		b = appendSlot(b, sl, i)
	}
	return b
}

func rawSlots(f vfs.File, n int) ([]byte, error) {
	b := make([]byte, int64(n)*slotSize)
	if got, err := f.ReadAt(b, rixHeaderSize); err != nil && got < len(b) {
		return nil, fmt.Errorf("read index: %w", err)
	}
	return b, nil
}

func firstDifference(a, b []byte) int64 {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return int64(i) / slotSize * slotSize
		}
	}
	return int64(min(len(a), len(b)))
}

// stray looks at what follows the slots of a segment without a trailer. A slot
// that is damaged although one behind it is whole is damage, but for a page of
// zeros, which a power cut may leave.
func (c *inspector) stray(f vfs.File, from int, path string) error {
	b, err := readAll(f)
	if err != nil {
		return err
	}
	at := rixHeaderSize + from*slotSize
	if at >= len(b) || !slices.ContainsFunc(b[at:min(len(b), at+slotSize)], func(c byte) bool { return c != 0 }) {
		return nil
	}
	for n, rest := from+1, b[min(len(b), at+slotSize):]; len(rest) >= slotSize; n, rest = n+1, rest[slotSize:] {
		if _, ok := parseSlot(rest, n); ok {
			return corrupt(path+extRix, int64(at), "slot %d has a wrong checksum, and slot %d behind it is whole", from, n)
		}
	}
	c.note(path+extRix, int64(at), "neither a whole slot nor a whole trailer", finding.StartNode)
	return nil
}

// behind looks for more damage than the first, slot by slot as the index has
// them.
func (c *inspector) behind(s *segment, f *files, sure int) error {
	acked, err := readAckedSlots(f.rix)
	if err != nil || sure > len(acked) {
		return err
	}
	have := len(s.mem)
	v := view{s: s, f: f, sum: summary{slots: len(acked)}, mem: acked, log: c.l}
	for n := have + 1; n < len(acked); n++ { // the one at have was told of
		if _, err := v.entry(n); err != nil {
			if err := c.take(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell hands the entries of a segment on.
func (c *inspector) tell(s *segment, f *files) error {
	if c.in.Entry == nil || c.r.Damaged {
		return nil
	}
	v := view{s: s, f: f, sum: s.sum, mem: s.mem, log: c.l}
	for n, sl := range s.mem {
		e, err := v.headEntry(n)
		if err != nil {
			return c.take(err)
		}
		e.Index += uint64(sl.entries) - 1
		if err := c.in.Entry(e, c.r); err != nil {
			return err
		}
	}
	return nil
}

// compacted inspects a compacted segment: its slots follow each other without a
// gap in entries and offsets, and each batch is where its slot says.
func (c *inspector) compacted(s *segment, f *files) (whole bool, err error) {
	raw := make([]byte, int64(s.sum.slots)*compactedSlot)
	if n, err := f.rix.ReadAt(raw, rixHeaderSize); err != nil && n < len(raw) {
		return false, fmt.Errorf("read index: %w", err)
	}
	slots := make([]slot, s.sum.slots)
	for n := range slots {
		at := int64(n) * compactedSlot
		var ok bool
		if slots[n], ok = parseCompactedSlot(raw[at:], n); !ok {
			return false, c.take(corrupt(s.path+extRix, rixHeaderSize+at, "slot %d has a wrong checksum", n))
		}
	}
	if checksum(raw) != s.sum.slotsCRC {
		return false, c.take(corrupt(s.path+extRix, rixHeaderSize, "the slots are not those of the trailer"))
	}
	s.mem = slots
	v := view{s: s, f: f, sum: s.sum, mem: slots, log: c.l}
	var index, rel uint32
	var pos int64
	joined, damaged := 0, false
	for n, sl := range slots {
		if sl.index != index || sl.rel != rel || sl.batch() && int64(sl.pos) != pos {
			return false, c.take(corrupt(s.path+extRix, rixHeaderSize+int64(n)*compactedSlot, "slot %d is %+v where entry %d, offset %d, byte %d is next", n, sl, index, rel, pos))
		}
		if _, err := v.entry(n); err != nil {
			damaged = true
			if err := c.take(err); err != nil {
				return false, err
			}
		}
		if sl.batch() {
			pos += int64(sl.size)
			c.r.Batches++
		}
		index, rel, joined = index+sl.entries, rel+sl.count, joined+int(sl.entries)-1
	}
	if pos != s.sum.logSize || joined != s.sum.joined || s.head.base+int64(rel) != s.sum.next {
		return false, c.take(corrupt(s.path+extRix, 0, "the trailer says %+v, the segment has %d bytes and ends at offset %d", s.sum, pos, s.head.base+int64(rel)))
	}
	if damaged {
		return false, nil
	}
	return true, c.tell(s, f)
}

// times compares the index by time of a sealed segment with its batches. It is
// not synced: one that is missing or empty is done without.
func (c *inspector) times(s *segment, f *files) error {
	name := s.path + extTime
	b, err := vfs.ReadFile(s.fs, name, 64<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read index by time: %w", err)
	}
	if !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
		return nil
	}
	entries, ok := parseTimeIndex(b)
	if !ok || len(entries) == 0 {
		return c.take(corrupt(name, 0, "not a list that grows in time and offset"))
	}
	last := entries[len(entries)-1]
	if int64(last.rel) != s.sum.next-1-s.head.base || last.timeMs != s.sum.maxTimeMs {
		c.note(name, int64(len(b)-timeEntrySize), "it does not fit the segment and is left out: looking up a time reads more", "")
		return nil
	}
	v := view{s: s, f: f, sum: s.sum, mem: s.mem, log: c.l}
	newest, n := record.NoTimestamp, 0
	for _, sl := range s.mem {
		if !sl.batch() {
			continue
		}
		h, err := v.batchHead(sl)
		if err != nil {
			return c.take(err)
		}
		for n < len(entries) && entries[n].rel < sl.rel+sl.count-1 {
			n++
		}
		newest = max(newest, h.MaxTimestampMs)
		if n == len(entries) || newest > entries[n].timeMs {
			return c.take(corrupt(name, int64(n)*timeEntrySize, "offset %d has time %d, which is later than the index says", h.BaseOffset, newest))
		}
	}
	return nil
}
