package seglog

import (
	"errors"
	"fmt"
	"io"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/vfs"
)

// recover rebuilds a segment that has no trailer by reading through its files.
//
// A slot in the index file is written after its entry was synced, so a slot
// whose entry is not whole means damage. What is whole but has no slot was
// written and perhaps never acknowledged: it stays, as raft allows. What follows
// the last whole entry is an unfinished write and goes.
//
// The bytes of such an entry are written once more: when the write failed in
// this life of the system, what is read here may be in memory only, marked as
// written by the sync that failed.
func (l *Log) recover(s *segment, f *files) error {
	sure, err := s.rebuild(f)
	if err != nil {
		return err
	}
	if err := s.rewriteFrom(sure, f); err != nil {
		return err
	}
	dropped, err := trim(f.log, s.sum.logSize)
	if err != nil {
		return err
	}
	droppedData, err := trim(f.data, s.sum.dataSize)
	if err != nil {
		return err
	}
	if err := s.rewriteSlots(f.rix); err != nil {
		return err
	}
	if err := l.cfg.FS.SyncDir(l.cfg.Dir); err != nil { // the segment's making may have been cut short before its names were durable
		return fmt.Errorf("recover segment: %w", err)
	}
	s.filled = s.sum.logSize
	l.activate(s, f)
	l.cfg.OnEvent(Recovered{
		Base: s.head.base, LastIndex: s.lastIndex(), NextOffset: s.sum.next, DroppedBytes: dropped + droppedData,
	})
	return nil
}

// rebuild reads a segment through and makes slots and summary anew, without
// changing its files. It returns how many of the entries had a slot.
func (s *segment) rebuild(f *files) (sure int, err error) {
	acked, err := readAckedSlots(f.rix)
	if err != nil {
		return 0, err
	}
	internal, err := readInternal(f.data)
	if err != nil {
		return 0, err
	}
	batches, err := scanBatches(f.log, s.head, holeEnds(internal))
	if err != nil {
		return 0, err
	}
	s.sum = newSegment(s.fs, "", s.head).sum
	s.mem, s.times = []slot{}, newTimeIndex()
	s.merge(internal, batches)
	return len(acked), s.compare(acked)
}

// rewriteFrom writes the entries from slot n on to where they are.
func (s *segment) rewriteFrom(n int, f *files) error {
	for _, sl := range s.mem[n:] {
		to, size := f.log, int64(sl.size)
		if !sl.batch() {
			to, size = f.data, recordHeader+int64(sl.size)
		}
		b := make([]byte, size)
		if read, err := to.ReadAt(b, int64(sl.pos)); err != nil && !(errors.Is(err, io.EOF) && read == len(b)) {
			return fmt.Errorf("read segment: %w", err)
		}
		if _, err := to.WriteAt(b, int64(sl.pos)); err != nil {
			return fmt.Errorf("write again what may not be on disk: %w", err)
		}
	}
	return nil
}

// readAckedSlots reads slots up to the first that is not whole.
func readAckedSlots(f vfs.File) ([]slot, error) {
	b, err := readAll(f)
	if err != nil {
		return nil, err
	}
	var out []slot
	for b = b[min(rixHeaderSize, len(b)):]; ; b = b[slotSize:] {
		s, ok := parseSlot(b, len(out))
		if !ok {
			return out, nil
		}
		out = append(out, s)
	}
}

func readAll(f vfs.File) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("read segment: %w", err)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); err != nil && !(errors.Is(err, io.EOF) && n == len(b)) {
		return nil, fmt.Errorf("read segment: %w", err)
	}
	return b, nil
}

func readInternal(f vfs.File) ([]internalRecord, error) {
	b, err := readAll(f)
	if err != nil {
		return nil, err
	}
	var out []internalRecord
	for {
		r, n, ok := parseInternal(b)
		if !ok {
			return out, nil
		}
		out = append(out, r)
		b = b[n:]
	}
}

// batchPlace is a batch found by reading through a .log file.
type batchPlace struct {
	pos  int64
	size int
	head record.Batch
}

// holeEnds are the offsets at which batches may go on after a gap.
func holeEnds(internal []internalRecord) map[int64]bool {
	ends := map[int64]bool{}
	for _, r := range internal {
		if end, ok := HoleEnd(r.data); ok && r.kind == KindHole {
			ends[end] = true
		}
	}
	return ends
}

// scanBatches reads whole batches of one term, dense but for holes, from the
// start of a .log file and stops at anything else.
func scanBatches(f vfs.File, h rixHead, holes map[int64]bool) ([]batchPlace, error) {
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("read segment: %w", err)
	}
	var out []batchPlace
	r := window{f: f, size: size}
	next, term := h.base, int32(-1)
	for pos := int64(0); ; {
		head, err := r.bytes(pos, record.HeaderSize)
		if head == nil || err != nil {
			return out, err
		}
		n, ok := record.Size(head)
		if !ok || head[16] != 2 {
			return out, nil
		}
		b, err := r.bytes(pos, n)
		if b == nil || err != nil {
			return out, err
		}
		batch, err := record.Check(b)
		if err != nil || batch.BaseOffset != next && !(batch.BaseOffset > next && holes[batch.BaseOffset]) || batch.LeaderEpoch < int32(h.prevTerm) ||
			term >= 0 && batch.LeaderEpoch != term {
			return out, nil
		}
		batch.Raw = nil
		out = append(out, batchPlace{pos, n, batch})
		next, term = batch.NextOffset(), batch.LeaderEpoch
		pos += int64(n)
	}
}

