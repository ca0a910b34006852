package replica

import (
	"encoding/binary"
	"fmt"

	"github.com/weir-analytics/weir/broker/record"
)

// window is how many batches a producer may have under way, and so how far
// back a retry is recognised. Kafka's clients keep at most five.
const window = 5

// sent is one batch of a producer.
type sent struct {
	first, last int32 // sequence numbers
	base        int64 // offset
	timeMs      int64 // LogAppendTime, -1 for CreateTime
}

// producer is what is known of one idempotent or transactional producer. Its
// fields but seenMs follow from the log alone, so that replicas agree.
type producer struct {
	epoch  int16
	n      int // of batches in recent; 0 when a marker has begun the epoch
	recent [window]sent
	// last is the offset of its newest batch or marker, lastMs the newest time
	// in it.
	last   int64
	lastMs int64
	// txnStart is the offset of the first record of its open transaction, or
	// noOffset.
	txnStart int64
	// marker is the offset of its newest marker, or noOffset, and
	// coordinatorEpoch what that one says, or noCoordinator.
	marker           int64
	coordinatorEpoch int32
	// seenMs is when this replica last applied a batch of it; the leader
	// forgets the silent by a replicated command.
	seenMs int64
}

const (
	noOffset      int64 = -1
	noCoordinator int32 = -1
)

func newProducer(epoch int16) *producer {
	return &producer{epoch: epoch, txnStart: noOffset, marker: noOffset, coordinatorEpoch: noCoordinator}
}

// enter begins an epoch, if it is another one: its sequence numbers start anew.
func (p *producer) enter(epoch int16) {
	if p.epoch != epoch {
		p.epoch, p.n, p.recent = epoch, 0, [window]sent{}
	}
}

// lastSequence is that of its newest batch in this epoch, noSequence when there
// is none.
func (p *producer) lastSequence() int32 {
	if p.n == 0 {
		return noSequence
	}
	return p.recent[p.n-1].last
}

// noSequence comes before 0, the first of an epoch.
const noSequence int32 = -1

func (p *producer) add(s sent) {
	if p.n == window {
		copy(p.recent[:], p.recent[1:])
		p.n--
	}
	p.recent[p.n] = s
	p.n++
}

func (p *producer) find(first, last int32) *sent {
	for i := range p.n {
		if p.recent[i].first == first && p.recent[i].last == last {
			return &p.recent[i]
		}
	}
	return nil
}

// producers is the committed state of all producers of a partition. Not safe
// for concurrent use.
type producers map[int64]*producer

// of returns a producer, known or not, in the epoch of a batch or marker.
func (t producers) of(h record.Batch, nowMs int64) *producer {
	p := t[h.ProducerID]
	if p == nil {
		p = newProducer(h.ProducerEpoch)
		t[h.ProducerID] = p
	}
	p.enter(h.ProducerEpoch)
	p.last, p.lastMs, p.seenMs = h.BaseOffset, h.MaxTimestampMs, nowMs
	return p
}

// apply takes a committed batch of records into account.
func (t producers) apply(h record.Batch, nowMs int64) *producer {
	p := t.of(h, nowMs)
	s := sent{h.BaseSequence, h.LastSequence(), h.BaseOffset, record.NoTimestamp}
	if h.LogAppendTime() {
		s.timeMs = h.MaxTimestampMs
	}
	p.add(s)
	return p
}

// expired names a producer and the state in which it is to be forgotten; one
// that has sent something since, or has a transaction open, stays.
type expired struct {
	id    int64
	epoch int16
	last  int64 // offset of its last batch or marker
}

func (t producers) forget(list []expired) {
	for _, e := range list {
		if p := t[e.id]; p != nil && p.epoch == e.epoch && p.last == e.last && p.txnStart == noOffset {
			delete(t, e.id)
		}
	}
}

