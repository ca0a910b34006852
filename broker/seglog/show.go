package seglog

import "bytes"

// The functions of this file take apart files of a partition for people who look at them. They read bytes, know of no log, and never panic.

// Flaw is a place in a file that is not as a log writes it.
type Flaw struct {
	Pos  int64 // byte in the file
	What string
	// Note marks what an unclean stop, or a write under way, leaves: no damage.
	Note bool
}

// IndexSlot is one slot of a .rix file.
type IndexSlot struct {
	Pos     int64 // in the .rix file
	Index   uint64
	Entries uint32 // 1, more for a hole
	Term    uint32
	Kind    Kind
	Offset  int64  // of its first record; of the next record for an entry without any
	Count   uint32 // offsets taken
	At      uint32 // byte in .log for a batch, in .rix.data for others
	Size    uint32
}

// IndexFile is what a .rix file says.
type IndexFile struct {
	Base       int64
	FirstIndex uint64
	PrevTerm   uint32 // of the entry before the first
	CreatedMs  int64  // 0 when unknown
	Compacted  bool
	Slots      []IndexSlot
	Sealed     bool // the trailer is there; what follows is from it
	LogSize    int64
	DataSize   int64
	Next       int64
	MinTimeMs  int64
	MaxTimeMs  int64
}

// ShowIndex reads the bytes of a .rix file. A flaw at byte 0 is that nothing could be read.
func ShowIndex(b []byte) (x IndexFile, flaws []Flaw) {
	head, err := parseRixHead(b)
	if err != nil {
		return x, []Flaw{{What: err.Error()}}
	}
	x = IndexFile{Base: head.base, FirstIndex: head.firstIndex, PrevTerm: head.prevTerm, CreatedMs: head.createdMs, Compacted: head.compacted}
	end := len(b)
	var sum summary
	if at := len(b) - rixTrailerSize; at >= rixHeaderSize {
		if sum, x.Sealed = parseSummary(b[at:]); x.Sealed {
			end = at
			x.LogSize, x.DataSize, x.Next, x.MinTimeMs, x.MaxTimeMs = sum.logSize, sum.dataSize, sum.next, sum.minTimeMs, sum.maxTimeMs
		}
	}
	size, parse := int(head.slotSize()), parseSlot
	if head.compacted {
		parse = parseCompactedSlot
	}
	sound := 0 // flaws before the last whole slot
	for n, at := 0, rixHeaderSize; at < end; n, at = n+1, at+size {
		if len(bytes.TrimLeft(b[at:end], "\x00")) == 0 && !x.Sealed {
			break
		}
		s, ok := slot{}, false
		if at+size <= end {
			s, ok = parse(b[at:at+size], n)
		}
		if !ok {
			flaws = append(flaws, Flaw{Pos: int64(at), What: "not a whole slot"})
			continue
		}
		sound = len(flaws)
		x.Slots = append(x.Slots, IndexSlot{
			Pos: int64(at), Index: head.firstIndex + uint64(s.index), Entries: s.entries, Term: s.term, Kind: s.kind,
			Offset: head.base + int64(s.rel), Count: s.count, At: s.pos, Size: s.size,
		})
	}
	if x.Sealed {
		if n := (end - rixHeaderSize) / size; n != sum.slots || checksum(b[rixHeaderSize:end]) != sum.slotsCRC {
			flaws = append(flaws, Flaw{Pos: int64(end), What: "the trailer does not fit the slots"})
		}
		return x, flaws
	}
	for i := sound; i < len(flaws); i++ { // slots are not synced
		flaws[i].Note, flaws[i].What = true, "an unfinished slot at the end"
	}
	return x, flaws
}

// InternalEntry is one record of a .rix.data file: an entry that is no batch.
type InternalEntry struct {
	Pos   int64
	Index uint64
	Term  uint32
	Kind  Kind
	Next  int64 // offset of the next record
	Data  []byte
}

// ShowInternal reads the bytes of a .rix.data file up to the zeros at its end.
func ShowInternal(b []byte) (list []InternalEntry, flaws []Flaw) {
	for at := 0; at < len(b); {
		r, n, ok := parseInternal(b[at:])
		if !ok {
			if len(bytes.TrimLeft(b[at:], "\x00")) > 0 {
				flaws = append(flaws, Flaw{Pos: int64(at), What: "not a whole entry; nothing after it can be told apart"})
			}
			break
		}
		list = append(list, InternalEntry{int64(at), r.index, r.term, r.kind, r.next, r.data})
		at += n
	}
	return list, flaws
}

// TimeEntry says that no record up to and including Offset is later than TimeMs.
type TimeEntry struct{ TimeMs, Offset int64 }

// ShowTimes reads the bytes of the .timeindex file of a segment; ok is false when it is not a growing list.
func ShowTimes(b []byte, base int64) (list []TimeEntry, ok bool) {
	entries, ok := parseTimeIndex(b)
	for _, e := range entries {
		list = append(list, TimeEntry{e.timeMs, base + int64(e.rel)})
	}
	return list, ok
}

// ShowAborted reads the bytes of a .txnindex file up to the first entry that a log can't have written, whose position bad is; -1 when there is none.
func ShowAborted(b []byte) (list []Aborted, bad int64) {
	for at := 0; at < len(b); at += abortedSize {
		one, ok := parseAborted(b[at:min(at+abortedSize, len(b))])
		if !ok || len(list) > 0 && one[0].LastOffset <= list[len(list)-1].LastOffset {
			return list, int64(at)
		}
		list = append(list, one...)
	}
	return list, -1
}

// MetaSlot is one of the two copies in the file meta.
type MetaSlot struct {
	Pos      int64
	Sequence uint64
	Anchor   Anchor
	LogStart int64
	// CutIndex is the entry from which on a removal has begun, 0 when none has.
	CutIndex uint64
	// Swapping says that a replacement of the segments from SwapFirst to SwapLast has begun.
	Swapping            bool
	SwapFirst, SwapLast int64
}

// ShowMeta reads the bytes of the file meta: its whole copies, and what is wrong with others.
func ShowMeta(b []byte) (list []MetaSlot, flaws []Flaw) {
	for i := range 2 {
		at := min(i*metaSlotSize, len(b))
		m, ok := parseMeta(b[at:min(at+metaSlotSize, len(b))])
		if !ok {
			flaws = append(flaws, Flaw{Pos: int64(at), What: "this copy is not whole"})
			continue
		}
		list = append(list, MetaSlot{
			Pos: int64(at), Sequence: m.seq, Anchor: m.anchor, LogStart: m.logStart, CutIndex: m.cut.index,
			Swapping: m.swap.on, SwapFirst: m.swap.first, SwapLast: m.swap.last,
		})
	}
	return list, flaws
}
