package seglog

import (
	"fmt"
	"math"

	"github.com/weir-analytics/weir/broker/record"
)

const (
	// gatherBytes is up to how much one write gathers from many batches; larger
	// batches are written as they are.
	gatherBytes = 1 << 20

	// Zeros are written ahead of the tail so that a later fdatasync has no
	// metadata to write: twice as fast, measured. The step grows with the
	// segment, so that small partitions stay small on disk.
	minFillBytes  = 64 << 10
	maxFillBytes  = 8 << 20
	dataFillBytes = 4 << 10
)

var zeros [256 << 10]byte

// Append adds entries at the end and syncs once. Indexes must follow each other
// and the last one of the log, terms must not go back and fit Kafka's int32.
//
// A batch whose leader epoch is -1 is new: it gets the next offsets and the
// entry's term as its epoch, both written into its Data. Any other batch comes
// from a leader and must have exactly the next offset and the entry's term.
//
// On an error nothing was added, except for ErrFailed: then it is unknown until
// the log has been opened again. Append keeps Data.
func (l *Log) Append(entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	l.wmu.Lock()
	defer l.wmu.Unlock()
	if err := l.writable(); err != nil {
		return err
	}
	if err := l.place(entries); err != nil {
		return err
	}
	before := l.lastIndex
	for rest := entries; len(rest) > 0; {
		n, err := l.appendRun(rest)
		if err != nil {
			if l.failed == nil && l.lastIndex > before {
				if undoErr := l.truncate(before + 1); undoErr != nil {
					return l.fail(undoErr)
				}
			}
			return err
		}
		rest = rest[n:]
	}
	if !l.noTail.Load() {
		l.shared.add(&l.tail, entries)
	}
	return nil
}

// place checks that the entries continue the log and gives batches their place.
func (l *Log) place(entries []Entry) error {
	index, term, next := l.lastIndex, l.lastTerm, l.next
	for i := range entries {
		e := &entries[i]
		index++
		if e.Index != index {
			return fmt.Errorf("%w: index %d where %d is next", ErrOrder, e.Index, index)
		}
		if e.Term < term || e.Term > math.MaxInt32 {
			return fmt.Errorf("%w: term %d after term %d", ErrOrder, e.Term, term)
		}
		term = e.Term
		e.BaseOffset, e.Count = next, 0
		if e.Kind == KindHole {
			end, ok := HoleEnd(e.Data)
			if !ok || end < next || end-next > math.MaxInt32 {
				return fmt.Errorf("%w: entry %d is a hole up to offset %d where %d is next", ErrOrder, e.Index, end, next)
			}
			e.Count = int32(end - next)
			next = end
			continue
		}
		if e.Kind != KindBatch {
			continue
		}
		h, rest, err := record.Parse(e.Data)
		if err != nil {
			return fmt.Errorf("append entry %d: %w", e.Index, err)
		}
		if len(rest) != 0 {
			return fmt.Errorf("%w: entry %d has %d bytes after its batch", ErrOrder, e.Index, len(rest))
		}
		if h.LeaderEpoch == -1 {
			record.SetPlace(e.Data, next, int32(term))
		} else if h.BaseOffset != next || h.LeaderEpoch != int32(term) {
			return fmt.Errorf("%w: entry %d is a batch of offset %d, epoch %d where offset %d, epoch %d is next",
				ErrOrder, e.Index, h.BaseOffset, h.LeaderEpoch, next, term)
		}
		e.Count = h.LastOffsetDelta + 1
		next += int64(e.Count)
	}
	return nil
}

