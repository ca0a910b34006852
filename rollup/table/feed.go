package table

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/zone"
)

// The fold that writes a partition mostly runs in the same process as the table. Then the table need not fetch, unpack and parse what the
// fold has just made: the fold hands it over when it is committed, and the table stops reading that partition until the fold lets go of it
// or something was committed that did not come this way.

// Cell is the content of a record in the form of the table, as its writer has it at hand.
type Cell struct {
	ID       bucket.ID
	FoldedTo int64
	Rows     []byte // as bucket.AppendRows writes them
}

// Expect says that the writer of a partition will hand over what comes from an offset on, so that the table need not read the first of it
// before it is handed over.
func (t *Table) Expect(unit zone.Unit, partition int32, offset int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.part(partID{unit, partition})
	t.hold(p, p.readTo == offset && len(p.pending) == 0)
}

// Feed hands over records that their writer knows to be committed, with their offsets set, neighbours in the log, a progress record last.
// cells are the records before the last one, or nil: then the records are parsed. What does not join up with what the table has is left
// for it to read. The memory of both may be used again when Feed returns.
func (t *Table) Feed(unit zone.Unit, partition int32, records []*kgo.Record, cells []Cell) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := partID{unit, partition}
	p := t.part(id)
	first, end := records[0].Offset, records[len(records)-1].Offset+1
	p.fedTo = max(p.fedTo, end)
	defer func() { t.hold(p, p.readTo == end && len(p.pending) == 0) }()
	if first != p.readTo || len(p.pending) > 0 || end-first != int64(len(records)) {
		return nil
	}
	if len(cells) != len(records)-1 {
		return t.commitRecords(id, p, records)
	}
	return t.change(id, p, len(records), func(a *applier) error {
		for i := range cells {
			if err := a.put(&cells[i]); err != nil {
				return err
			}
		}
		a.next.next = end
		return a.apply(records[len(records)-1])
	})
}

// commitRecords takes records that join up with what the table has. t.mu is held.
func (t *Table) commitRecords(id partID, p *part, records []*kgo.Record) error {
	return t.change(id, p, len(records), func(a *applier) error {
		for _, r := range records {
			if err := a.apply(r); err != nil {
				return err
			}
			a.next.next = r.Offset + 1
		}
		return nil
	})
}

// put adds a cell.
func (a *applier) put(c *Cell) error {
	a.key = cellKey(a.key[:0], a.id.unit, &c.ID)
	a.sites[c.ID.SiteID] = true
	stays, err := a.stays(c.FoldedTo)
	if err != nil || stays {
		return err
	}
	return wrapWrite(a.batch.Set(a.key, c.Rows, nil))
}

// Unfeed says that its writer will not hand over a partition any more: the table reads it from the log again.
func (t *Table) Unfeed(unit zone.Unit, partition int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hold(t.part(partID{unit, partition}), false)
}

// hold notes whether a partition is handed over, and wakes who reads the log. t.mu is held.
func (t *Table) hold(p *part, fed bool) {
	if p.fed == fed {
		return
	}
	p.fed = fed
	select {
	case t.refit <- struct{}{}:
	default:
	}
}

// followFed takes partitions that are handed over out of what a client reads, and back in when that ends, until ctx ends. reading says
// which ones the client reads at first.
func (t *Table) followFed(ctx context.Context, client *kgo.Client, reading map[partID]bool) {
	for {
		out, in := map[string][]int32{}, map[string]map[int32]kgo.Offset{}
		t.mu.Lock()
		for id, reads := range reading {
			p, topic := t.part(id), t.cfg.Topics[id.unit]
			switch {
			case p.fed && reads:
				out[topic] = append(out[topic], id.partition)
			case !p.fed && !reads:
				if in[topic] == nil {
					in[topic] = map[int32]kgo.Offset{}
				}
				in[topic][id.partition] = kgo.NewOffset().At(p.readTo)
			}
			reading[id] = !p.fed
		}
		t.mu.Unlock()
		if len(out) > 0 {
			client.RemoveConsumePartitions(out)
		}
		if len(in) > 0 {
			client.AddConsumePartitions(in)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.refit:
		}
	}
}
