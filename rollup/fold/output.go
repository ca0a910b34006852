package fold

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/table"
)

// output is a flush being made: the records for the log, and the same cells in the form of the table. Its memory is used again for the
// next flush, which is made only when this one is committed.
type output struct {
	topic     string
	partition int32

	records []*kgo.Record
	cells   []table.Cell
	slabs   [][]kgo.Record
	used    int // records of the slabs
	text    arena
	bytes   int // of keys and values
}

const slabRecords = 256

func (o *output) reset() {
	clear(o.records)
	clear(o.cells)
	o.records, o.cells, o.used, o.bytes = o.records[:0], o.cells[:0], 0, 0
	o.text.reset()
}

// record adds a record.
func (o *output) record(key, value []byte) {
	slab, at := o.used/slabRecords, o.used%slabRecords
	if slab == len(o.slabs) {
		o.slabs = append(o.slabs, make([]kgo.Record, slabRecords))
	}
	o.used++
	r := &o.slabs[slab][at]
	*r = kgo.Record{Topic: o.topic, Partition: o.partition, Key: key, Value: value}
	o.records = append(o.records, r)
	o.bytes += len(key) + len(value)
}

// cell adds a cell. Its rows may be used again.
func (o *output) cell(c *bucket.Cell) {
	size := cellRoom
	for i := range c.Rows {
		size += rowRoom + len(c.Rows[i].Key) + 2*len(c.Rows[i].Sketch)
	}
	key := o.text.keep(c.AppendKey(o.text.room(cellRoom)))
	value := o.text.keep(c.AppendJSON(o.text.room(size)))
	rows := o.text.keep(c.AppendRows(o.text.room(size)))
	o.record(key, value)
	o.cells = append(o.cells, table.Cell{ID: c.ID, FoldedTo: c.FoldedTo, Rows: rows})
}

// Room for what a cell and a row take beside text of people's: a guess that is nearly always enough, and costs a copy where it is not.
const (
	cellRoom = 400
	rowRoom  = 160
)

// arena hands out memory in pieces, until it is reset.
type arena struct {
	chunk []byte
	full  [][]byte
	free  [][]byte
}

const (
	chunkBytes = 256 << 10
	keptChunks = 8 // of those that are free
)

// room returns an empty slice to append about n bytes to. Hand it to keep before the next call.
func (a *arena) room(n int) []byte {
	if cap(a.chunk)-len(a.chunk) < n {
		a.full = append(a.full, a.chunk)
		if last := len(a.free) - 1; last >= 0 && n <= chunkBytes {
			a.chunk, a.free = a.free[last], a.free[:last]
		} else {
			a.chunk = make([]byte, 0, max(chunkBytes, n))
		}
	}
	return a.chunk[len(a.chunk):]
}

// keep notes how much of the room is used, and returns that.
func (a *arena) keep(b []byte) []byte {
	if cap(b) == cap(a.chunk)-len(a.chunk) { // otherwise it outgrew the room and has memory of its own
		a.chunk = a.chunk[:len(a.chunk)+len(b)]
	}
	return b[:len(b):len(b)]
}

func (a *arena) reset() {
	for _, chunk := range a.full {
		if cap(chunk) == chunkBytes && len(a.free) < keptChunks {
			a.free = append(a.free, chunk[:0])
		}
	}
	clear(a.full)
	a.full, a.chunk = a.full[:0], a.chunk[:0]
}