// silent lists up to limit producers that were last seen before ms and may be
// forgotten.
func (t producers) silent(ms int64, limit int) []expired {
	var out []expired
	for id, p := range t {
		if p.seenMs < ms && p.txnStart == noOffset && len(out) < limit {
			out = append(out, expired{id, p.epoch, p.last})
		}
	}
	return out
}

func (t producers) clone() producers {
	c := make(producers, len(t))
	for id, p := range t {
		q := *p
		c[id] = &q
	}
	return c
}

const (
	producerHead   = 11 // version 1
	producerHeadV2 = 47
	sentSize       = 24
)

// appendTo encodes the table: count u32, then per producer id i64, epoch i16,
// n u8, last i64, its time i64, start of the transaction i64, last marker i64,
// coordinator epoch i32 and n batches of first i32, last i32, base i64, time
// i64. Version 1 had id, epoch, n and the batches.
func (t producers) appendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(t)))
	for id, p := range t {
		dst = binary.BigEndian.AppendUint64(dst, uint64(id))
		dst = binary.BigEndian.AppendUint16(dst, uint16(p.epoch))
		dst = append(dst, byte(p.n))
		dst = binary.BigEndian.AppendUint64(dst, uint64(p.last))
		dst = binary.BigEndian.AppendUint64(dst, uint64(p.lastMs))
		dst = binary.BigEndian.AppendUint64(dst, uint64(p.txnStart))
		dst = binary.BigEndian.AppendUint64(dst, uint64(p.marker))
		dst = binary.BigEndian.AppendUint32(dst, uint32(p.coordinatorEpoch))
		for _, s := range p.recent[:p.n] {
			dst = binary.BigEndian.AppendUint32(dst, uint32(s.first))
			dst = binary.BigEndian.AppendUint32(dst, uint32(s.last))
			dst = binary.BigEndian.AppendUint64(dst, uint64(s.base))
			dst = binary.BigEndian.AppendUint64(dst, uint64(s.timeMs))
		}
	}
	return dst
}

// parseProducers decodes the table as a saved state of that version has it.
func parseProducers(b []byte, version uint16, nowMs int64) (t producers, rest []byte, err error) {
	bad := func() (producers, []byte, error) {
		return nil, nil, fmt.Errorf("%w: producer table is cut short", ErrCorrupt)
	}
	head, least := producerHeadV2, 0
	if version == 1 {
		head, least = producerHead, 1
	}
	if len(b) < 4 {
		return bad()
	}
	count := binary.BigEndian.Uint32(b)
	b = b[4:]
	t = producers{}
	for range count {
		if len(b) < head {
			return bad()
		}
		id := int64(binary.BigEndian.Uint64(b))
		p := newProducer(int16(binary.BigEndian.Uint16(b[8:])))
		p.n, p.seenMs = int(b[10]), nowMs
		if version > 1 {
			p.last = int64(binary.BigEndian.Uint64(b[11:]))
			p.lastMs = int64(binary.BigEndian.Uint64(b[19:]))
			p.txnStart = int64(binary.BigEndian.Uint64(b[27:]))
			p.marker = int64(binary.BigEndian.Uint64(b[35:]))
			p.coordinatorEpoch = int32(binary.BigEndian.Uint32(b[43:]))
		}
		b = b[head:]
		if p.n < least || p.n > window || len(b) < p.n*sentSize {
			return bad()
		}
		for i := range p.n {
			p.recent[i] = sent{
				first:  int32(binary.BigEndian.Uint32(b)),
				last:   int32(binary.BigEndian.Uint32(b[4:])),
				base:   int64(binary.BigEndian.Uint64(b[8:])),
				timeMs: int64(binary.BigEndian.Uint64(b[16:])),
			}
			b = b[sentSize:]
		}
		if version == 1 {
			newest := p.recent[p.n-1]
			p.last, p.lastMs = newest.base, newest.timeMs
		}
		t[id] = p
	}
	return t, b, nil
}