// appendRun writes as many entries as go into one segment and returns their
// number: all of them, unless the term changes between two batches.
func (l *Log) appendRun(entries []Entry) (n int, err error) {
	batchTerm, logBytes := uint32(0), int64(0)
	for n < len(entries) {
		if e := &entries[n]; e.Kind == KindBatch || e.Count > 0 {
			if batchTerm != 0 && batchTerm != e.Term {
				break
			}
			batchTerm = e.Term
			if e.Kind == KindBatch {
				logBytes += int64(len(e.Data))
			}
		}
		n++
	}
	s := l.active()
	offsets := entries[n-1].BaseOffset + int64(entries[n-1].Count) - s.head.base
	full := s.sum.batchTerm != 0 && (logBytes > 0 && s.sum.logSize > 0 && s.sum.logSize+logBytes > l.segmentBytes.Load() ||
		offsets > l.maxOffsets.Load())
	otherTerm := batchTerm != 0 && s.sum.batchTerm != 0 && batchTerm != s.sum.batchTerm
	if s.sealed || full || otherTerm {
		if err := l.roll(); err != nil {
			return 0, err
		}
		s = l.active()
	}
	w := write{l: l, s: s, sum: s.sum}
	if err := w.do(entries[:n]); err != nil {
		return 0, w.undo(err)
	}
	l.publish(s, &w, entries[:n])
	return n, nil
}

// publish lets readers see what is durable.
func (l *Log) publish(s *segment, w *write, entries []Entry) {
	last := &entries[len(entries)-1]
	l.mu.Lock()
	defer l.mu.Unlock()
	s.sum = w.sum
	s.mem = append(s.mem, w.slots...)
	for i, t := range w.maxTimes {
		sl := w.slots[i]
		if sl.batch() {
			s.times.add(t, sl.rel+sl.count-1, int(sl.size))
		}
	}
	for i := range entries {
		l.epochs = noteEpoch(l.epochs, entries[i].Term, entries[i].BaseOffset)
	}
	l.lastIndex, l.lastTerm = last.Index, last.Term
	l.next = last.BaseOffset + int64(last.Count)
}

// write is one run of entries on its way into a segment.
type write struct {
	l        *Log
	s        *segment
	sum      summary // of the segment once the run is in
	slots    []slot
	maxTimes []int64 // of each slot's records
	touched  bool    // something was written
	lost     bool    // a sync has failed: nothing can be said about the disk
}

// do writes the run. The order matters for recovery: internal entries are
// durable before the batches are written, so that a batch can't take the index
// of an internal entry that got lost; slots come last, so that a slot says
// that its entry was acknowledged.
func (w *write) do(entries []Entry) error {
	w.slots = make([]slot, 0, len(entries))
	w.maxTimes = make([]int64, 0, len(entries))
	var internal []byte
	logPos := w.sum.logSize
	for i := range entries {
		e := &entries[i]
		sl := slot{
			term: e.Term, kind: e.Kind, rel: uint32(e.BaseOffset - w.s.head.base), size: uint32(len(e.Data)), count: uint32(e.Count),
			index: uint32(w.s.sum.slots + i), entries: 1,
		}
		newest := record.NoTimestamp
		if sl.batch() {
			sl.pos = uint32(w.sum.logSize)
			newest = w.countBatch(e)
		} else {
			sl.pos = uint32(w.sum.dataSize)
			if e.Count > 0 {
				w.sum.batchTerm, w.sum.next = e.Term, e.BaseOffset+int64(e.Count)
			}
			at := len(internal)
			internal = appendInternal(internal, internalRecord{e.Index, e.Term, e.Kind, e.BaseOffset, e.Data})
			w.sum.dataSize += int64(len(internal) - at)
		}
		w.slots = append(w.slots, sl)
		w.maxTimes = append(w.maxTimes, newest)
		w.sum.lastTerm = e.Term
	}
	w.sum.slots += len(entries)
	if err := w.writeInternal(internal); err != nil {
		return err
	}
	if err := w.writeBatches(entries, logPos); err != nil {
		return err
	}
	return w.writeSlots()
}

// countBatch adds a batch to the summary and returns its newest time.
func (w *write) countBatch(e *Entry) int64 {
	h, err := record.ParseHeader(e.Data)
	if err != nil {
		panic("BUG: place let a bad batch through: " + err.Error())
	}
	w.sum.logSize += int64(len(e.Data))
	w.sum.batchTerm = e.Term
	w.sum.next = e.BaseOffset + int64(e.Count)
	w.sum.addTime(h)
	return h.MaxTimestampMs
}

