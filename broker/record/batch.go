package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Positions of the header fields, see doc.go.
const (
	// HeaderSize is the size in bytes of a batch without records.
	HeaderSize = 61

	// prefixSize is what the batch length field does not count.
	prefixSize = 12

	posLength    = 8
	posEpoch     = 12
	posMagic     = 16
	posCRC       = 17
	posAttr      = 21
	posLastDelta = 23
	posBaseTime  = 27
	posMaxTime   = 35
	posPID       = 43
	posPEpoch    = 51
	posSequence  = 53
	posCount     = 57
)

// Attribute bits.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 1 << 3
	attrTransactional = 1 << 4
	attrControl       = 1 << 5
	attrDeleteHorizon = 1 << 6
)

// NoProducer is the producer id of a batch sent without idempotence.
const NoProducer int64 = -1

// NoTimestamp is the timestamp of a record that carries none.
const NoTimestamp int64 = -1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is the header of a record batch. Raw holds the whole batch, header
// included, and aliases the bytes that were parsed.
type Batch struct {
	BaseOffset      int64
	LeaderEpoch     int32
	CRC             uint32
	Attributes      int16
	LastOffsetDelta int32
	BaseTimestampMs int64
	MaxTimestampMs  int64
	ProducerID      int64
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32
	Raw             []byte
}

// Codec is the compression of the records.
func (b Batch) Codec() Codec { return Codec(b.Attributes & attrCodec) }

// LogAppendTime says that all records carry MaxTimestampMs, the time at which
// the broker took the batch.
func (b Batch) LogAppendTime() bool { return b.Attributes&attrLogAppendTime != 0 }

// Transactional says that the batch belongs to a transaction.
func (b Batch) Transactional() bool { return b.Attributes&attrTransactional != 0 }

// Control says that the batch is a transaction marker, not data.
func (b Batch) Control() bool { return b.Attributes&attrControl != 0 }

// LastOffset is the offset of the last record, kept even when compaction has
// removed that record.
func (b Batch) LastOffset() int64 { return b.BaseOffset + int64(b.LastOffsetDelta) }

// NextOffset is the offset of the first record after the batch.
func (b Batch) NextOffset() int64 { return b.LastOffset() + 1 }

// LastSequence is the sequence number of the last record; numbers wrap from
// the largest int32 to 0.
func (b Batch) LastSequence() int32 { return AddSequence(b.BaseSequence, b.LastOffsetDelta) }

// Size is the size of the batch in bytes.
func (b Batch) Size() int { return len(b.Raw) }

// AddSequence advances a producer's sequence number as Kafka does: after the
// largest int32 comes 0.
func AddSequence(seq, n int32) int32 {
	return int32((int64(seq) + int64(n)) & 0x7fffffff)
}

// Size returns the whole size in bytes of the batch that starts at b, looking
// only at its length field. ok is false when b has fewer than 12 bytes or the
// length can't be one of a batch.
func Size(b []byte) (n int, ok bool) {
	if len(b) < prefixSize {
		return 0, false
	}
	length := int32(binary.BigEndian.Uint32(b[posLength:]))
	if length < HeaderSize-prefixSize {
		return 0, false
	}
	return int(length) + prefixSize, true
}

