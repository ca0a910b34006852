package seglog

import (
	"math"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/vfs"
)

// OffsetForTime returns the first record below limit whose time is at or after
// ms; ok is false when there is none.
func (l *Log) OffsetForTime(ms, limit int64) (offset, timeMs int64, ok bool, err error) {
	start := l.Bounds().LogStart
	for {
		v, err := l.viewAt(func(segs []*segment) int {
			start = max(start, l.logStart)
			for i, s := range segs {
				if s.sum.next > start && s.sum.maxTimeMs >= ms && s.head.base < limit {
					return i
				}
			}
			return -1
		})
		if err != nil {
			if err == ErrNotFound {
				return 0, 0, false, nil
			}
			return 0, 0, false, err
		}
		end := v.sum.next
		offset, timeMs, ok, err = v.offsetForTime(ms, start, limit)
		v.release()
		if err != nil || ok {
			return offset, timeMs, ok, err
		}
		start = end // what was newer lies below the log start or beyond the limit
	}
}

func (v *view) offsetForTime(ms, start, limit int64) (offset, timeMs int64, ok bool, err error) {
	from := max(start, v.s.head.base+int64(after(v.timeEntries(), ms)))
	n, err := v.find(from)
	if err != nil {
		return 0, 0, false, err
	}
	for ; n < v.sum.slots; n++ {
		s, err := v.slot(n)
		if err != nil {
			return 0, 0, false, err
		}
		if !s.batch() {
			continue
		}
		if v.s.head.base+int64(s.rel)+int64(s.count) > limit {
			break
		}
		h, err := v.batchHead(s)
		if err != nil {
			return 0, 0, false, err
		}
		if h.MaxTimestampMs < ms {
			continue
		}
		offset, timeMs, ok, err = v.inBatch(n, start, func(t int64) bool { return t >= ms })
		if ok || err != nil {
			return offset, timeMs, ok, err
		}
	}
	return 0, 0, false, nil
}

// timeEntries returns the index by time, which for a sealed segment is read
// from its file; without a usable file the whole segment is searched.
func (v *view) timeEntries() []timeEntry {
	if v.mem != nil {
		return v.times
	}
	b, err := vfs.ReadFile(v.s.fs, v.s.path+extTime, 64<<20)
	if err != nil {
		return nil
	}
	entries, ok := parseTimeIndex(b)
	if !ok || len(entries) == 0 {
		return nil
	}
	last := entries[len(entries)-1]
	if int64(last.rel) != v.sum.next-1-v.s.head.base || last.timeMs != v.sum.maxTimeMs {
		return nil // left behind by an earlier life of the segment
	}
	return entries
}

// inBatch unpacks the batch in slot n and returns its first record from start
// on whose time is accepted.
func (v *view) inBatch(n int, start int64, accept func(timeMs int64) bool) (offset, timeMs int64, ok bool, err error) {
	e, err := v.entry(n)
	if err != nil {
		return 0, 0, false, err
	}
	err = record.ForEach(e.Data, func(r record.Record) error {
		if o := e.BaseOffset + int64(r.OffsetDelta); !ok && o >= start && accept(r.TimestampMs) {
			offset, timeMs, ok = o, r.TimestampMs, true
		}
		return nil
	})
	if err != nil {
		return 0, 0, false, err
	}
	return offset, timeMs, ok, nil
}

// MaxTimestamp returns the record below limit with the largest time, the first
// of several; ok is false when no record carries a time.
func (l *Log) MaxTimestamp(limit int64) (offset, timeMs int64, ok bool, err error) {
	b := l.Bounds()
	newest := int64(math.MinInt64)
	// The newest time below the limit: usually that of a whole segment.
	err = l.forEachBatchHead(b.LogStart, limit, func(h record.Batch) { newest = max(newest, h.MaxTimestampMs) })
	if err != nil || newest < 0 {
		return 0, 0, false, err
	}
	return l.OffsetForTime(newest, limit)
}

// forEachBatchHead visits segments whole by their summary where possible.
func (l *Log) forEachBatchHead(start, limit int64, fn func(record.Batch)) error {
	for start < limit {
		v, err := l.viewAt(func(segs []*segment) int {
			start = max(start, l.logStart)
			if start >= min(limit, l.next) {
				return -1
			}
			return segmentOf(segs, start)
		})
		if err == ErrNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if v.s.head.base >= start && v.sum.next <= limit {
			fn(record.Batch{MaxTimestampMs: v.sum.maxTimeMs})
		} else if err := v.batchHeads(start, limit, func(h record.Batch, _ int) { fn(h) }); err != nil {
			v.release()
			return err
		}
		start = max(start+1, v.sum.next)
		v.release()
	}
	return nil
}

// ForEachBatch calls fn with the header and the size in bytes of every batch that
// lies whole in [start, limit).
func (l *Log) ForEachBatch(start, limit int64, fn func(h record.Batch, size int)) error {
	for start < limit {
		v, err := l.viewAt(func(segs []*segment) int {
			start = max(start, l.logStart)
			if start >= min(limit, l.next) {
				return -1
			}
			return segmentOf(segs, start)
		})
		if err == ErrNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		err = v.batchHeads(start, limit, fn)
		start = max(start+1, v.sum.next)
		v.release()
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *view) batchHeads(start, limit int64, fn func(h record.Batch, size int)) error {
	n, err := v.find(start)
	if err != nil {
		return err
	}
	for ; n < v.sum.slots; n++ {
		s, err := v.slot(n)
		if err != nil {
			return err
		}
		if !s.batch() {
			continue
		}
		if v.s.head.base+int64(s.rel)+int64(s.count) > limit {
			return nil
		}
		h, err := v.batchHead(s)
		if err != nil {
			return err
		}
		fn(h, int(s.size))
	}
	return nil
}
