package fold

import (
	"fmt"
	"strings"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/delta"
	"github.com/weir-analytics/weir/rollup/report"
	"github.com/weir-analytics/weir/rollup/sketch"
)

// Bounds of a cell.
const (
	// maxCellRows is the most rows of a cell. What comes after is counted in the row "(other)".
	maxCellRows = 2048
	// shardKeyBytes is the most bytes of keys, as JSON, in a shard. With bucket.MaxRows sketches a record stays below 700 KB.
	shardKeyBytes = 256 << 10
)

// cell is a report of a site, or of one of its links, in a window.
type cell struct {
	window *window
	id     cellID
	rows   []row
	byKey  map[string]int32 // nil while rows are few
	shards []shard
	first  [1]shard // what shards begins with: few cells have more
	bytes  int      // of memory, about
	dirty  bool     // in the list of cells to publish
}

type cellID struct{ report, link string }

type row struct {
	key      string
	shard    int32
	counts   bucket.Counts
	visitors sketch.Sketch
	encoded  *encoded // nil while the sketch is small
}

// encoded is the sketch of a row in its binary form, kept because most hits of a busy row are by visitors that it knows: then it is
// published again as it was.
type encoded struct {
	fresh bool // as the sketch is
	count int64
	data  []byte
}

// keptFrom is from how many bytes of memory on the binary form of a sketch is kept. Smaller ones are as fast to make.
const keptFrom = 128

// shard is the part of a cell that travels in one record.
type shard struct {
	foldedTo int64 // every delta before this offset that concerns the rows of the shard is in them
	rows     int
	keyBytes int
	dirty    bool
}

// fewRows is up to how many rows a scan is as fast as a map.
const fewRows = 8

// Sizes for the bound on memory, about.
const (
	rowBytes    = 190
	cellBytes   = 200
	windowBytes = 300
)

func newCell(w *window, id cellID) *cell {
	c := &cell{window: w, id: id, bytes: cellBytes + len(id.link)}
	c.shards = c.first[:0]
	return c
}

// kind returns how large the sketches of a report may grow.
func (id cellID) kind() sketch.Kind {
	if id.report == report.Total {
		return sketch.Total
	}
	return sketch.Row
}

// load fills the cell with what is published of it.
func (c *cell) load(published []bucket.Cell) error {
	rows := 0
	for _, from := range published {
		rows += len(from.Rows)
	}
	c.rows = make([]row, 0, rows+1)
	for _, from := range published {
		if from.Shard < 0 || from.Shard > maxCellRows {
			return fmt.Errorf("cell %s has a shard %d", from.AppendKey(nil), from.Shard)
		}
		for len(c.shards) <= from.Shard {
			c.shards = append(c.shards, shard{})
		}
		c.shards[from.Shard].foldedTo = from.FoldedTo
		for _, r := range from.Rows {
			visitors, err := sketch.Parse(c.id.kind(), r.Sketch)
			if err != nil {
				return fmt.Errorf("cell %s, row %q: %w", from.AppendKey(nil), r.Key, err)
			}
			c.append(row{key: strings.Clone(r.Key), shard: int32(from.Shard), counts: r.Counts, visitors: visitors})
		}
	}
	return nil
}

// add adds the rows of a delta that lies at an offset. visitors are the ids that rows refer to.
func (c *cell) add(rows []delta.Row, visitors []uint64, offset int64) (changed bool) {
	if c.rows == nil {
		c.rows = make([]row, 0, len(rows))
	}
	for i := range rows {
		from := &rows[i]
		at := c.find(from.Key)
		if at < 0 {
			at = c.place(from.Key, offset)
		}
		r := &c.rows[at]
		s := &c.shards[r.shard]
		if offset < s.foldedTo {
			continue
		}
		r.counts.Add(bucket.Counts(from.Counts))
		before, grown := r.visitors.MemoryBytes(), false
		for _, v := range from.Visitors {
			grown = r.visitors.Insert(visitors[v]) || grown
		}
		if grown && r.encoded != nil {
			r.encoded.fresh = false
		}
		c.bytes += r.visitors.MemoryBytes() - before
		s.dirty, changed = true, true
	}
	return changed
}

