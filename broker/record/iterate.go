package record

import (
	"encoding/binary"
	"fmt"
)

// DefaultMaxInflated is the bound in bytes that ForEach puts on the records of
// one batch after inflating. A guess: a hundred times the usual batch limit of
// 1 MiB would be generous for text, and two of these fit a small machine.
const DefaultMaxInflated = 128 << 20

// Record is one record of a batch. Key, Value and the header values may be nil,
// which Kafka keeps apart from empty. Slices alias the batch or a buffer that
// is reused: they are valid until the callback that got them returns.
type Record struct {
	Key, Value  []byte
	Headers     []Header
	OffsetDelta int32
	TimestampMs int64
}

// Header is a named value beside the value of a record.
type Header struct {
	Key   string
	Value []byte
}

// Size is roughly the bytes that the record takes in a batch, uncompressed.
func (r Record) Size() int {
	n := 24 + len(r.Key) + len(r.Value) // six varints, usually shorter
	for _, h := range r.Headers {
		n += 8 + len(h.Key) + len(h.Value)
	}
	return n
}

// ForEach calls fn for each record of the batch in order, inflating up to
// DefaultMaxInflated bytes. It stops at the first error, also fn's own. The
// batch must have passed Check.
func ForEach(batch []byte, fn func(Record) error) error {
	return ForEachBounded(batch, DefaultMaxInflated, fn)
}

// ForEachBounded is ForEach with another bound in bytes on the inflated records.
func ForEachBounded(batch []byte, maxInflated int, fn func(Record) error) error {
	b, _, err := Parse(batch)
	if err != nil {
		return err
	}
	return b.forEach(maxInflated, fn)
}

func (b Batch) forEach(maxInflated int, fn func(Record) error) error {
	body := b.Raw[HeaderSize:]
	if c := b.Codec(); c != None {
		buf := inflateBuffers.Get().(*[]byte)
		defer putInflateBuffer(buf)
		out, err := inflate(c, (*buf)[:0], body, maxInflated)
		if err != nil {
			return err
		}
		*buf = out
		body = out
	} else if len(body) > maxInflated {
		return fmt.Errorf("%w: %d bytes of records, limit %d", ErrTooLarge, len(body), maxInflated)
	}
	var headers []Header
	for i := range b.Count {
		r, rest, plain := plainRecord(body)
		if !plain {
			var err error
			if r, rest, err = parseRecord(body, headers); err != nil {
				return fmt.Errorf("record %d of %d: %w", i, b.Count, err)
			}
			headers = r.Headers[:0]
		}
		body = rest
		if b.LogAppendTime() {
			r.TimestampMs = b.MaxTimestampMs
		} else {
			r.TimestampMs += b.BaseTimestampMs
		}
		if err := fn(r); err != nil {
			return err
		}
	}
	if len(body) != 0 {
		return fmt.Errorf("%w: %d bytes after %d records", ErrCorrupt, len(body), b.Count)
	}
	return nil
}

// parseRecord reads one record; its TimestampMs is still relative to the batch.
//
//	length | attributes | timestamp delta | offset delta | key length | key
//	       | value length | value | header count | headers
//
// All numbers are zigzag varints except the attributes, an unused byte.
func parseRecord(b []byte, headers []Header) (r Record, rest []byte, err error) {
	c := cursor{b: b}
	length := c.length("record")
	if c.err != nil || length < 0 {
		return r, nil, c.fail("record length")
	}
	rest = c.b[length:]
	c.b = c.b[:length:length]
	c.skip(1)
	r.TimestampMs = c.varint()
	delta := c.varint()
	r.OffsetDelta = int32(delta)
	r.Key = c.bytes("key")
	r.Value = c.bytes("value")
	n := c.varint()
	if c.err == nil && (n < 0 || n > int64(len(c.b))) { // a header takes at least two bytes
		return r, nil, fmt.Errorf("%w: %d headers", ErrCorrupt, n)
	}
	r.Headers = headers
	for range n {
		if c.err != nil {
			break
		}
		key := c.bytes("header key")
		if key == nil && c.err == nil {
			return r, nil, fmt.Errorf("%w: header without a key", ErrCorrupt)
		}
		r.Headers = append(r.Headers, Header{Key: string(key), Value: c.bytes("header value")})
	}
	switch {
	case c.err != nil:
		return r, nil, c.err
	case int64(r.OffsetDelta) != delta:
		return r, nil, fmt.Errorf("%w: offset delta %d", ErrCorrupt, delta)
	case len(c.b) != 0:
		return r, nil, fmt.Errorf("%w: %d bytes after the headers", ErrCorrupt, len(c.b))
	}
	return r, rest, nil
}

// cursor reads from b and remembers the first thing that went wrong.
type cursor struct {
	b   []byte
	err error
}

func (c *cursor) fail(what string) error {
	if c.err == nil {
		c.err = fmt.Errorf("%w: bad %s", ErrCorrupt, what)
	}
	return c.err
}

func (c *cursor) skip(n int) {
	if c.err != nil || len(c.b) < n {
		c.fail("record attributes")
		return
	}
	c.b = c.b[n:]
}

func (c *cursor) varint() int64 {
	if c.err != nil {
		return 0
	}
	v, n := binary.Varint(c.b)
	if n <= 0 {
		c.fail("varint")
		return 0
	}
	c.b = c.b[n:]
	return v
}

// length reads a length of which -1 means null; anything else must lie inside b.
func (c *cursor) length(what string) int {
	n := c.varint()
	if c.err == nil && (n < -1 || n > int64(len(c.b))) {
		c.fail(what + " length")
	}
	if c.err != nil {
		return 0
	}
	return int(n)
}

func (c *cursor) bytes(what string) []byte {
	n := c.length(what)
	if c.err != nil || n < 0 {
		return nil
	}
	v := c.b[:n:n]
	c.b = c.b[n:]
	return v
}
