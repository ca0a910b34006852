package bucket

import (
	"encoding/binary"
	"fmt"
)

// AppendRows appends the rows of the cell and how far it is folded in the form used in tables on disk:
//
//	version (1 byte: 1), folded_to, source_to, offset from UTC (varint), number of rows, and for each row:
//	  length of the key, key, hits, bots, pageviews, events, clicks, visitors, length of the sketch, sketch
//
// All other numbers are uvarints. What else identifies the cell is in the key of the table.
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
		dst = binary.AppendUvarint(dst, uint64(len(r.Sketch)))
		dst = append(dst, r.Sketch...)
	}
	return dst
}

const rowsVersion = 1

// Rows walks over what AppendRows wrote without copying. Start with ReadRows, then call Next until it returns false, then look at Err.
type Rows struct {
	FoldedTo, SourceTo int64
	Offset             int // of the cell, seconds east of UTC
	Count              int

	Key    []byte // of the row that Next stepped to; points into the data
	Row    Row    // its numbers and its sketch, which points into the data; Row.Key is empty
	left   []byte
	seen   int
	failed bool
}

// ReadRows begins a walk.
func ReadRows(data []byte) Rows {
	r := Rows{left: data}
	if len(data) == 0 || data[0] != rowsVersion {
		r.failed = true
		return r
	}
	r.left = data[1:]
	r.FoldedTo, r.SourceTo = r.number(), r.number()
	offset, n := binary.Varint(r.left)
	if n <= 0 {
		r.failed = true
		return r
	}
	r.left = r.left[n:]
	r.Offset, r.Count = int(offset), int(r.number())
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
