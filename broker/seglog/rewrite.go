package seglog

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/vfs"
)

// extCleaned follows the names of files that may take the place of a segment's.
const extCleaned = ".cleaned"

// Rewritten says what Rewrite has made of some segments.
type Rewritten struct {
	Segments    int
	BytesBefore int64 // of batches
	BytesAfter  int64
}

// Rewrite replaces neighbouring sealed segments, named by their base offsets, by
// one in which each batch is what batch returns for it: itself, another with
// the same offsets and epoch, or nil for none. What is gone becomes a hole: its
// entries keep index and term, its offsets stay taken. All entries must be
// agreed on by the group. The segments must have one term, see Joinable.
//
// Readers go on meanwhile, and retention may take the segments away, in which
// case ErrNotFound is returned. A crash leaves the old segments or the one that
// replaces them. An error that is not ErrFailed left everything as it was.
// Called by one goroutine at a time.
func (l *Log) Rewrite(bases []int64, batch func(b []byte) ([]byte, error)) (Rewritten, error) {
	w, err := l.newRewrite(bases)
	if err != nil {
		return Rewritten{}, err
	}
	err = w.run(batch)
	if err == nil {
		err = l.swap(w)
	}
	if !errors.Is(err, ErrFailed) {
		w.release()
	}
	if err != nil {
		if !errors.Is(err, ErrFailed) {
			err = errors.Join(err, l.removeCleaned())
		}
		return Rewritten{}, fmt.Errorf("rewrite segment %d: %w", bases[0], err)
	}
	r := Rewritten{Segments: len(w.old), BytesAfter: w.made.sum.logSize}
	for _, v := range w.old {
		r.BytesBefore += v.sum.logSize
	}
	return r, nil
}

// Joinable says whether a segment may be rewritten together with those before
// it, of which first is the first and term that of their batches, 0 when they
// have none.
func (g SegmentInfo) Joinable(first int64, term uint32) bool {
	return g.NextOffset-first <= math.MaxInt32 && (term == 0 || g.Term == 0 || g.Term == term)
}

// rewrite is a segment in the making. The old ones are held open, so that their
// readers keep what they have after the files of that name are others.
type rewrite struct {
	l    *Log
	old  []*view
	made *segment

	log, data  cleanedFile
	slots      []byte
	times      *timeIndex
	hole       slot           // the run that goes on, entries 0 for none
	markers    map[int64]bool // offsets of control batches that stay
	transacted []Aborted
}

// cleanedFile gathers what is written one after the other.
type cleanedFile struct {
	f   vfs.File
	buf []byte
	at  int64 // of buf
}

func (c *cleanedFile) write(b []byte) (pos uint32, err error) {
	pos = uint32(c.at + int64(len(c.buf)))
	c.buf = append(c.buf, b...)
	if len(c.buf) >= gatherBytes {
		err = c.flush()
	}
	return pos, err
}

func (c *cleanedFile) flush() error {
	if _, err := c.f.WriteAt(c.buf, c.at); err != nil {
		return err
	}
	c.at += int64(len(c.buf))
	c.buf = c.buf[:0]
	return nil
}

func (l *Log) newRewrite(bases []int64) (*rewrite, error) {
	w := &rewrite{l: l, times: newTimeIndex(), markers: map[int64]bool{}}
	for i, base := range bases {
		v, err := l.viewAt(func(segs []*segment) int {
			if n := segmentOf(segs, base); n >= 0 && segs[n].head.base == base && segs[n].sealed {
				return n
			}
			return -1
		})
		if err == nil && i > 0 && w.old[i-1].sum.next != base {
			v.release()
			err = fmt.Errorf("%w: it does not follow the segment before it", ErrOrder)
		}
		if err != nil {
			w.release()
			return nil, fmt.Errorf("segment %d: %w", base, err)
		}
		w.old = append(w.old, v)
	}
	head := w.old[0].s.head
	head.compacted = true
	w.made = newSegment(l.cfg.FS, l.cfg.Dir, head)
	return w, nil
}

func (w *rewrite) release() {
	for _, v := range w.old {
		v.release()
	}
	w.old = w.old[:0:0]
}

