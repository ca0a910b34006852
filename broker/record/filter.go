package record

import (
	"encoding/binary"
	"fmt"
)

// DeleteHorizonMs is when the tombstones of a cleaned batch may go, in
// milliseconds since 1970; ok is false while the batch has no such time. It
// takes the place of the base timestamp, which the records count from.
func (b Batch) DeleteHorizonMs() (ms int64, ok bool) {
	return b.BaseTimestampMs, b.Attributes&attrDeleteHorizon != 0
}

// NoHorizon leaves the delete horizon of a batch as it is.
const NoHorizon int64 = -1

// Filter makes a batch of the records of b that are kept, and returns how many
// those are. Offsets, sequence numbers, epochs and the codec stay, and so does
// the last offset, whether its record is kept or not. horizonMs becomes the
// delete horizon, unless it is NoHorizon. b must have passed Check.
func Filter(b Batch, horizonMs int64, keep func(Record) bool) (out []byte, kept int, err error) {
	base := b.BaseTimestampMs
	attributes := b.Attributes &^ attrCodec
	if horizonMs != NoHorizon {
		base = horizonMs
		attributes |= attrDeleteHorizon
	}
	buf := make([]byte, HeaderSize, len(b.Raw))
	newest := NoTimestamp
	err = b.forEach(DefaultMaxInflated, func(r Record) error {
		if keep(r) {
			buf = appendRecord(buf, r, base)
			newest = max(newest, r.TimestampMs)
			kept++
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	codec := None
	if kept == 0 || b.LogAppendTime() {
		newest = b.MaxTimestampMs
	}
	out = buf
	if b.Codec() != None && kept > 0 {
		packed, err := deflate(b.Codec(), make([]byte, HeaderSize, HeaderSize+len(buf)/2), buf[HeaderSize:])
		if err != nil {
			return nil, 0, fmt.Errorf("filter batch: %w", err)
		}
		if len(packed) < len(buf) {
			out, codec = packed, b.Codec()
		}
	}
	copy(out, b.Raw[:HeaderSize])
	binary.BigEndian.PutUint32(out[posLength:], uint32(len(out)-prefixSize))
	binary.BigEndian.PutUint16(out[posAttr:], uint16(attributes|int16(codec)))
	binary.BigEndian.PutUint64(out[posBaseTime:], uint64(base))
	binary.BigEndian.PutUint64(out[posMaxTime:], uint64(newest))
	binary.BigEndian.PutUint32(out[posCount:], uint32(kept))
	seal(out)
	return out, kept, nil
}
