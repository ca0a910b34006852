package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"golang.org/x/sync/semaphore"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
)

// poll is one Fetch request while it is being filled. What was read stays: a wake-up reads on from there.
type poll struct {
	parts    []polled
	room     int // bytes that may still be added
	bytes    int // bytes so far
	minBytes int
	memory   *semaphore.Weighted
	held     int64 // of memory
	broken   bool  // a partition has an error that stays
	// committed leaves out what is in transactions that have not ended.
	committed bool
}

// polled is one partition of a poll.
type polled struct {
	source  Partition // nil when there is no such partition
	key     partitionKey
	epoch   int32 // of the leader as the client knows it, -1 to skip the check
	start   int64 // offset that was asked for
	next    int64 // offset to read on from
	room    int   // bytes that may still be added for this partition
	err     error
	data    [][]byte // whole batches
	bytes   int
	records int

	aborted []replica.Aborted // with records among the data

	highWatermark, lastStable, logStart int64

	unchanged bool // the client knows all this already
}

// fill reads what is there, in the order of the request, and reports whether the answer should go out: enough bytes, an error that the
// client can do something about, or nothing to wait for.
func (p *poll) fill(ctx context.Context) bool {
	failed := len(p.parts) == 0
	for i := range p.parts {
		part := &p.parts[i]
		if part.err == nil {
			part.fill(ctx, p)
		}
		if stays(part.err) {
			p.broken = true
		} else {
			failed = failed || part.err != nil
		}
	}
	return failed || p.bytes >= p.minBytes || p.bytes > 0 && p.room <= 0
}

// limit bounds what is read, and waited for, by what a quota leaves.
func (p *poll) limit(left int) {
	p.room = min(p.room, left)
	p.minBytes = min(p.minBytes, max(p.room, 1))
}

// stays reports whether an error will be the same when the client asks again.
func stays(err error) bool {
	return errors.Is(err, kerr.KafkaStorageError) || errors.Is(err, replica.ErrStopped) || errors.Is(err, replica.ErrCorrupt)
}

// fill reads one range of a partition. The first batch of a poll may be larger than all limits, so that a reader always gets on.
func (part *polled) fill(ctx context.Context, p *poll) {
	if _, err := checkEpoch(part.source, part.epoch); err != nil {
		part.fail(err)
		return
	}
	part.lastStable = part.source.LastStableOffset() // first, so that it is not above the high watermark
	part.highWatermark, part.logStart = part.source.HighWatermark(), part.source.LogStart()
	limit := part.highWatermark
	if p.committed {
		limit = part.lastStable
	}
	room := min(part.room, p.room)
	if part.next >= limit && part.next <= part.highWatermark || room <= 0 && p.bytes > 0 {
		return
	}
	room, ok := p.reserve(ctx, max(room, 1))
	if !ok {
		return
	}
	b, err := part.source.ReadBelow(part.next, room, limit)
	p.settle(room, len(b))
	if err != nil {
		part.fail(err)
		return
	}
	if len(b) == 0 || len(b) > room && p.bytes > 0 {
		return // what was read for nothing stays counted until the answer is written
	}
	if err := part.take(b); err != nil {
		part.fail(err)
		return
	}
	p.bytes += len(b)
	p.room -= len(b)
}

// leastRead is how much of the node's memory for answers a poll waits for when it has nothing yet.
const leastRead = 1 << 20

// reserve takes room bytes of the memory for answers, or less when little is left. A poll that has something already does not wait for
// more, so that none waits while it holds what another waits for.
func (p *poll) reserve(ctx context.Context, room int) (int, bool) {
	for want := room; ; want /= 2 {
		if p.memory.TryAcquire(int64(want)) {
			p.held += int64(want)
			return want, true
		}
		if want <= leastRead {
			break
		}
	}
	if p.held > 0 {
		return 0, false
	}
	room = min(room, leastRead)
	if p.memory.Acquire(ctx, int64(room)) != nil {
		return 0, false
	}
	p.held += int64(room)
	return room, true
}

// settle gives back what a read did not need of what was reserved for it.
func (p *poll) settle(reserved, used int) {
	if spare := int64(reserved - used); spare > 0 {
		p.memory.Release(spare)
		p.held -= spare
	}
}

// release gives back the memory of the answer.
func (p *poll) release() {
	for i := range p.parts {
		for _, b := range p.parts[i].data {
			record.Recycle(b)
		}
		p.parts[i].data = nil
	}
	p.memory.Release(p.held)
	p.held = 0
}

// take adds what was read and finds the offset after it.
func (part *polled) take(b []byte) error {
	for rest := b; len(rest) > 0; {
		batch, err := record.ParseHeader(rest)
		size, ok := record.Size(rest)
		if err != nil || !ok || size > len(rest) {
			return fmt.Errorf("%w: the log gave no whole batch after offset %d: %w", replica.ErrStopped, part.next, err)
		}
		part.records += int(batch.Count)
		part.next = batch.NextOffset()
		rest = rest[size:]
	}
	part.data = append(part.data, b)
	part.bytes += len(b)
	part.room -= len(b)
	return nil
}

// findAborted lists what a reader of committed data has to leave out. Without the list nothing of the partition is answered: records of
// aborted transactions would pass for committed ones.
func (p *poll) findAborted() {
	if !p.committed {
		return
	}
	for i := range p.parts {
		part := &p.parts[i]
		if part.bytes == 0 {
			continue
		}
		var err error
		if part.aborted, err = part.source.AbortedIn(part.start, part.next); err != nil {
			p.bytes -= part.bytes
			part.data, part.bytes, part.records = nil, 0, 0
			part.fail(err)
		}
	}
}

// fail sets the error of the partition, unless something was read already: then the next request will meet it.
func (part *polled) fail(err error) {
	if part.bytes > 0 {
		return
	}
	part.err = err
	part.highWatermark, part.lastStable, part.logStart = -1, -1, -1
	if errors.Is(err, replica.ErrOffsetOutOfRange) {
		part.logStart = part.source.LogStart()
	}
}
