package table

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/zone"
)

// Cell returns the published shards of a cell; Shard of the id is ignored. The caller owns the result.
func (t *Table) Cell(unit zone.Unit, id bucket.ID) ([]bucket.Cell, error) {
	var shards []bucket.Cell
	err := t.scan(cellPrefix(nil, unit, &id), func(key, value []byte) error {
		_, _, shard, err := parseTail(key)
		if err != nil {
			return err
		}
		c := bucket.Cell{ID: id}
		c.Shard = shard
		rows := bucket.ReadRows(append([]byte(nil), value...))
		for rows.Next() {
			row := rows.Row
			row.Key = string(rows.Key)
			c.Rows = append(c.Rows, row)
		}
		if rows.Err() != nil {
			return fmt.Errorf("%w: key %x", ErrDamaged, key)
		}
		c.FoldedTo, c.SourceTo = rows.FoldedTo, rows.SourceTo
		shards = append(shards, c)
		return nil
	})
	return shards, err
}

// View is the table at one moment. Close it soon.
type View struct{ snapshot *pebble.Snapshot }

// View returns the table as it is now.
func (t *Table) View() View { return View{t.db.NewSnapshot()} }

// Close lets go of the view.
func (v View) Close() { _ = v.snapshot.Close() }

// Range says which cells of a report to walk over: those of windows that start at From or later, and before To (seconds since 1970).
type Range struct {
	Unit       zone.Unit
	Site       uint32
	Generation uint32
	Report     string
	Link       string
	From, To   int64
}

// Walk calls f with the rows of each shard of each partition, windows in order of their start. The rows are valid during the call.
func (v View) Walk(r Range, f func(start int64, partition int32, rows *bucket.Rows) error) error {
	if r.From >= r.To {
		return nil
	}
	prefix := reportPrefix(nil, r.Unit, r.Site, r.Generation, r.Report, r.Link)
	from := appendStart(append([]byte(nil), prefix...), r.From)
	to := appendStart(append([]byte(nil), prefix...), r.To)
	return scan(v.snapshot, from, to, func(key, value []byte) error {
		start, partition, _, err := parseTail(key)
		if err != nil {
			return err
		}
		rows := bucket.ReadRows(value)
		if err := f(start, partition, &rows); err != nil {
			return err
		}
		if rows.Err() != nil {
			return fmt.Errorf("%w: key %x", ErrDamaged, key)
		}
		return nil
	})
}

// Bounds returns the starts of the first and of the last window of a site's total, and false when there is none.
func (v View) Bounds(unit zone.Unit, site, generation uint32, report string) (first, last int64, ok bool, err error) {
	prefix := reportPrefix(nil, unit, site, generation, report, "")
	iter, err := v.snapshot.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)})
	if err != nil {
		return 0, 0, false, fmt.Errorf("read the table of counts: %w", err)
	}
	if iter.First() {
		if first, _, _, err = parseTail(iter.Key()); err == nil && iter.Last() {
			last, _, _, err = parseTail(iter.Key())
			ok = err == nil
		}
	}
	if closed := iter.Close(); err == nil && closed != nil {
		err = fmt.Errorf("read the table of counts: %w", closed)
	}
	return first, last, ok, err
}