// window reads a file from front to end in large pieces.
type window struct {
	f    vfs.File
	size int64
	pos  int64 // of buf[0]
	buf  []byte
}

const windowBytes = 1 << 20

// bytes returns n bytes at pos, or nil when the file is shorter.
func (w *window) bytes(pos int64, n int) ([]byte, error) {
	if pos+int64(n) > w.size {
		return nil, nil
	}
	if pos < w.pos || pos+int64(n) > w.pos+int64(len(w.buf)) {
		want := int(min(int64(max(n, windowBytes)), w.size-pos))
		if cap(w.buf) < want {
			w.buf = make([]byte, want)
		}
		w.buf, w.pos = w.buf[:want], pos
		if got, err := w.f.ReadAt(w.buf, pos); err != nil && !(errors.Is(err, io.EOF) && got == want) {
			return nil, fmt.Errorf("read segment: %w", err)
		}
	}
	at := pos - w.pos
	return w.buf[at : at+int64(n)], nil
}

// merge puts internal entries and batches back in order. An internal entry
// carries its index, batches fill the places between, one entry each. It stops
// where an entry is missing.
func (s *segment) merge(internal []internalRecord, batches []batchPlace) {
	index := s.head.firstIndex
	for {
		switch {
		case len(internal) > 0 && internal[0].index == index:
			r := internal[0]
			if r.next != s.sum.next || r.term < s.sum.lastTerm {
				return
			}
			s.mem = append(s.mem, slot{
				term: r.term, kind: r.kind, pos: uint32(s.sum.dataSize), size: uint32(len(r.data)),
				rel: uint32(r.next - s.head.base), index: uint32(len(s.mem)), entries: 1,
			})
			if r.kind == KindHole && !s.passHole(r) {
				s.mem = s.mem[:len(s.mem)-1]
				return
			}
			s.sum.dataSize += recordHeader + int64(len(r.data))
			s.sum.lastTerm = r.term
			internal = internal[1:]
		case len(batches) > 0 && batches[0].head.LeaderEpoch >= int32(s.sum.lastTerm) && batches[0].head.BaseOffset == s.sum.next:
			b := batches[0]
			sl := slot{
				term: uint32(b.head.LeaderEpoch), kind: KindBatch, pos: uint32(b.pos), size: uint32(b.size),
				rel: uint32(b.head.BaseOffset - s.head.base), count: uint32(b.head.LastOffsetDelta) + 1,
				index: uint32(len(s.mem)), entries: 1,
			}
			s.mem = append(s.mem, sl)
			s.count(sl, b.head)
			s.sum.lastTerm = sl.term
			batches = batches[1:]
		default:
			return
		}
		s.sum.slots++
		index++
	}
}

// passHole takes the offsets of a hole, whose slot was added last.
func (s *segment) passHole(r internalRecord) bool {
	end, ok := HoleEnd(r.data)
	if !ok || end < s.sum.next {
		return false
	}
	s.mem[len(s.mem)-1].count = uint32(end - s.sum.next)
	if end > s.sum.next {
		s.sum.batchTerm, s.sum.next = r.term, end
	}
	return true
}

// compare makes sure that every entry that was acknowledged was found again.
func (s *segment) compare(acked []slot) error {
	for i, want := range acked {
		if i < len(s.mem) && s.mem[i] == want {
			continue
		}
		ext := extLog
		if !want.batch() {
			ext = extData
		}
		return corrupt(s.path+ext, int64(want.pos), "entry %d of term %d, acknowledged with %d bytes, is not there or not whole",
			s.head.firstIndex+uint64(i), want.term, want.size)
	}
	return nil
}

// trim cuts a file to size and makes it durable; it returns how many bytes up
// to the last one that is not zero went.
func trim(f vfs.File, size int64) (dropped int64, err error) {
	have, err := f.Size()
	if err != nil {
		return 0, fmt.Errorf("trim segment: %w", err)
	}
	if have > size {
		if dropped, err = usedBytes(f, size, have); err != nil {
			return 0, err
		}
		if err := f.Truncate(size); err != nil {
			return 0, fmt.Errorf("trim segment: %w", err)
		}
	}
	if err := f.SyncData(); err != nil {
		return 0, fmt.Errorf("trim segment: %w", err)
	}
	return dropped, nil
}

func usedBytes(f vfs.File, from, to int64) (int64, error) {
	used := int64(0)
	buf := make([]byte, 64<<10)
	for at := from; at < to; {
		b := buf[:min(int64(len(buf)), to-at)]
		if n, err := f.ReadAt(b, at); err != nil && !(errors.Is(err, io.EOF) && n == len(b)) {
			return 0, fmt.Errorf("read segment: %w", err)
		}
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] != 0 {
				used = at + int64(i) + 1 - from
				break
			}
		}
		at += int64(len(b))
	}
	return used, nil
}

func (s *segment) rewriteSlots(f vfs.File) error {
	b := s.head.encode()
	for i, sl := range s.mem {
		b = appendSlot(b, sl, i)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		return fmt.Errorf("rewrite index: %w", err)
	}
	if err := f.Truncate(int64(len(b))); err != nil {
		return fmt.Errorf("rewrite index: %w", err)
	}
	if err := f.SyncData(); err != nil {
		return fmt.Errorf("rewrite index: %w", err)
	}
	return nil
}
