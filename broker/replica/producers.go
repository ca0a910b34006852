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

// producer is what is known of one idempotent producer. Its fields but seenMs
// follow from the log alone, so that replicas agree.
type producer struct {
	epoch  int16
	n      int // of batches in recent
	recent [window]sent
	// seenMs is when this replica last applied a batch of it; the leader
	// forgets the silent by a replicated command.
	seenMs int64
}

func (p *producer) lastSent() *sent { return &p.recent[p.n-1] }

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

// apply takes a committed batch into account.
func (t producers) apply(h record.Batch, nowMs int64) {
	if h.ProducerID == record.NoProducer {
		return
	}
	p := t[h.ProducerID]
	if p == nil || p.epoch != h.ProducerEpoch {
		p = &producer{epoch: h.ProducerEpoch}
		t[h.ProducerID] = p
	}
	s := sent{h.BaseSequence, h.LastSequence(), h.BaseOffset, record.NoTimestamp}
	if h.LogAppendTime() {
		s.timeMs = h.MaxTimestampMs
	}
	p.add(s)
	p.seenMs = nowMs
}

// expired names a producer and the state in which it is to be forgotten; one
// that has sent something since stays.
type expired struct {
	id    int64
	epoch int16
	base  int64 // of its last batch
}

func (t producers) forget(list []expired) {
	for _, e := range list {
		if p := t[e.id]; p != nil && p.epoch == e.epoch && p.lastSent().base == e.base {
			delete(t, e.id)
		}
	}
}

// silent lists up to limit producers that were last seen before ms.
func (t producers) silent(ms int64, limit int) []expired {
	var out []expired
	for id, p := range t {
		if p.seenMs < ms && len(out) < limit {
			out = append(out, expired{id, p.epoch, p.lastSent().base})
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
	producerHead = 11
	sentSize     = 24
)

// appendTo encodes the table: count u32, then per producer id i64, epoch i16,
// n u8 and n batches of first i32, last i32, base i64, time i64.
func (t producers) appendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(t)))
	for id, p := range t {
		dst = binary.BigEndian.AppendUint64(dst, uint64(id))
		dst = binary.BigEndian.AppendUint16(dst, uint16(p.epoch))
		dst = append(dst, byte(p.n))
		for _, s := range p.recent[:p.n] {
			dst = binary.BigEndian.AppendUint32(dst, uint32(s.first))
			dst = binary.BigEndian.AppendUint32(dst, uint32(s.last))
			dst = binary.BigEndian.AppendUint64(dst, uint64(s.base))
			dst = binary.BigEndian.AppendUint64(dst, uint64(s.timeMs))
		}
	}
	return dst
}

func parseProducers(b []byte, nowMs int64) (t producers, rest []byte, err error) {
	bad := func() (producers, []byte, error) {
		return nil, nil, fmt.Errorf("%w: producer table is cut short", ErrCorrupt)
	}
	if len(b) < 4 {
		return bad()
	}
	count := binary.BigEndian.Uint32(b)
	b = b[4:]
	t = producers{}
	for range count {
		if len(b) < producerHead {
			return bad()
		}
		id := int64(binary.BigEndian.Uint64(b))
		p := &producer{epoch: int16(binary.BigEndian.Uint16(b[8:])), n: int(b[10]), seenMs: nowMs}
		b = b[producerHead:]
		if p.n < 1 || p.n > window || len(b) < p.n*sentSize {
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
		t[id] = p
	}
	return t, b, nil
}
