package seglog

import (
	"fmt"
	"sort"

	"github.com/weir-analytics/weir/broker/record"
)

// Entry returns the entry at the index, ErrNotFound outside of the log. Its
// data was checked against its checksum.
func (l *Log) Entry(index uint64) (Entry, error) {
	if e, ok := l.tail.get(index); ok {
		return e, nil
	}
	v, err := l.viewOf(index)
	if err != nil {
		return Entry{}, fmt.Errorf("entry %d: %w", index, err)
	}
	defer v.release()
	n, err := v.slotOf(index)
	if err != nil {
		return Entry{}, err
	}
	e, err := v.entry(n)
	return e.at(index), err
}

// at is the entry at an index out of the run that a hole stands for. The first
// of them takes all offsets of the run.
func (e Entry) at(index uint64) Entry {
	if e.Kind == KindHole && index > e.Index {
		e.Index, e.BaseOffset, e.Count = index, e.BaseOffset+int64(e.Count), 0
	}
	return e
}

// Head is like Entry, but of a batch of records it reads no more than the
// header.
func (l *Log) Head(index uint64) (Entry, error) {
	if e, ok := l.tail.get(index); ok {
		return e, nil
	}
	v, err := l.viewOf(index)
	if err != nil {
		return Entry{}, fmt.Errorf("entry %d: %w", index, err)
	}
	defer v.release()
	n, err := v.slotOf(index)
	if err != nil {
		return Entry{}, err
	}
	e, err := v.headEntry(n)
	return e.at(index), err
}

// viewOf holds the segment of an entry.
func (l *Log) viewOf(index uint64) (*view, error) {
	return l.viewAt(func(segs []*segment) int {
		if index <= l.anchor.Index || index > l.lastIndex {
			return -1
		}
		return sort.Search(len(segs), func(i int) bool { return segs[i].head.firstIndex > index }) - 1
	})
}

// viewAt holds the segment that pick chooses with the lock held; pick returns
// -1 for none.
func (l *Log) viewAt(pick func(segs []*segment) int) (*view, error) {
	for {
		v, retry, err := l.tryView(pick)
		if err != nil || !retry {
			return v, err
		}
	}
}

// tryView asks for another try when the segment was deleted between the
// choice and the opening of its files.
func (l *Log) tryView(pick func(segs []*segment) int) (v *view, retry bool, err error) {
	l.mu.RLock()
	if l.closed {
		l.mu.RUnlock()
		return nil, false, ErrClosed
	}
	i := pick(l.segs)
	if i < 0 {
		l.mu.RUnlock()
		return nil, false, ErrNotFound
	}
	s := l.segs[i]
	v = &view{s: s, sum: s.sum, mem: s.mem, log: l}
	if s.times != nil {
		v.times = s.times.entries
	}
	l.mu.RUnlock()
	v.f, err = l.shared.acquire(s)
	if err == nil {
		return v, false, nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if j := pick(l.segs); j < 0 || l.segs[j] != s {
		return nil, true, nil
	}
	return nil, false, err
}

// Read returns whole batches from the one that holds offset on, as they are in
// the file, up to maxBytes but at least one, and none that reaches limit or
// beyond. It returns nothing when offset is limit. A read ends at the end of a
// segment, and before a batch that is damaged: a reader gets all that is whole
// and meets the damage when it asks for what is damaged. Batches are checked
// against their checksums. Where batches were cleaned away the next one that is
// left is returned; there may be none below the limit. The bytes are the
// caller's, who may give them to record.Recycle.
func (l *Log) Read(offset int64, maxBytes int, limit int64) ([]byte, error) {
	for {
		b, next, err := l.readSegment(offset, maxBytes, limit)
		if err != nil || len(b) > 0 || next <= offset || next >= limit {
			return b, err
		}
		offset = next // nothing is left in that segment
	}
}

// readSegment is Read within one segment; next is the offset after that.
func (l *Log) readSegment(offset int64, maxBytes int, limit int64) (b []byte, next int64, err error) {
	v, err := l.viewAt(func(segs []*segment) int {
		if offset < l.logStart || offset > l.next || offset >= limit {
			return -1
		}
		return segmentOf(segs, offset)
	})
	if err != nil {
		if b := l.Bounds(); offset == limit && offset >= b.LogStart && offset <= b.NextOffset {
			return nil, limit, nil
		}
		if err == ErrNotFound {
			return nil, 0, fmt.Errorf("%w: %d", ErrOffsetRange, offset)
		}
		return nil, 0, err
	}
	defer v.release()
	next = v.sum.next
	from, err := v.find(offset)
	if err != nil {
		return nil, next, err
	}
	batches, err := v.batches(from, maxBytes, limit)
	if err != nil || len(batches) == 0 {
		return nil, next, err
	}
	first, last := batches[0], batches[len(batches)-1]
	b = record.Buffer(int(last.pos + last.size - first.pos))
	if _, err := v.f.log.ReadAt(b, int64(first.pos)); err != nil {
		return nil, next, v.readError(first, err)
	}
	for _, s := range batches {
		at := s.pos - first.pos
		if err := v.checkBatch(s, b[at:][:s.size]); err != nil {
			if at > 0 {
				return b[:at], next, nil
			}
			return nil, next, err
		}
	}
	return b, next, nil
}

// segmentOf returns the segment with the highest base that is not above the
// offset and holds batches, or the last such.
func segmentOf(segs []*segment, offset int64) int {
	return sort.Search(len(segs), func(i int) bool { return segs[i].head.base > offset }) - 1
}

// batches collects the batch slots that a read returns.
func (v *view) batches(from, maxBytes int, limit int64) ([]slot, error) {
	const step = 256
	var out []slot
	for n := from; n < v.sum.slots; n += step {
		slots, err := v.slots(n, min(n+step, v.sum.slots))
		if err != nil && len(out) > 0 {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for _, s := range slots {
			if !s.batch() {
				continue
			}
			if v.s.head.base+int64(s.rel)+int64(s.count) > limit {
				return out, nil
			}
			if len(out) > 0 && int(s.pos+s.size-out[0].pos) > maxBytes {
				return out, nil
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// ForEachHead calls fn with every entry in (fromIndex, toIndex], in order; of
// batches of records the data is the header only.
func (l *Log) ForEachHead(fromIndex, toIndex uint64, fn func(Entry) error) error {
	for index := fromIndex + 1; index <= toIndex; {
		next, err := l.segmentHeads(index, toIndex, fn)
		if err != nil {
			return err
		}
		index = next
	}
	return nil
}

func (l *Log) segmentHeads(index, toIndex uint64, fn func(Entry) error) (next uint64, err error) {
	v, err := l.viewOf(index)
	if err != nil {
		return 0, fmt.Errorf("entry %d: %w", index, err)
	}
	defer v.release()
	n, err := v.slotOf(index)
	if err != nil {
		return 0, err
	}
	for ; n < v.sum.slots && index <= toIndex; n++ {
		s, err := v.slot(n)
		if err != nil {
			return 0, err
		}
		e, err := v.headEntry(n)
		if err != nil {
			return 0, err
		}
		e.Index = min(e.Index+uint64(s.entries)-1, toIndex) // a hole is told once, at its end
		if err := fn(e); err != nil {
			return 0, err
		}
		index = e.Index + 1
	}
	return index, nil
}
