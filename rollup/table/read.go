package table

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/zone"
)

// Cell returns the published shards of a cell; Shard of the id is ignored. The caller owns the result.
//
// Shards are looked up one by one: a shard is never published before the ones below it, and a look for what is not there costs little,
// which is the common case.
func (t *Table) Cell(unit zone.Unit, id bucket.ID) ([]bucket.Cell, error) {
	var shards []bucket.Cell
	for id.Shard = 0; ; id.Shard++ {
		value, err := t.get(cellKey(nil, unit, &id))
		if err != nil || value == nil {
			return shards, t.condemn(err)
		}
		c := bucket.Cell{ID: id}
		rows := bucket.ReadRows(value)
		for rows.Next() {
			row := rows.Row
			row.Key = string(rows.Key)
			c.Rows = append(c.Rows, row)
		}
		if rows.Err() != nil {
			return nil, t.condemn(fmt.Errorf("%w: cell %s", ErrDamaged, id.AppendKey(nil)))
		}
		c.FoldedTo, c.SourceTo = rows.FoldedTo, rows.SourceTo
		shards = append(shards, c)
	}
}

// Has says whether a shard of a cell is published.
func (t *Table) Has(unit zone.Unit, id bucket.ID) (bool, error) {
	foldedTo, err := t.foldedTo(cellKey(nil, unit, &id))
	return foldedTo >= 0, err
}

// Generation returns the generation in which the cells of a site in a partition are whole, and up to where they were folded when they
// became so. Zero stands for the first generation, which is whole from the beginning.
func (t *Table) Generation(unit zone.Unit, partition int32, site uint32) (generation uint32, foldedTo int64, err error) {
	value, err := t.get(generationKey(unit, partition, site))
	if err != nil || value == nil {
		return 0, 0, err
	}
	g, n := binary.Uvarint(value)
	folded, m := binary.Uvarint(value[max(n, 0):])
	if n <= 0 || m <= 0 {
		return 0, 0, fmt.Errorf("%w: generation of site %d", ErrDamaged, site)
	}
	return uint32(g), int64(folded), nil
}

// Minutes returns the table as it is now, and up to where the minutes of a partition are folded in it. It returns false when the minutes
// are in the middle of a flush.
func (t *Table) Minutes(partition int32) (View, bucket.Progress, bool) {
	return t.Partition(zone.Minute, partition)
}

// Partition returns the table as it is now, and up to where windows of one length of a partition are folded in it. It returns false when
// those are in the middle of a flush.
func (t *Table) Partition(unit zone.Unit, partition int32) (View, bucket.Progress, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.part(partID{unit, partition})
	if !p.consistent() {
		return View{}, bucket.Progress{}, false
	}
	return t.View(), p.progress, true
}

// View is the table at one moment. Close it soon.
type View struct {
	t        *Table
	snapshot *pebble.Snapshot
}

// View returns the table as it is now.
func (t *Table) View() View { return View{t, t.db.NewSnapshot()} }

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
	return v.t.condemn(scan(v.snapshot, from, to, func(key, value []byte) error {
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
	}))
}

// Windows calls f with the cells of one partition of a generation of a site whose windows start at from or later, and before to (seconds since
// 1970), of every report and link. The rows are valid during the call.
func (v View) Windows(unit zone.Unit, site, generation uint32, partition int32, from, to int64, f func(id bucket.ID, rows *bucket.Rows) error) error {
	prefix := sitePrefix(nil, unit, site, generation)
	iter, err := v.snapshot.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: upTo(prefix)})
	if err != nil {
		return fmt.Errorf("read the table of counts: %w", err)
	}
	err = func() error {
		for ok := iter.First(); ok; {
			id, err := parseKey(iter.Key())
			if err != nil {
				return err
			}
			report := reportPrefix(nil, unit, site, generation, id.Report, id.Link)
			switch {
			case id.Start < from:
				ok = iter.SeekGE(appendStart(report, from))
				continue
			case id.Start >= to:
				ok = iter.SeekGE(upTo(report))
				continue
			}
			if id.Partition == partition {
				value, err := iter.ValueAndErr()
				if err != nil {
					return fmt.Errorf("read the table of counts: %w", err)
				}
				rows := bucket.ReadRows(value)
				if err := f(id, &rows); err != nil {
					return err
				}
				if rows.Err() != nil {
					return fmt.Errorf("%w: key %x", ErrDamaged, iter.Key())
				}
			}
			ok = iter.Next()
		}
		return nil
	}()
	if closed := iter.Close(); err == nil && closed != nil {
		err = fmt.Errorf("read the table of counts: %w", closed)
	}
	return v.t.condemn(err)
}

// Cursor is where a walk over the cells of a site is. The zero Cursor is at the beginning.
type Cursor []byte

// Cells calls f with the cells of a generation of a site, in order of report, link, start, partition and shard, beginning after a cursor.
// f returns false to stop; the cursor that is returned goes on after the last cell that f took. done says that there are no more.
func (v View) Cells(unit zone.Unit, site, generation uint32, after Cursor, f func(id bucket.ID, rows *bucket.Rows) (bool, error)) (next Cursor, done bool, err error) {
	prefix := sitePrefix(nil, unit, site, generation)
	from := prefix
	if after != nil {
		from = append(append([]byte(nil), after...), 0)
	}
	next = after
	err = v.t.condemn(scan(v.snapshot, from, upTo(prefix), func(key, value []byte) error {
		id, err := parseKey(key)
		if err != nil {
			return err
		}
		rows := bucket.ReadRows(value)
		more, err := f(id, &rows)
		if err != nil {
			return err
		}
		next = append(next[:0:0], key...)
		if !more {
			return errStop
		}
		return nil
	}))
	if errors.Is(err, errStop) {
		return next, false, nil
	}
	return next, true, err
}

var errStop = errors.New("stop")

// Sites returns the sites that have cells, with the generations they have them in.
func (v View) Sites(unit zone.Unit) (map[uint32][]uint32, error) {
	iter, err := v.snapshot.NewIter(&pebble.IterOptions{LowerBound: []byte{'c', byte(unit)}, UpperBound: []byte{'c', byte(unit) + 1}})
	if err != nil {
		return nil, fmt.Errorf("read the table of counts: %w", err)
	}
	sites := map[uint32][]uint32{}
	for ok := iter.First(); ok; {
		id, err := parseKey(iter.Key())
		if err != nil {
			return nil, v.t.condemn(errors.Join(err, iter.Close()))
		}
		sites[id.SiteID] = append(sites[id.SiteID], id.Generation)
		ok = iter.SeekGE(upTo(sitePrefix(nil, unit, id.SiteID, id.Generation)))
	}
	if err := iter.Close(); err != nil {
		return nil, v.t.condemn(fmt.Errorf("read the table of counts: %w", err))
	}
	return sites, nil
}

// Bounds returns the starts of the first and of the last window of a site's total, and false when there is none.
func (v View) Bounds(unit zone.Unit, site, generation uint32, report string) (first, last int64, ok bool, err error) {
	prefix := reportPrefix(nil, unit, site, generation, report, "")
	iter, err := v.snapshot.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: upTo(prefix)})
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
	return first, last, ok, v.t.condemn(err)
}
