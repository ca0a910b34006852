package bucket

import (
	"encoding/binary"
	"fmt"
)

// AppendRows appends the rows of the cell and how far it is folded in the form used in tables on disk:
//
//	version (1 byte: 2), folded_to, source_to, offset from UTC (varint), number of rows, and for each row:
//	  length of the key, key, hits, bots, pageviews, events, clicks, visitors,
//	  1 and visits, bounces, duration, engaged time, sum and number of scroll depths (varints), or 0 when all are 0,
//	  length of the sketch, sketch
//
// All other numbers are uvarints. Version 1 has nothing of visits. What else identifies the cell is in the key of the table.
func (c *Cell) AppendRows(dst []byte) []byte {
	dst = append(dst, rowsVersion)
	dst = binary.AppendUvarint(dst, uint64(c.FoldedTo))
	dst = binary.AppendUvarint(dst, uint64(c.SourceTo))
	dst = binary.AppendVarint(dst, int64(c.Offset))
	dst = binary.AppendUvarint(dst, uint64(len(c.Rows)))
	for i := range c.Rows {
		r := &c.Rows[i]
		dst = binary.AppendUvarint(dst, uint64(len(r.Key)))
		dst = append(dst, r.Key...)
		for _, n := range [...]int64{r.Hits, r.Bots, r.Pageviews, r.Events, r.Clicks, r.Visitors} {
			dst = binary.AppendUvarint(dst, uint64(n))
		}
		if r.ofVisits() {
			dst = append(dst, 1)
			for _, n := range r.visitCounts() {
				dst = binary.AppendVarint(dst, n)
			}
		} else {
			dst = append(dst, 0)
		}
		dst = binary.AppendUvarint(dst, uint64(len(r.Sketch)))
		dst = append(dst, r.Sketch...)
	}
	return dst
}

const rowsVersion = 2

// Rows walks over what AppendRows wrote without copying. Start with ReadRows, then call Next until it returns false, then look at Err.
type Rows struct {
	FoldedTo, SourceTo int64
	Offset             int // of the cell, seconds east of UTC
	Count              int

	Key    []byte // of the row that Next stepped to; points into the data
	Row    Row    // its numbers and its sketch, which points into the data; Row.Key is empty
	left   []byte
	bare   bool // version 1
	seen   int
	failed bool
}

// ReadRows begins a walk.
func ReadRows(data []byte) Rows {
	r := Rows{left: data}
	if len(data) == 0 || data[0] != rowsVersion && data[0] != 1 {
		r.failed = true
		return r
	}
	r.bare = data[0] == 1
	r.left = data[1:]
	r.FoldedTo, r.SourceTo = r.number(), r.number()
	r.Offset, r.Count = int(r.signed()), int(r.number())
	return r
}

// Next steps to the next row.
func (r *Rows) Next() bool {
	if r.failed || r.seen >= r.Count {
		return false
	}
	r.seen++
	r.Key = r.bytes()
	r.Row = Row{Counts: Counts{Hits: r.number(), Bots: r.number(), Pageviews: r.number(), Events: r.number(), Clicks: r.number()},
		Visitors: r.number()}
	if !r.bare {
		r.visits(&r.Row.Counts)
	}
	r.Row.Sketch = r.bytes()
	return !r.failed
}

// Err says whether the data was cut off or not written by AppendRows. It wraps ErrNotCell.
func (r *Rows) Err() error {
	if r.failed || r.seen == r.Count && len(r.left) != 0 {
		return fmt.Errorf("%w: rows are cut off or damaged", ErrNotCell)
	}
	return nil
}

func (r *Rows) visits(c *Counts) {
	switch r.number() {
	case 0:
	case 1:
		c.Visits, c.Bounces, c.DurationMs = r.signed(), r.signed(), r.signed()
		c.EngagedMs, c.ScrollSum, c.ScrollViews = r.signed(), r.signed(), r.signed()
	default:
		r.failed = true
	}
}

func (r *Rows) signed() int64 {
	v, n := binary.Varint(r.left)
	if n <= 0 {
		r.failed = true
		return 0
	}
	r.left = r.left[n:]
	return v
}

func (r *Rows) number() int64 {
	v, n := binary.Uvarint(r.left)
	if n <= 0 || v > 1<<63-1 {
		r.failed = true
		return 0
	}
	r.left = r.left[n:]
	return int64(v)
}

func (r *Rows) bytes() []byte {
	n := r.number()
	if r.failed || n > int64(len(r.left)) {
		r.failed = true
		return nil
	}
	b := r.left[:n:n]
	r.left = r.left[n:]
	return b
}
