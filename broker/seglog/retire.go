package seglog

import (
	"fmt"
	"sort"
	"time"
)

// SetLogStart moves the offset below which nothing is read any more. It never
// moves back or beyond the end. It is kept in memory until Retire or Close, as
// the owner has it in an entry of the log.
func (l *Log) SetLogStart(offset int64) (logStart int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logStart = max(l.logStart, min(offset, l.next))
	return l.logStart
}

// Retire deletes the segments that lie whole below the log start and whose
// entries are all at or below maxIndex. It moves the anchor first; before that
// is durable it calls prepare with the new anchor, so that the owner can store
// what belongs to it. It returns whether something was deleted.
func (l *Log) Retire(maxIndex uint64, prepare func(Anchor) error) (bool, error) {
	l.metaMu.Lock()
	defer l.metaMu.Unlock()
	l.mu.RLock()
	segs, logStart, a, closed := l.segs, l.logStart, l.anchor, l.closed
	l.mu.RUnlock()
	if closed {
		return false, ErrClosed
	}
	n := 0
	for n+1 < len(segs) && segs[n+1].head.base <= logStart && segs[n].lastIndex() <= maxIndex {
		n++
	}
	if n == 0 {
		return false, nil
	}
	next, err := l.anchorBefore(segs[:n], segs[n], a)
	if err != nil {
		return false, err
	}
	if prepare != nil {
		if err := prepare(next); err != nil {
			return false, fmt.Errorf("prepare new log start: %w", err)
		}
	}
	if err := l.meta.write(next, logStart, cut{}); err != nil {
		return false, err
	}
	event := Retired{Anchor: next, Segments: n}
	l.mu.Lock()
	// The end may have moved meanwhile, the beginning only here.
	l.segs = append([]*segment(nil), l.segs[n:]...)
	l.anchor = next
	l.epochs = epochsOf(l.segs, l.lastTerm, l.next)
	l.mu.Unlock()
	for _, s := range segs[:n] {
		event.Bytes += s.sum.logSize
		l.shared.forget(s, true)
	}
	l.tail.drop(next.Index)
	if err := l.removeSegmentFiles(func(base int64) bool { return base < next.NextOffset }); err != nil {
		return true, err
	}
	l.cfg.OnEvent(event)
	return true, nil
}

// anchorBefore makes the anchor for a log that begins with segment first, when
// the segments gone are removed.
func (l *Log) anchorBefore(gone []*segment, first *segment, old Anchor) (Anchor, error) {
	a := Anchor{
		Index: first.head.firstIndex - 1, Term: first.head.prevTerm, NextOffset: first.head.base,
		Config: old.Config, ConfigIndex: old.ConfigIndex,
	}
	for i := len(gone) - 1; i >= 0; i-- {
		e, found, err := l.configIn(gone[i], gone[i].lastIndex())
		if err != nil {
			return Anchor{}, err
		}
		if found {
			a.Config, a.ConfigIndex = e.Data, e.Index
			break
		}
	}
	return a, nil
}

// ConfigAt returns the newest entry of KindConfig at or below index, from the
// log or from the anchor; index 0 of the result means none.
func (l *Log) ConfigAt(index uint64) (data []byte, at uint64, err error) {
	for {
		data, at, err = l.configAt(index)
		if err != ErrNotFound { // a segment was deleted or replaced meanwhile
			return data, at, err
		}
	}
}

func (l *Log) configAt(index uint64) (data []byte, at uint64, err error) {
	l.mu.RLock()
	segs, a := l.segs, l.anchor
	l.mu.RUnlock()
	for i := sort.Search(len(segs), func(i int) bool { return segs[i].head.firstIndex > index }) - 1; i >= 0; i-- {
		e, found, err := l.configIn(segs[i], index)
		if err != nil {
			return nil, 0, err
		}
		if found {
			return e.Data, e.Index, nil
		}
	}
	return a.Config, a.ConfigIndex, nil
}

// configIn looks for the newest entry of KindConfig at or below index in one
// segment of the log.
func (l *Log) configIn(s *segment, index uint64) (Entry, bool, error) {
	v, err := l.viewAt(func(segs []*segment) int {
		for i := range segs {
			if segs[i] == s {
				return i
			}
		}
		return -1
	})
	if err != nil {
		return Entry{}, false, err
	}
	defer v.release()
	if v.sum.dataSize == 0 {
		return Entry{}, false, nil
	}
	slots, err := v.slots(0, v.sum.slots)
	if err != nil {
		return Entry{}, false, err
	}
	for n := len(slots) - 1; n >= 0; n-- {
		if slots[n].kind == KindConfig && s.head.firstIndex+uint64(slots[n].index) <= index {
			e, err := v.entry(n)
			return e, err == nil, err
		}
	}
	return Entry{}, false, nil
}

// Age is how long ago the last segment was begun, by this replica's clock.
func (l *Log) Age() time.Duration {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.cfg.Now().Sub(time.UnixMilli(l.segs[len(l.segs)-1].head.createdMs))
}
