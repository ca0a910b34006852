package record

import "encoding/binary"

// plainRecord is parseRecord for what nearly all records are: whole and without
// headers. ok is false for any other, which parseRecord then reads or refuses.
func plainRecord(b []byte) (r Record, rest []byte, ok bool) {
	length, i := varintAt(b, 0)
	if i < 0 || length < 0 || length > int64(len(b)-i) {
		return r, nil, false
	}
	end := i + int(length)
	b, rest = b[:end], b[end:]
	r.TimestampMs, i = varintAt(b, i+1) // behind the attributes
	delta, i := varintAt(b, i)
	r.OffsetDelta = int32(delta)
	if r.Key, i = bytesAt(b, i); i < 0 {
		return r, nil, false
	}
	if r.Value, i = bytesAt(b, i); i < 0 {
		return r, nil, false
	}
	headers, i := varintAt(b, i)
	return r, rest, i == len(b) && headers == 0 && int64(r.OffsetDelta) == delta
}

// bytesAt reads a length and as many bytes, nil for length -1, and returns what
// follows them; -1 when they are not all in b.
func bytesAt(b []byte, i int) ([]byte, int) {
	n, i := varintAt(b, i)
	switch {
	case i < 0 || n < -1 || n > int64(len(b)-i):
		return nil, -1
	case n < 0:
		return nil, i
	}
	end := i + int(n)
	return b[i:end:end], end
}

// varintAt reads a number at i and returns what follows it; -1 when there is
// none, or i is -1 already. Numbers of one byte, which most are, are read where
// it is called.
func varintAt(b []byte, i int) (int64, int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		return int64(b[i]>>1) ^ -int64(b[i]&1), i + 1
	}
	return longVarintAt(b, i)
}

func longVarintAt(b []byte, i int) (int64, int) {
	if uint(i) >= uint(len(b)) {
		return 0, -1
	}
	v, n := binary.Varint(b[i:])
	if n <= 0 {
		return 0, -1
	}
	return v, i + n
}
