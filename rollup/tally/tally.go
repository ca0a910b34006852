package tally

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup/delta"
	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/ring"
	"github.com/weir-analytics/weir/rollup/visit"
)

// When and how large a flush is.
const (
	firstWait  = 5 * time.Millisecond   // after the first hit of a quiet time, for those that come with it
	flushEvery = 150 * time.Millisecond // under steady traffic
	flushBytes = 640 << 10              // of records, so that a flush is one batch below the usual limit of 1 MB
	lateMs     = 3_600_000
)

// siteWait is how long a hit of a site that this node does not know yet is waited for, before it is set apart: the state of the cluster
// reaches a node within moments of the hit.
const siteWait = 10 * time.Second

// Sites tells which sites there are.
type Sites interface{ State() *state.State }

// How often what is known is saved: after each flush while little changed, else this often, so that visitors who come again and again are
// saved once.
const (
	saveEvery  = time.Second
	saveAtOnce = 256 // visitors
)

// Store keeps what is known of identities and visits on this node. It is a cache: what is missing is read from the log again.
type Store interface {
	// Load returns what was saved for a partition, and false when there is nothing.
	Load(partition int32) (Saved, bool, error)
	// Save adds a change, all of it or nothing. It need not survive a crash of the machine, but what survives is a state that was saved.
	Save(partition int32, change Change) error
	// Forget removes what was saved for a partition.
	Forget(partition int32) error
}

// Tally makes the workers of the group. Its fields are set once.
type Tally struct {
	Log     feed.Log
	Events  string // topic that is read
	Deltas  string // topic that is written
	State   string // topic with what is known, for members without a copy of it
	Sites   Sites
	Store   Store
	Metrics *Metrics
	Logger  *slog.Logger

	StateEvents int64         // after so many events what is known is written to State; 0 is 250,000
	StateEvery  time.Duration // and at most this often; 0 is 30 s
}

// Partition tallies one partition of events. It implements feed.Worker.
type Partition struct {
	t         *Tally
	partition int32

	next     int64 // offset of the next event to take
	from     int64 // every event before is published
	at       int64 // end of the partition of deltas: where the next flush has to land
	received int64 // latest time of receipt of all events taken, Unix milliseconds
	dedup    *dedup
	visits   *visit.Visits
	inc      *increments
	counted  int
	late     int

	firstAt   time.Time // when the first event that is not published was taken
	flushedAt time.Time
	savedAt   time.Time
	unsaved   bool      // what is known of events before from is not saved
	stateAt   time.Time // when what is known was written to the log, or the partition was taken over
	stateFrom int64     // every event before was taken into account then
	hit       hit.Hit
}

var _ feed.Worker = (*Partition)(nil)

// Add implements feed.Worker.
func (p *Partition) Add(ctx context.Context, records []*kgo.Record, now time.Time) (int, error) {
	for i, r := range records {
		if p.inc.sizeBound >= flushBytes {
			return i, nil
		}
		switch {
		case r.Offset < p.next:
			continue
		case r.Offset > p.next:
			return i, fmt.Errorf("read events at offset %d, want %d: the log jumped", r.Offset, p.next)
		}
		if p.next == p.from {
			p.firstAt = now
		}
		p.next++
		if err := p.take(ctx, r); err != nil {
			return i, err
		}
	}
	return len(records), nil
}

// take counts one event or sets it apart. It fails only when ctx ends.
func (p *Partition) take(ctx context.Context, r *kgo.Record) error {
	h := &p.hit
	if err := hit.Borrow(r.Value, h); err != nil {
		p.apart(apartGarbage)
		return nil
	}
	p.received = max(p.received, h.ReceivedMs)
	if p.dedup.repeat(h, p.received) {
		p.apart(apartRepeat)
		return nil
	}
	switch ring.Judge(h.TimeMs, h.ReceivedMs) {
	case ring.Future:
		p.apart(apartFuture)
		return nil
	case ring.Ancient:
		p.apart(apartAncient)
		return nil
	}
	ok, err := p.siteExists(ctx, h.SiteID)
	if err != nil {
		return err
	}
	if !ok {
		p.apart(apartSite)
		return nil
	}
	p.visits.Add(h, r.Offset, p.received, p.inc)
	if h.Kind == hit.Engagement {
		p.apart(apartNoHit)
		return nil
	}
	p.inc.add(h)
	p.counted++
	if h.ReceivedMs-h.TimeMs > lateMs {
		p.late++
	}
	return nil
}

