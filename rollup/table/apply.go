package table

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/zone"
)

// pendingRecords is the most that is held back of a partition while waiting for a progress record. Folds flush well before.
const pendingRecords = 1 << 16

// Take takes records of a partition of one of the topics, in order, and puts into the table what they complete: everything up to the last
// progress record. It keeps the rest. Records that it has already are passed over.
func (t *Table) Take(unit zone.Unit, partition int32, records []*kgo.Record) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := partID{unit, partition}
	p := t.part(id)
	done := 0
	for _, r := range records {
		if r.Offset < p.readTo {
			continue
		}
		p.pending = append(p.pending, r)
		p.readTo = r.Offset + 1
		if bucket.IsProgressKey(r.Key) {
			done = len(p.pending)
		}
	}
	if p.settleAt > p.next && p.readTo >= p.settleAt || len(p.pending) > pendingRecords {
		done = len(p.pending)
	}
	if done == 0 {
		return nil
	}
	return t.commit(id, p, done)
}

// commit takes the first n pending records of a partition. t.mu is held.
func (t *Table) commit(id partID, p *part, n int) error {
	if err := t.commitRecords(id, p, p.pending[:n]); err != nil {
		return err
	}
	p.pending = append(p.pending[:0:0], p.pending[n:]...)
	return nil
}

// change puts what f applies and the new position of a partition into the table, in one batch, and tells who waits. t.mu is held, so that
// positions and cells change together for whoever looks under it.
func (t *Table) change(id partID, p *part, n int, f func(a *applier) error) error {
	batch := t.db.NewBatch()
	defer batch.Close()
	next := p.state
	sites := map[uint32]bool{}
	if err := f(&applier{t: t, batch: batch, id: id, next: &next, sites: sites}); err != nil {
		return err
	}
	if err := batch.Set(partKey(id.unit, id.partition), next.append(nil), nil); err != nil {
		return fmt.Errorf("write the table of counts: %w", err)
	}
	if err := batch.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("write the table of counts: %w", err)
	}
	t.dirty.Store(true)
	t.metrics.records.WithLabelValues(id.unit.String()).Add(float64(n))
	p.state, p.readTo = next, max(p.readTo, next.next)
	close(t.changed)
	t.changed = make(chan struct{})
	t.notify(sites)
	return nil
}

// applier adds records to a batch.
type applier struct {
	t     *Table
	batch *pebble.Batch
	id    partID
	next  *state
	sites map[uint32]bool

	cell       bucket.Cell // memory that is used again
	key, value []byte
}

// apply adds one record. What is no cell is counted and passed over: the topic is open to other writers.
func (a *applier) apply(r *kgo.Record) error {
	if bucket.IsProgressKey(r.Key) {
		var progress bucket.Progress
		if err := progress.ParseJSON(r.Value); err != nil || progress.Partition != a.id.partition {
			a.t.foreign(a.id, r)
		} else if progress.FoldedTo >= a.next.progress.FoldedTo {
			a.next.progress, a.next.any = progress, true
		}
		return nil
	}
	if bucket.IsGenerationKey(r.Key) {
		return a.t.applyGeneration(a.batch, a.id, r)
	}
	id, err := bucket.ParseKey(r.Key)
	if err != nil || id.Partition != a.id.partition || id.Shard > 1<<16-1 {
		a.t.foreign(a.id, r)
		return nil
	}
	a.key = cellKey(a.key[:0], a.id.unit, &id)
	a.sites[id.SiteID] = true
	if len(r.Value) == 0 {
		return wrapWrite(a.batch.Delete(a.key, nil))
	}
	if err := a.cell.ParseJSON(r.Value); err != nil {
		a.t.foreign(a.id, r)
		return nil
	}
	stays, err := a.stays(a.cell.FoldedTo)
	if err != nil || stays {
		return err
	}
	a.value = a.cell.AppendRows(a.value[:0])
	return wrapWrite(a.batch.Set(a.key, a.value, nil))
}

// stays says whether the table has the cell under a.key folded further than the record does, which is then from a member that had lost
// the partition. A record that is folded as far as any before it needs no look: that is all of them but for such members.
func (a *applier) stays(foldedTo int64) (bool, error) {
	if foldedTo >= a.next.maxFolded {
		a.next.maxFolded = foldedTo
		return false, nil
	}
	if !a.batch.Empty() { // the look has to see what is in the batch
		if err := a.batch.Commit(pebble.NoSync); err != nil {
			return false, wrapWrite(err)
		}
		a.batch.Reset()
	}
	have, err := a.t.foldedTo(a.key)
	return foldedTo < have, err
}

func (t *Table) applyGeneration(batch *pebble.Batch, id partID, r *kgo.Record) error {
	var g bucket.Generation
	if err := g.ParseJSON(r.Value); err != nil || g.Partition != id.partition || string(g.AppendKey(nil)) != string(r.Key) {
		t.foreign(id, r)
		return nil
	}
	value := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(g.Generation)), uint64(g.FoldedTo))
	return wrapWrite(batch.Set(generationKey(id.unit, id.partition, g.SiteID), value, nil))
}

func wrapWrite(err error) error {
	if err != nil {
		return fmt.Errorf("write the table of counts: %w", err)
	}
	return nil
}

// foldedTo returns how far the cell in the table is folded, -1 when there is none.
func (t *Table) foldedTo(key []byte) (int64, error) {
	value, closer, err := t.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return -1, nil
	}
	if err != nil {
		return 0, t.condemn(fmt.Errorf("read the table of counts: %w", err))
	}
	defer closer.Close()
	if len(value) < 2 {
		return 0, t.condemn(fmt.Errorf("%w: cell %x", ErrDamaged, key))
	}
	n, size := binary.Uvarint(value[1:])
	if size <= 0 {
		return 0, t.condemn(fmt.Errorf("%w: cell %x", ErrDamaged, key))
	}
	return int64(n), nil
}

func (t *Table) foreign(id partID, r *kgo.Record) {
	t.metrics.foreign.WithLabelValues(id.unit.String()).Inc()
	t.cfg.Logger.Warn("a record among the counts is none of ours: passed over", "window", id.unit.String(), "partition", id.partition, "offset", r.Offset)
}

// Watch returns a channel that gets a token when cells of a site changed, and a function that ends the watch. Tokens are joined: one
// that is not taken stands for all changes since.
func (t *Table) Watch(site uint32) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	t.watchMu.Lock()
	defer t.watchMu.Unlock()
	if t.watchers[site] == nil {
		t.watchers[site] = map[chan struct{}]struct{}{}
	}
	t.watchers[site][ch] = struct{}{}
	return ch, func() {
		t.watchMu.Lock()
		defer t.watchMu.Unlock()
		delete(t.watchers[site], ch)
		if len(t.watchers[site]) == 0 {
			delete(t.watchers, site)
		}
	}
}

func (t *Table) notify(sites map[uint32]bool) {
	t.watchMu.Lock()
	defer t.watchMu.Unlock()
	if len(t.watchers) == 0 {
		return
	}
	for site := range sites {
		for ch := range t.watchers[site] {
			select {
			case ch <- struct{}{}:
			default:
			}
		}
	}
}
