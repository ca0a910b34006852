package record

import (
	"encoding/binary"
	"fmt"
)

// Builder makes one batch after the other. Not safe for concurrent use.
//
//	b := record.NewBuilder(record.Zstd)
//	b.Append(record.Record{Value: v, TimestampMs: now})
//	batch, err := b.Build()
type Builder struct {
	codec         Codec
	buf           []byte // header space, then records
	count         int32
	baseTime      int64
	maxTime       int64
	producerID    int64
	producerEpoch int16
	sequence      int32
	attributes    int16
}

// NewBuilder returns a builder whose batches are compressed with codec when
// that makes them smaller.
func NewBuilder(codec Codec) *Builder {
	b := &Builder{codec: codec}
	b.Reset()
	return b
}

// Reset forgets all records and the producer.
func (b *Builder) Reset() {
	b.buf = append(b.buf[:0], make([]byte, HeaderSize)...)
	b.count = 0
	b.baseTime, b.maxTime = NoTimestamp, NoTimestamp
	b.producerID, b.producerEpoch, b.sequence = NoProducer, -1, -1
	b.attributes = 0
}

// SetProducer marks the batch as sent by an idempotent producer; sequence is
// that of the first record.
func (b *Builder) SetProducer(id int64, epoch int16, sequence int32) {
	b.producerID, b.producerEpoch, b.sequence = id, epoch, sequence
}

// SetTransactional marks the batch as part of the producer's transaction.
func (b *Builder) SetTransactional() { b.attributes |= attrTransactional }

// SetControl marks the batch as a transaction marker.
func (b *Builder) SetControl() { b.attributes |= attrControl }

// Append adds a record and copies its bytes. OffsetDelta is ignored: records
// are numbered in the order of the calls.
func (b *Builder) Append(r Record) {
	if b.count == 0 {
		b.baseTime = r.TimestampMs
	}
	b.maxTime = max(b.maxTime, r.TimestampMs)
	r.OffsetDelta = b.count
	b.buf = appendRecord(b.buf, r, b.baseTime)
	b.count++
}

// appendRecord encodes a record whose time counts from baseTime.
func appendRecord(buf []byte, r Record, baseTime int64) []byte {
	timeDelta := r.TimestampMs - baseTime
	size := 1 + varintSize(timeDelta) + varintSize(int64(r.OffsetDelta)) +
		bytesSize(r.Key) + bytesSize(r.Value) + varintSize(int64(len(r.Headers)))
	for _, h := range r.Headers {
		size += varintSize(int64(len(h.Key))) + len(h.Key) + bytesSize(h.Value)
	}
	buf = binary.AppendVarint(buf, int64(size))
	buf = append(buf, 0)
	buf = binary.AppendVarint(buf, timeDelta)
	buf = binary.AppendVarint(buf, int64(r.OffsetDelta))
	buf = appendBytes(buf, r.Key)
	buf = appendBytes(buf, r.Value)
	buf = binary.AppendVarint(buf, int64(len(r.Headers)))
	for _, h := range r.Headers {
		buf = binary.AppendVarint(buf, int64(len(h.Key)))
		buf = append(buf, h.Key...)
		buf = appendBytes(buf, h.Value)
	}
	return buf
}

// Len is the number of records so far.
func (b *Builder) Len() int { return int(b.count) }

// Size is the size in bytes of the batch so far, before compression; Build
// never returns more.
func (b *Builder) Size() int { return len(b.buf) }

// Build returns the batch in a slice of its own and resets the builder. A
// batch must have at least one record.
func (b *Builder) Build() ([]byte, error) {
	if b.count == 0 {
		return nil, fmt.Errorf("build batch: %w: no records", ErrInvalid)
	}
	out, codec := []byte(nil), None
	if b.codec != None {
		packed, err := deflate(b.codec, make([]byte, HeaderSize, HeaderSize+len(b.buf)/2), b.buf[HeaderSize:])
		if err != nil {
			return nil, fmt.Errorf("build batch: %w", err)
		}
		if len(packed) < len(b.buf) {
			out, codec = packed, b.codec
		}
	}
	if out == nil {
		out = append(make([]byte, 0, len(b.buf)), b.buf...)
	}
	b.header(out, codec)
	b.Reset()
	return out, nil
}

func (b *Builder) header(out []byte, codec Codec) {
	binary.BigEndian.PutUint64(out, 0)
	binary.BigEndian.PutUint32(out[posLength:], uint32(len(out)-prefixSize))
	binary.BigEndian.PutUint32(out[posEpoch:], 0xffffffff) // -1: no leader yet
	out[posMagic] = 2
	binary.BigEndian.PutUint16(out[posAttr:], uint16(b.attributes|int16(codec)))
	binary.BigEndian.PutUint32(out[posLastDelta:], uint32(b.count-1))
	binary.BigEndian.PutUint64(out[posBaseTime:], uint64(b.baseTime))
	binary.BigEndian.PutUint64(out[posMaxTime:], uint64(b.maxTime))
	binary.BigEndian.PutUint64(out[posPID:], uint64(b.producerID))
	binary.BigEndian.PutUint16(out[posPEpoch:], uint16(b.producerEpoch))
	binary.BigEndian.PutUint32(out[posSequence:], uint32(b.sequence))
	binary.BigEndian.PutUint32(out[posCount:], uint32(b.count))
	seal(out)
}

func varintSize(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	n := 1
	for u >= 0x80 {
		u >>= 7
		n++
	}
	return n
}

func bytesSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintSize(int64(len(b))) + len(b)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}