// siteExists looks a site up. Numbers of sites grow and are not used again, so a number that was never given is either garbage or of a
// site that this node has not heard of yet.
func (p *Partition) siteExists(ctx context.Context, site state.SiteID) (bool, error) {
	s := p.t.Sites.State()
	if _, ok := s.Sites[site]; ok || site < s.NextSiteID {
		return ok, nil
	}
	p.t.Logger.Warn("a hit names a site that is not known here yet: waiting", "site", site, "partition", p.partition, "at_most", siteWait)
	deadline := time.Now().Add(siteWait)
	for time.Now().Before(deadline) {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
		if s = p.t.Sites.State(); site < s.NextSiteID {
			break
		}
	}
	_, ok := s.Sites[site]
	return ok, nil
}

func (p *Partition) apart(reason string) { p.t.Metrics.setApart.WithLabelValues(reason).Inc() }

// Due implements feed.Worker.
func (p *Partition) Due() time.Time {
	if p.next == p.from {
		if p.unsaved {
			return p.savedAt.Add(saveEvery)
		}
		return time.Time{}
	}
	due := p.firstAt.Add(firstWait)
	if steady := p.flushedAt.Add(flushEvery); steady.After(due) {
		return steady
	}
	return due
}

// Flush implements feed.Worker. A range without anything to count is published too, as one record, so that readers know it is done.
func (p *Partition) Flush(_ context.Context, now time.Time) ([]*kgo.Record, error) {
	if p.next == p.from {
		return nil, p.save(now)
	}
	flush := delta.Flush{Partition: p.partition, From: p.from, To: p.next, At: p.at, ReceivedMs: p.received, Count: max(1, len(p.inc.minutes))}
	records := make([]*kgo.Record, 0, flush.Count)
	add := func(d *delta.Delta) error {
		d.Flush, d.Index = flush, len(records)
		records = append(records, &kgo.Record{Topic: p.t.Deltas, Partition: p.partition, Key: d.Key(), Value: delta.Append(nil, d)})
		return nil
	}
	if p.inc.empty() {
		if err := add(new(delta.Delta)); err != nil {
			return nil, err
		}
	} else if err := p.inc.deltas(add); err != nil {
		return nil, err
	}
	return append(records, p.writeState(now)...), nil
}

// writeState returns the records with all that is known, when it is time. They are of events whose deltas leave with them and may get lost:
// who reads them takes none that is ahead of the deltas that count.
func (p *Partition) writeState(now time.Time) []*kgo.Record {
	since, events := now.Sub(p.stateAt), p.next-p.stateFrom
	if since < cmp.Or(p.t.StateEvery, stateEvery) || events < cmp.Or(p.t.StateEvents, stateEvents) && since < stateAtMost {
		return nil
	}
	p.stateAt, p.stateFrom = now, p.next
	saved := p.dedup.all(p.next, p.received)
	saved.Visits = p.visits.All()
	var records []*kgo.Record
	for i, value := range pieces(saved, rand.Uint64()) {
		records = append(records, &kgo.Record{Topic: p.t.State, Partition: p.partition, Key: fmt.Appendf(nil, "%d|%d", p.next, i), Value: value})
	}
	return records
}

// Flushed implements feed.Worker.
func (p *Partition) Flushed(records []*kgo.Record, now time.Time) error {
	records = slices.DeleteFunc(slices.Clone(records), func(r *kgo.Record) bool { return r.Topic != p.t.Deltas })
	for i, r := range records {
		if r.Offset != p.at+int64(i) {
			return fmt.Errorf("the flush landed at offset %d, was meant for %d: %w", r.Offset, p.at+int64(i), feed.ErrLostRace)
		}
	}
	p.t.Metrics.counted.Add(float64(p.counted))
	p.t.Metrics.late.Add(float64(p.late))
	p.at += int64(len(records))
	p.from, p.flushedAt, p.counted, p.late = p.next, now, 0, 0
	p.inc.reset()
	p.unsaved = true
	if p.visits.Changed() > saveAtOnce && now.Sub(p.savedAt) < saveEvery {
		return nil
	}
	return p.save(now)
}

// save keeps what is known on this node. Everything that was taken has to be published.
func (p *Partition) save(now time.Time) error {
	if !p.unsaved {
		return nil
	}
	change := p.dedup.takeChange(p.from, p.received)
	change.Visits = p.visits.TakeChange()
	if err := p.t.Store.Save(p.partition, change); err != nil {
		return fmt.Errorf("save what is known of identities and visits: %w", err)
	}
	p.unsaved, p.savedAt = false, now
	return nil
}

// Position implements feed.Worker.
func (p *Partition) Position() int64 { return p.from }