// addRows adds the rows of a published cell of a shorter window.
func (c *cell) addRows(rows *bucket.Rows) error {
	for rows.Next() {
		at := c.find(string(rows.Key))
		if at < 0 {
			at = c.place(string(rows.Key), 0)
		}
		r := &c.rows[at]
		r.counts.Add(rows.Row.Counts)
		if err := r.visitors.MergeBinary(rows.Row.Sketch); err != nil {
			return err
		}
		if r.encoded != nil {
			r.encoded.fresh = false
		}
		c.shards[r.shard].dirty = true
	}
	return rows.Err()
}

// place makes a row for a key, or finds the row of the rest when the cell is full. A shard that is folded beyond the offset had all its
// rows when that delta was added to it, so a row that is not in it belongs elsewhere.
func (c *cell) place(key string, offset int64) int32 {
	if len(c.rows) >= maxCellRows-1 && key != bucket.Other {
		key = bucket.Other
		if at := c.find(key); at >= 0 {
			return at
		}
	}
	size := len(key) * 6 // an escape of JSON takes six bytes
	at := -1
	for i := range c.shards {
		if s := &c.shards[i]; s.foldedTo <= offset && s.rows < bucket.MaxRows && s.keyBytes+size <= shardKeyBytes {
			at = i
			break
		}
	}
	if at < 0 {
		at = len(c.shards)
		c.shards = append(c.shards, shard{})
	}
	return c.append(row{key: strings.Clone(key), shard: int32(at), visitors: sketch.New(c.id.kind())})
}

func (c *cell) append(r row) int32 {
	at := int32(len(c.rows))
	c.rows = append(c.rows, r)
	s := &c.shards[r.shard]
	s.rows++
	s.keyBytes += len(r.key) * 6
	c.bytes += rowBytes + len(r.key) + r.visitors.MemoryBytes()
	switch {
	case c.byKey != nil:
		c.byKey[r.key] = at
	case len(c.rows) > fewRows:
		c.byKey = make(map[string]int32, 2*len(c.rows))
		for i := range c.rows {
			c.byKey[c.rows[i].key] = int32(i)
		}
	}
	return at
}

func (c *cell) find(key string) int32 {
	if c.byKey != nil {
		if at, ok := c.byKey[key]; ok {
			return at
		}
		return -1
	}
	for i := range c.rows {
		if c.rows[i].key == key {
			return int32(i)
		}
	}
	return -1
}

// encode returns how many visitors a row has, and its sketch in binary form, both as kept if the sketch is as it was.
func (c *cell) encode(r *row) (count int64, data []byte) {
	if r.encoded == nil {
		r.encoded = &encoded{}
	}
	if e := r.encoded; !e.fresh {
		before := cap(e.data)
		e.fresh, e.count, e.data = true, r.visitors.Count(), r.visitors.Append(e.data[:0])
		c.bytes += cap(e.data) - before
	}
	return r.encoded.count, r.encoded.data
}

// letGo forgets the binary form of a sketch that has registers: they are packed fast, and windows that no longer fit into memory cost more.
func (c *cell) letGo(r *row) {
	if r.encoded != nil {
		c.bytes -= cap(r.encoded.data)
		r.encoded = nil
	}
}

// publish calls f with each shard that changed, and marks it as folded up to an offset. The bucket.Cell is reused from call to call;
// what identifies it, but for report, link and shard, is the caller's.
func (c *cell) publish(out *bucket.Cell, sketches []byte, foldedTo int64, f func()) []byte {
	out.Report, out.Link, out.FoldedTo = c.id.report, c.id.link, foldedTo
	for i := range c.shards {
		s := &c.shards[i]
		if !s.dirty {
			continue
		}
		s.dirty, s.foldedTo = false, foldedTo
		out.Shard, out.Rows = i, out.Rows[:0]
		sketches = sketches[:0]
		for at := range c.rows {
			if r := &c.rows[at]; int(r.shard) == i {
				row := bucket.Row{Key: r.key, Counts: r.counts}
				if r.visitors.Exact() && r.visitors.MemoryBytes() >= keptFrom {
					row.Visitors, row.Sketch = c.encode(r)
				} else {
					c.letGo(r)
					from := len(sketches)
					sketches = r.visitors.Append(sketches)
					row.Visitors, row.Sketch = r.visitors.Count(), sketches[from:len(sketches):len(sketches)]
				}
				out.Rows = append(out.Rows, row)
			}
		}
		f()
	}
	return sketches
}
