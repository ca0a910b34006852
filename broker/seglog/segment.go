package seglog

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/vfs"
)

// The files of a segment, beside each other under the same name.
const (
	extLog  = ".log"
	extRix  = ".rix"
	extData = ".rix.data"
	extTime = ".timeindex"
	extTxn  = ".txnindex"
)

// segment is a run of entries. All segments but the last are sealed and do not
// change; of the last one the log's lock guards everything that changes.
type segment struct {
	fs   vfs.FS
	path string // without extension
	head rixHead

	sum    summary // kept current in the last segment too
	sealed bool

	aborted abortedIndex // the file's part changes with metaMu held as well

	// Of the last segment only.
	own    *files // held open for writing
	mem    []slot // grows; readers may keep a shorter slice of it
	times  *timeIndex
	filled int64 // bytes of .log that are written, zeros included

	// Guarded by Shared.filesMu.
	files   *files
	removed bool
}

func segmentName(base int64) string { return fmt.Sprintf("%020d", base) }

// parseSegmentName returns the base offset in the name of an index file.
func parseSegmentName(name string) (base int64, ok bool) {
	stem, found := strings.CutSuffix(name, extRix)
	if !found || len(stem) != 20 {
		return 0, false
	}
	base, err := strconv.ParseInt(stem, 10, 64)
	return base, err == nil && base >= 0
}

func (s *segment) lastIndex() uint64 {
	return s.head.firstIndex + uint64(s.sum.slots) + uint64(s.sum.joined) - 1
}

// view is a segment as a reader saw it at one moment, with its files held open.
type view struct {
	s     *segment
	f     *files
	sum   summary
	mem   []slot
	times []timeEntry
	log   *Log
}

func (v *view) release() { v.log.shared.release(v.s, v.f) }

// slot reads slot number n.
func (v *view) slot(n int) (slot, error) {
	if v.mem != nil {
		return v.mem[n], nil
	}
	out, err := v.slots(n, n+1)
	if err != nil {
		return slot{}, err
	}
	return out[0], nil
}

// slotOf returns the number of the slot of an entry of the segment.
func (v *view) slotOf(index uint64) (int, error) {
	rel := uint32(index - v.s.head.firstIndex)
	if !v.s.head.compacted {
		return int(rel), nil
	}
	var err error
	n := sort.Search(v.sum.slots, func(i int) bool {
		if err != nil {
			return true
		}
		var s slot
		s, err = v.slot(i)
		return s.index+s.entries > rel
	})
	if err == nil && n == v.sum.slots {
		err = corrupt(v.s.path+extRix, 0, "no slot for entry %d", index)
	}
	return n, err
}

// slots reads slots [from, to).
func (v *view) slots(from, to int) ([]slot, error) {
	if v.mem != nil {
		return v.mem[from:to], nil
	}
	size := v.s.head.slotSize()
	b := make([]byte, int64(to-from)*size)
	at := rixHeaderSize + int64(from)*size
	if _, err := v.f.rix.ReadAt(b, at); err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	parse := parseSlot
	if v.s.head.compacted {
		parse = parseCompactedSlot
	}
	out := make([]slot, to-from)
	for i := range out {
		s, ok := parse(b[int64(i)*size:], from+i)
		if !ok {
			return nil, corrupt(v.s.path+extRix, at, "slot %d has a wrong checksum", from+i)
		}
		out[i] = s
	}
	return out, nil
}

// find returns the number of the batch slot that holds the offset, or of the
// first batch after it, or sum.slots when there is none.
func (v *view) find(offset int64) (int, error) {
	rel := offset - v.s.head.base
	var err error
	n := sort.Search(v.sum.slots, func(i int) bool {
		if err != nil {
			return true
		}
		var s slot
		s, err = v.slot(i)
		return int64(s.rel)+int64(s.count) > rel
	})
	for err == nil && n < v.sum.slots {
		var s slot
		if s, err = v.slot(n); err == nil && s.batch() {
			break
		}
		n++
	}
	return n, err
}

// headEntry reads slot number n; of a batch of records only the header, a
// control batch whole.
func (v *view) headEntry(n int) (Entry, error) {
	s, err := v.slot(n)
	if err != nil {
		return Entry{}, err
	}
	if !s.batch() {
		return v.entry(n)
	}
	e := Entry{
		Index: v.s.head.firstIndex + uint64(s.index), Term: s.term, Kind: s.kind, Data: make([]byte, record.HeaderSize),
		BaseOffset: v.s.head.base + int64(s.rel), Count: int32(s.count),
	}
	h, err := v.readHead(s, e.Data)
	if err == nil && h.Control() {
		return v.entry(n)
	}
	return e, err
}

// batchHead reads only the header of a batch.
func (v *view) batchHead(s slot) (record.Batch, error) {
	var b [record.HeaderSize]byte
	return v.readHead(s, b[:])
}

func (v *view) readHead(s slot, b []byte) (record.Batch, error) {
	if _, err := v.f.log.ReadAt(b, int64(s.pos)); err != nil {
		return record.Batch{}, v.readError(s, err)
	}
	h, err := record.ParseHeader(b)
	if err != nil || h.BaseOffset != v.s.head.base+int64(s.rel) {
		return record.Batch{}, corrupt(v.s.path+extLog, int64(s.pos), "not the batch at offset %d", v.s.head.base+int64(s.rel))
	}
	return h, nil
}

func (v *view) readError(s slot, err error) error {
	if errors.Is(err, io.EOF) {
		return corrupt(v.s.path+extLog, int64(s.pos), "the file ends before the batch of %d bytes", s.size)
	}
	return fmt.Errorf("read segment: %w", err)
}

// entry reads slot number n with its data and checks it.
func (v *view) entry(n int) (Entry, error) {
	s, err := v.slot(n)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{
		Index: v.s.head.firstIndex + uint64(s.index), Term: s.term, Kind: s.kind,
		BaseOffset: v.s.head.base + int64(s.rel), Count: int32(s.count),
	}
	if s.kind == KindHole {
		e.Data = holeData(e.BaseOffset + int64(s.count))
		return e, nil
	}
	if s.batch() {
		e.Data = make([]byte, s.size)
		if _, err := v.f.log.ReadAt(e.Data, int64(s.pos)); err != nil {
			return Entry{}, v.readError(s, err)
		}
		return e, v.checkBatch(s, e.Data)
	}
	b := make([]byte, recordHeader+int(s.size))
	if _, err := v.f.data.ReadAt(b, int64(s.pos)); err != nil && !errors.Is(err, io.EOF) {
		return Entry{}, fmt.Errorf("read segment: %w", err)
	}
	r, _, ok := parseInternal(b)
	if !ok || r.index != e.Index || r.term != e.Term || r.kind != e.Kind {
		return Entry{}, corrupt(v.s.path+extData, int64(s.pos), "not the internal entry %d", e.Index)
	}
	e.Data = r.data
	return e, nil
}

func (v *view) checkBatch(s slot, b []byte) error {
	h, err := record.Check(b)
	if err != nil {
		return corrupt(v.s.path+extLog, int64(s.pos), "%v", err)
	}
	if want := v.s.head.base + int64(s.rel); h.BaseOffset != want || h.LeaderEpoch != int32(s.term) {
		return corrupt(v.s.path+extLog, int64(s.pos), "batch of offset %d, epoch %d where offset %d, epoch %d was written",
			h.BaseOffset, h.LeaderEpoch, want, s.term)
	}
	return nil
}
