package ingest

import (
	"slices"
	"strconv"
	"sync"

	"github.com/weir-analytics/weir/ingest/hit"
)

// batch holds encoded hits of one partition on their way to the log.
type batch struct {
	buf     []byte // values, one behind the other
	entries []entry
	done    chan struct{} // closed once what follows is final
	err     error         // nil: committed
	part    int32         // partition it was written to
	next    int64         // offset behind its last record
	counted int           // bytes of buf that the queue counts; guarded by partition.mu while the batch is filled
}

// entry is one hit in buf: it ends at end and starts where the one before it ends.
type entry struct {
	end    int
	ms     int64
	site   uint32
	source origin
	bot    bool
	alone  bool // nobody waits for it: when it is not written, the queue counts it as lost
}

// spare holds buffers of written batches for reuse.
var spare = sync.Pool{New: func() any { return new(batch) }}

func newBatch() *batch {
	b := spare.Get().(*batch)
	return &batch{buf: b.buf[:0], entries: b.entries[:0], done: make(chan struct{})}
}

// release gives the buffers back. The batch itself stays readable for those who wait for done.
func (b *batch) release() {
	const tooLarge = 4 << 20 // a buffer grown by one giant batch is not worth keeping
	if cap(b.buf) <= tooLarge {
		spare.Put(&batch{buf: b.buf, entries: b.entries})
	}
	b.buf, b.entries = nil, nil
}

// add encodes a hit.
func (b *batch) add(h *hit.Hit, from origin, alone bool) {
	b.buf = hit.Append(b.buf, h)
	b.entries = append(b.entries, entry{end: len(b.buf), site: h.SiteID, ms: h.ReceivedMs, source: from, bot: h.Bot, alone: alone})
}

// recordSpace is what records needs; the run loop of a partition keeps it from batch to batch.
type recordSpace struct {
	records []Record
	keys    []byte
}

// records views the batch as records for the log; keys are the sites' numbers in decimal. They last until the next call with this space.
func (b *batch) records(space *recordSpace) []Record {
	records, keys := space.records[:0], slices.Grow(space.keys[:0], 10*len(b.entries)) // enough, so that keys stay where they are
	start := 0
	var lastSite uint32
	var lastKey []byte
	for _, e := range b.entries {
		if lastKey == nil || e.site != lastSite {
			from := len(keys)
			keys = strconv.AppendUint(keys, uint64(e.site), 10)
			lastSite, lastKey = e.site, keys[from:len(keys):len(keys)]
		}
		records = append(records, Record{Key: lastKey, Value: b.buf[start:e.end:e.end], TimestampMs: e.ms})
		start = e.end
	}
	space.records, space.keys = records, keys
	return records
}