func (s *summary) addTime(h record.Batch) {
	oldest := h.BaseTimestampMs
	if _, cleaned := h.DeleteHorizonMs(); cleaned || h.LogAppendTime() {
		oldest = h.MaxTimestampMs
	}
	if oldest >= 0 && (s.minTimeMs < 0 || oldest < s.minTimeMs) {
		s.minTimeMs = oldest
	}
	s.maxTimeMs = max(s.maxTimeMs, h.MaxTimestampMs)
}

func (w *write) writeInternal(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	w.touched = true
	f, at := w.s.own.data, w.s.sum.dataSize
	if room := (at + int64(len(b))) % dataFillBytes; room != 0 { // zeros up to the next step
		b = append(b, zeros[:dataFillBytes-room]...)
	}
	if _, err := f.WriteAt(b, at); err != nil {
		return fmt.Errorf("write internal entries: %w", err)
	}
	return w.sync(f.SyncData())
}

func (w *write) sync(err error) error {
	if err != nil {
		w.lost = true
		return fmt.Errorf("sync segment: %w", err)
	}
	return nil
}

func (w *write) writeBatches(entries []Entry, pos int64) error {
	if w.sum.logSize == pos {
		return nil
	}
	w.touched = true
	pooled := w.l.shared.buffer()
	defer w.l.shared.putBuffer(pooled)
	buf := (*pooled)[:0]
	flush := func(b []byte) error {
		if len(b) == 0 {
			return nil
		}
		if _, err := w.s.own.log.WriteAt(b, pos); err != nil {
			return fmt.Errorf("write batches: %w", err)
		}
		pos += int64(len(b))
		return nil
	}
	for i := range entries {
		if entries[i].Kind != KindBatch {
			continue
		}
		d := entries[i].Data
		if len(buf)+len(d) > gatherBytes {
			if err := flush(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
		if len(d) > gatherBytes/4 && len(buf) == 0 {
			if err := flush(d); err != nil {
				return err
			}
			continue
		}
		buf = append(buf, d...)
	}
	if err := flush(buf); err != nil {
		return err
	}
	*pooled = buf
	w.fill(pos)
	return w.sync(w.s.own.log.SyncData())
}

// fill writes zeros after the new end when it has passed the filled part. They
// only make later syncs faster: on an error there are fewer of them, and what
// is wrong with the disk shows when it is synced.
func (w *write) fill(end int64) {
	if end <= w.s.filled {
		return
	}
	step := min(max(end/4, minFillBytes), maxFillBytes)
	to := min(end+step, max(w.l.cfg.SegmentBytes, end))
	at := end
	for at < to {
		n, err := w.s.own.log.WriteAt(zeros[:min(int64(len(zeros)), to-at)], at)
		at += int64(n)
		if err != nil {
			break
		}
	}
	w.s.filled = at
}

func (w *write) writeSlots() error {
	b := make([]byte, 0, len(w.slots)*slotSize)
	at := rixHeaderSize + int64(w.s.sum.slots)*slotSize
	for i, sl := range w.slots {
		b = appendSlot(b, sl, w.s.sum.slots+i)
	}
	w.touched = true
	if _, err := w.s.own.rix.WriteAt(b, at); err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	return nil
}

// undo takes the files back to where they were. When that fails, or when a
// sync has failed, the log stops: the disk may hold the entries or not.
func (w *write) undo(cause error) error {
	if !w.touched {
		return cause
	}
	s := w.s
	s.filled = s.sum.logSize
	steps := []func() error{
		func() error { return s.own.rix.Truncate(rixHeaderSize + int64(s.sum.slots)*slotSize) },
		func() error { return s.own.log.Truncate(s.sum.logSize) },
		func() error { return s.own.data.Truncate(s.sum.dataSize) },
		s.own.rix.SyncData, s.own.log.SyncData, s.own.data.SyncData,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return w.l.fail(fmt.Errorf("%w (and undoing it: %w)", cause, err))
		}
	}
	if w.lost {
		return w.l.fail(cause)
	}
	return cause
}
