package seglog

import (
	"encoding/binary"
	"sort"

	"github.com/weir-analytics/weir/broker/record"
)

// timeIndex finds the first batch that may hold a record at or after a time.
// Its entries grow in both fields: no record up to and including the offset is
// later than the time. On disk it has the form of Kafka's .timeindex file,
// 12 bytes an entry, written when a segment is sealed; it can be rebuilt.
type timeIndex struct {
	entries []timeEntry
	maxMs   int64
	last    int64 // offset up to which maxMs holds
	bytes   int64 // of batches since the last entry
}

type timeEntry struct {
	timeMs int64
	rel    uint32 // offset minus the segment's base
}

const (
	timeEntrySize = 12
	// timeIndexBytes is how many bytes of batches share one entry: a lookup
	// reads at most that many headers' worth of log. A guess that keeps the
	// index of a 128 MiB segment under 64 KiB.
	timeIndexBytes = 32 << 10
)

func newTimeIndex() *timeIndex { return &timeIndex{maxMs: record.NoTimestamp} }

// add takes the next batch into account; rel is the last offset of the batch
// minus the segment's base.
func (t *timeIndex) add(maxMs int64, rel uint32, size int) {
	if t.bytes >= timeIndexBytes {
		t.flush()
	}
	t.maxMs = max(t.maxMs, maxMs)
	t.last = int64(rel)
	t.bytes += int64(size)
}

func (t *timeIndex) flush() {
	if t.bytes > 0 {
		t.entries = append(t.entries, timeEntry{t.maxMs, uint32(t.last)})
		t.bytes = 0
	}
}

// after returns the offset, minus the segment's base, from which on a record
// at or after ms can be: everything before is earlier.
func after(entries []timeEntry, ms int64) uint32 {
	i := sort.Search(len(entries), func(i int) bool { return entries[i].timeMs >= ms })
	if i == 0 {
		return 0
	}
	return entries[i-1].rel + 1
}

func encodeTimeIndex(entries []timeEntry) []byte {
	b := make([]byte, 0, len(entries)*timeEntrySize)
	for _, e := range entries {
		b = binary.BigEndian.AppendUint64(b, uint64(e.timeMs))
		b = binary.BigEndian.AppendUint32(b, e.rel)
	}
	return b
}

// parseTimeIndex returns ok=false for a file that is not a growing list, in
// which case it is not used.
func parseTimeIndex(b []byte) (entries []timeEntry, ok bool) {
	if len(b)%timeEntrySize != 0 {
		return nil, false
	}
	for ; len(b) > 0; b = b[timeEntrySize:] {
		e := timeEntry{int64(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint32(b[8:])}
		if n := len(entries); n > 0 && (e.timeMs < entries[n-1].timeMs || e.rel <= entries[n-1].rel) {
			return nil, false
		}
		entries = append(entries, e)
	}
	return entries, true
}