func (w *rewrite) run(batch func(b []byte) ([]byte, error)) (err error) {
	for _, x := range []struct {
		to  *cleanedFile
		ext string
	}{{&w.log, extLog}, {&w.data, extData}} {
		if x.to.f, err = w.l.cfg.FS.Create(w.made.path + x.ext + extCleaned); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, x.to.f.Close()) }()
	}
	for _, v := range w.old {
		if err := w.take(v, batch); err != nil {
			return err
		}
	}
	return w.finish()
}

// take goes through the entries of one of the old segments.
func (w *rewrite) take(v *view, batch func(b []byte) ([]byte, error)) error {
	relOffset := uint32(v.s.head.base - w.made.head.base)
	relIndex := uint32(v.s.head.firstIndex - w.made.head.firstIndex)
	if t := v.sum.batchTerm; t != 0 {
		if w.made.sum.batchTerm != 0 && w.made.sum.batchTerm != t {
			return fmt.Errorf("%w: segments of terms %d and %d can't be one", ErrOrder, w.made.sum.batchTerm, t)
		}
		w.made.sum.batchTerm = t
	}
	const step = 256
	for from := 0; from < v.sum.slots; from += step {
		to := min(from+step, v.sum.slots)
		slots, err := v.slots(from, to)
		if err != nil {
			return err
		}
		for i, s := range slots {
			was := s
			s.rel += relOffset
			s.index += relIndex
			if err := w.entry(v, from+i, was, s, batch); err != nil {
				return err
			}
		}
	}
	w.made.sum.lastTerm, w.made.sum.next = v.sum.lastTerm, v.sum.next
	list, err := w.l.abortedOf(v.s, 0)
	w.transacted = append(w.transacted, list...)
	return err
}

// entry writes what becomes of slot number n, which is s in the segment that is
// made.
func (w *rewrite) entry(v *view, n int, was, s slot, batch func(b []byte) ([]byte, error)) error {
	if s.kind == KindHole {
		return w.addHole(s)
	}
	e, err := v.entry(n)
	if err != nil {
		return err
	}
	if !was.batch() {
		b := appendInternal(nil, internalRecord{e.Index, e.Term, e.Kind, e.BaseOffset, e.Data})
		if s.pos, err = w.data.write(b); err != nil {
			return err
		}
		return w.add(s)
	}
	kept, err := batch(e.Data)
	if err != nil {
		return err
	}
	if kept == nil {
		s.kind, s.pos, s.size = KindHole, 0, 0
		return w.addHole(s)
	}
	h, err := record.Check(kept)
	if err != nil || h.BaseOffset != e.BaseOffset || h.LastOffsetDelta+1 != e.Count || h.LeaderEpoch != int32(e.Term) {
		panic(fmt.Sprintf("BUG: batch at offset %d was rewritten as %+v (%v)", e.BaseOffset, h, err))
	}
	if s.pos, err = w.log.write(kept); err != nil {
		return err
	}
	s.size = uint32(len(kept))
	if h.Control() {
		w.markers[h.BaseOffset] = true
	}
	sum := &w.made.sum
	sum.logSize = int64(s.pos) + int64(s.size)
	sum.addTime(h)
	w.times.add(h.MaxTimestampMs, s.rel+s.count-1, int(s.size))
	return w.add(s)
}

// addHole joins a hole to the one before it, if it is of the same term.
func (w *rewrite) addHole(s slot) error {
	if h := &w.hole; h.entries > 0 && h.term == s.term {
		h.entries += s.entries
		h.count += s.count
		return nil
	}
	w.flushHole()
	w.hole = s
	w.hole.kind, w.hole.pos, w.hole.size = KindHole, 0, 0
	return nil
}

func (w *rewrite) flushHole() {
	if w.hole.entries > 0 {
		w.append(w.hole)
	}
	w.hole = slot{}
}

func (w *rewrite) add(s slot) error {
	w.flushHole()
	w.append(s)
	return nil
}

func (w *rewrite) append(s slot) {
	sum := &w.made.sum
	w.slots = appendCompactedSlot(w.slots, s, sum.slots)
	sum.slots++
	sum.joined += int(s.entries) - 1
}