// ParseHeader reads the header of the batch that starts at b, which may end
// anywhere after the 61st byte. It checks magic and the signs of lengths and
// counts, not the checksum. Raw of the result is nil.
func ParseHeader(b []byte) (Batch, error) {
	if len(b) > posMagic && b[posMagic] != 2 {
		return Batch{}, fmt.Errorf("%w: got magic %d", ErrMagic, int8(b[posMagic]))
	}
	if len(b) < HeaderSize {
		return Batch{}, fmt.Errorf("%w: %d bytes, a header has %d", ErrShort, len(b), HeaderSize)
	}
	if _, ok := Size(b); !ok {
		return Batch{}, fmt.Errorf("%w: length field %d", ErrCorrupt, int32(binary.BigEndian.Uint32(b[posLength:])))
	}
	h := Batch{
		BaseOffset:      int64(binary.BigEndian.Uint64(b)),
		LeaderEpoch:     int32(binary.BigEndian.Uint32(b[posEpoch:])),
		CRC:             binary.BigEndian.Uint32(b[posCRC:]),
		Attributes:      int16(binary.BigEndian.Uint16(b[posAttr:])),
		LastOffsetDelta: int32(binary.BigEndian.Uint32(b[posLastDelta:])),
		BaseTimestampMs: int64(binary.BigEndian.Uint64(b[posBaseTime:])),
		MaxTimestampMs:  int64(binary.BigEndian.Uint64(b[posMaxTime:])),
		ProducerID:      int64(binary.BigEndian.Uint64(b[posPID:])),
		ProducerEpoch:   int16(binary.BigEndian.Uint16(b[posPEpoch:])),
		BaseSequence:    int32(binary.BigEndian.Uint32(b[posSequence:])),
		Count:           int32(binary.BigEndian.Uint32(b[posCount:])),
	}
	if h.LastOffsetDelta < 0 || h.Count < 0 || int64(h.Count) > int64(h.LastOffsetDelta)+1 {
		return Batch{}, fmt.Errorf("%w: %d records with last offset delta %d", ErrCorrupt, h.Count, h.LastOffsetDelta)
	}
	return h, nil
}

// Parse reads the first batch of b without checking its checksum and returns
// what follows it. ErrShort means that b ends inside the batch.
func Parse(b []byte) (batch Batch, rest []byte, err error) {
	batch, err = ParseHeader(b)
	if err != nil {
		return Batch{}, nil, err
	}
	n, _ := Size(b)
	if len(b) < n {
		return Batch{}, nil, fmt.Errorf("%w: %d bytes of %d", ErrShort, len(b), n)
	}
	batch.Raw = b[:n:n]
	return batch, b[n:], nil
}

// Check reads b, which must be exactly one batch, and verifies its checksum.
func Check(b []byte) (Batch, error) {
	batch, rest, err := Parse(b)
	if err != nil {
		return Batch{}, err
	}
	if len(rest) != 0 {
		return Batch{}, fmt.Errorf("%w: %d bytes after the batch", ErrCorrupt, len(rest))
	}
	return batch, batch.CheckCRC()
}

// CheckCRC verifies the checksum of a parsed batch.
func (b Batch) CheckCRC() error {
	if got := crc32.Checksum(b.Raw[posAttr:], castagnoli); got != b.CRC {
		return fmt.Errorf("%w: checksum %08x, header says %08x", ErrCorrupt, got, b.CRC)
	}
	return nil
}

// SetPlace fills in what the log decides about a batch: the offset of its
// first record and the epoch of the leader that took it. Neither is covered by
// the checksum. b must hold a parsed batch.
func SetPlace(b []byte, baseOffset int64, leaderEpoch int32) {
	binary.BigEndian.PutUint64(b, uint64(baseOffset))
	binary.BigEndian.PutUint32(b[posEpoch:], uint32(leaderEpoch))
}

// SetLogAppendTime stamps all records of the batch with the time at which the
// broker took it and makes the checksum anew. b must hold exactly one batch.
func SetLogAppendTime(b []byte, ms int64) {
	attr := binary.BigEndian.Uint16(b[posAttr:]) | attrLogAppendTime
	binary.BigEndian.PutUint16(b[posAttr:], attr)
	binary.BigEndian.PutUint64(b[posMaxTime:], uint64(ms))
	seal(b)
}

func setMaxTimestamp(b []byte, ms int64) {
	binary.BigEndian.PutUint64(b[posMaxTime:], uint64(ms))
	seal(b)
}

func seal(b []byte) {
	binary.BigEndian.PutUint32(b[posCRC:], crc32.Checksum(b[posAttr:], castagnoli))
}