// finish makes all files of the segment durable under their other names.
func (w *rewrite) finish() error {
	w.flushHole()
	for _, c := range []*cleanedFile{&w.log, &w.data} {
		if err := c.flush(); err != nil {
			return err
		}
		if err := c.f.SyncData(); err != nil {
			return err
		}
	}
	sum := &w.made.sum
	sum.dataSize = w.data.at
	sum.slotsCRC = checksum(w.slots)
	if w.times.bytes > 0 { // the index covers the segment to its end
		w.times.last = sum.next - 1 - w.made.head.base
		w.times.flush()
	}
	index := append(w.made.head.encode(), w.slots...)
	for _, x := range []struct {
		ext string
		b   []byte
	}{{extRix, append(index, sum.encode()...)}, {extTime, encodeTimeIndex(w.times.entries)}} {
		f, err := w.l.cfg.FS.Create(w.made.path + x.ext + extCleaned)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(x.b, 0)
		if err == nil {
			err = f.SyncData()
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return w.l.cfg.FS.SyncDir(w.l.cfg.Dir)
}

// swap puts the segment that was made in the place of the old ones. It is noted
// in meta first: from then on a crash is followed by the rest of it.
func (l *Log) swap(w *rewrite) error {
	l.metaMu.Lock()
	defer l.metaMu.Unlock()
	at, err := l.placeOf(w.old)
	if err != nil {
		return err
	}
	note := swap{first: w.made.head.base, last: w.old[len(w.old)-1].s.head.base, on: true}
	if err := l.replaceFiles(note); err != nil {
		l.mu.Lock()
		l.pins = append(l.pins, w.old...) // their names may be those of other files
		l.mu.Unlock()
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	w.made.sealed = true
	for _, a := range w.transacted {
		if w.markers[a.LastOffset] {
			w.made.aborted.mem = append(w.made.aborted.mem, a)
		}
	}
	l.mu.Lock()
	segs := append([]*segment(nil), l.segs[:at]...)
	segs = append(segs, w.made)
	l.segs = append(segs, l.segs[at+len(w.old):]...)
	l.epochs = epochsOf(l.segs, l.lastTerm, l.next)
	l.mu.Unlock()
	for _, v := range w.old {
		l.shared.forget(v.s, true)
	}
	l.tail.drop(w.made.lastIndex()) // a follower is sent what is kept
	if err := l.meta.writeSwap(swap{}); err != nil {
		l.mu.Lock()
		l.pins = append(l.pins, w.old...)
		l.mu.Unlock()
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return nil
}

// placeOf finds segments that are still those of the log.
func (l *Log) placeOf(old []*view) (at int, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return 0, ErrClosed
	}
	at = segmentOf(l.segs, old[0].s.head.base)
	for i, v := range old {
		if at < 0 || at+i >= len(l.segs) || l.segs[at+i] != v.s {
			return 0, fmt.Errorf("%w: the segment was deleted meanwhile", ErrNotFound)
		}
	}
	return at, nil
}

func (l *Log) replaceFiles(note swap) error {
	if err := l.meta.writeSwap(note); err != nil {
		return err
	}
	return l.carryOut(note)
}

// carryOut gives the files that were made their names. It may be done again.
func (l *Log) carryOut(note swap) error {
	path := l.path(note.first)
	for _, ext := range []string{extLog, extData, extTime, extRix} {
		if err := l.cfg.FS.Rename(path+ext+extCleaned, path+ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replace segment: %w", err)
		}
	}
	if err := l.cfg.FS.Remove(path + extTxn); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace segment: %w", err)
	}
	err := l.removeSegmentFiles(func(base int64) bool { return base > note.first && base <= note.last })
	if err != nil {
		return err
	}
	if err := l.cfg.FS.SyncDir(l.cfg.Dir); err != nil {
		return fmt.Errorf("replace segment: %w", err)
	}
	return nil
}

// finishSwap does at the start what a crash has left undone, and removes what
// was never noted.
func (l *Log) finishSwap() error {
	if note := l.meta.cur.swap; note.on {
		if err := l.carryOut(note); err != nil {
			return err
		}
		if err := l.meta.writeSwap(swap{}); err != nil {
			return err
		}
	}
	return l.removeCleaned()
}

func (l *Log) removeCleaned() error {
	names, err := l.cfg.FS.List(l.cfg.Dir)
	if err != nil {
		return fmt.Errorf("list segments: %w", err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, extCleaned) {
			continue
		}
		if err := l.cfg.FS.Remove(l.cfg.Dir + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an unfinished rewriting: %w", err)
		}
	}
	return nil
}
