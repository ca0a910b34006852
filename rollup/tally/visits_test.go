package tally

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/delta"
	"github.com/weir-analytics/weir/rollup/internal/oracle"
	"github.com/weir-analytics/weir/rollup/report"
	"github.com/weir-analytics/weir/rollup/visit"
	"github.com/weir-analytics/weir/rollup/zone"
)

// TestDeltasOfRandomStreamsEqualTheOracle adds the deltas of random hits up and compares every row of every minute with a recount. Now and then
// a partition is made anew from what it saved, sometimes with what it took since taken again, as after a crash.
func TestDeltasOfRandomStreamsEqualTheOracle(t *testing.T) {
	zones := map[uint32]string{1: "UTC", 2: "UTC", 3: "UTC"}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 3))
		o := oracle.New(zones)
		traffic := &oracle.Traffic{Rand: r, Sites: zones, Start: received, Span: []int64{0, 90 * 60_000, 40 * 86_400_000}[seed%3]}
		streams := make([]*stream, 2)
		for i := range streams {
			streams[i] = &stream{t: t, number: int32(i), p: newTestPartition(3), store: saved{ids: Saved{Sources: map[string]uint64{}}, visits: map[[2]uint64]visit.Saved{}}}
			streams[i].p.partition = int32(i)
			streams[i].p.t.Store = &streams[i].store
		}
		sums := map[sumKey]delta.Counts{}
		for range 3000 {
			partition, h := traffic.Next(len(streams))
			o.Add(partition, h)
			s := streams[partition]
			s.records = append(s.records, &kgo.Record{Offset: int64(len(s.records)), Value: hit.Append(nil, &h)})
			if r.IntN(30) == 0 {
				s.catchUp(sums, r.IntN(8) == 0)
			}
		}
		for _, s := range streams {
			s.catchUp(sums, false)
		}
		compareSums(t, seed, sums, o, zones)
		if t.Failed() {
			return
		}
	}
}

type sumKey struct {
	site              uint32
	minute            int64
	report, link, key string
}

func compareSums(t *testing.T, seed uint64, sums map[sumKey]delta.Counts, o *oracle.Oracle, zones map[uint32]string) {
	t.Helper()
	want := map[sumKey]delta.Counts{}
	for site := range zones {
		for _, r := range report.All() {
			by := r.Name()
			if by == report.Total {
				by = ""
			}
			links := []string{""}
			if r.PerLink() {
				links = append(links, "l0", "l1", "l2", "l3")
			}
			for _, link := range links {
				for cell, c := range o.Count(oracle.Question{Site: site, By: by, Link: link, Every: zone.Minute}) {
					want[sumKey{site, cell.Start / 60, r.Name(), link, cell.Key}] = delta.Counts{Hits: c.Hits, Bots: c.Bots, Pageviews: c.Pageviews, Events: c.Events,
						Clicks: c.Clicks, Visits: c.Visits, Bounces: c.Bounces, DurationMs: c.DurationMs, EngagedMs: c.EngagedMs, ScrollSum: c.ScrollSum, ScrollViews: c.ScrollViews}
				}
			}
		}
	}
	wrong := 0
	for k, w := range want {
		if sums[k] != w {
			if wrong++; wrong < 8 {
				t.Errorf("seed %d: %+v is %+v, want %+v", seed, k, sums[k], w)
			}
		}
	}
	for k, c := range sums {
		if _, ok := want[k]; !ok && c != (delta.Counts{}) {
			if wrong++; wrong < 8 {
				t.Errorf("seed %d: %+v is %+v, want nothing", seed, k, c)
			}
		}
	}
	if wrong > 0 || len(want) == 0 {
		t.Errorf("seed %d: %d rows of %d are wrong", seed, wrong, len(want))
	}
}

// stream is a partition of events, and the worker that counts it.
type stream struct {
	t       *testing.T
	number  int32
	p       *Partition
	records []*kgo.Record
	store   saved
	older   saved    // what was saved some time ago, as a crash of the machine may bring back
	log     [][]byte // what was written of the state
}

// catchUp counts what has come. A crash loses the worker, and what it has taken and not published.
func (s *stream) catchUp(sums map[sumKey]delta.Counts, crash bool) {
	s.t.Helper()
	now := time.Unix(1000, 0)
	if !crash && s.p.from%3 == 0 {
		s.older = s.store.copy()
	}
	if crash {
		if s.p.from%4 > 0 && s.older.visits != nil {
			s.store = s.older.copy()
		}
		if _, err := s.p.Add(context.Background(), s.records[s.p.next:], now); err != nil {
			s.t.Fatal(err)
		}
		if s.p.next > s.p.from && s.p.from%2 == 0 { // it may have made its deltas, which never left, and its state, which did
			s.p.stateAt = time.Time{}
			records, err := s.p.Flush(context.Background(), now)
			if err != nil {
				s.t.Fatal(err)
			}
			for _, r := range records {
				if r.Topic == s.p.t.State {
					s.log = append(s.log, r.Value)
				}
			}
		}
		s.reopen()
	}
	for s.p.next < int64(len(s.records)) {
		if _, err := s.p.Add(context.Background(), s.records[s.p.next:], now); err != nil {
			s.t.Fatal(err)
		}
		if s.p.from%5 == 0 {
			s.p.stateAt = time.Time{}
		}
		deltas, state := flushAll(s.t, s.p, now)
		s.log = append(s.log, state...)
		for _, d := range deltas {
			for _, c := range d.Cells {
				for _, r := range c.Rows {
					k := sumKey{d.SiteID, d.Minute, c.Report, c.Link, r.Key}
					sum := sums[k]
					sum.Add(&r.Counts)
					sums[k] = sum
				}
			}
		}
	}
}

// reopen makes the worker anew from what was saved, and from the events since, as Open does.
func (s *stream) reopen() {
	s.t.Helper()
	old := s.p
	s.p = newTestPartition(3)
	s.p.t.Store, s.p.partition = &s.store, s.number
	if old.from%7 < 3 { // another node, which has nothing on its disk
		g := gathering{atMost: old.from}
		for _, value := range s.log {
			g.add(value)
		}
		s.store = saved{ids: Saved{Sources: map[string]uint64{}}, visits: map[[2]uint64]visit.Saved{}}
		if w := g.best; w != nil {
			change := Change{Position: w.Position, ReceivedMs: w.ReceivedMs, Sources: w.Sources, Added: w.Blocks, Visits: w.Visits}
			if err := s.store.Save(s.number, change); err != nil {
				s.t.Fatal(err)
			}
		}
		s.older = s.store.copy()
	}
	s.p.from, s.p.next, s.p.at, s.p.received = old.from, old.from, old.at, s.store.received
	s.p.dedup = newDedup([16]byte{}, s.store.copyIDs())
	var all []visit.Saved
	for _, one := range s.store.visits {
		all = append(all, one)
	}
	var err error
	if s.p.visits, err = visit.New(all); err != nil {
		s.t.Fatal(err)
	}
	for _, r := range s.records[s.store.position:old.from] {
		s.p.retake(r)
	}
}

// saved is a Store in memory.
type saved struct {
	position, received int64
	ids                Saved
	visits             map[[2]uint64]visit.Saved
}

func (s *saved) Load(int32) (Saved, bool, error) { return Saved{}, false, nil }
func (s *saved) Forget(int32) error              { return nil }
func (s *saved) Save(_ int32, c Change) error {
	if c.Position < s.position {
		return fmt.Errorf("saved at %d after %d", c.Position, s.position)
	}
	s.position, s.received = c.Position, c.ReceivedMs
	for source, seq := range c.Sources {
		s.ids.Sources[source] = seq
	}
	s.ids.Blocks = append(s.ids.Blocks, c.Added...)
	for _, v := range c.Visits {
		k := [2]uint64{uint64(v.Site), v.Visitor}
		if s.visits[k] = v; v.Data == nil {
			delete(s.visits, k)
		}
	}
	return nil
}

func (s *saved) copy() saved {
	return saved{s.position, s.received, Saved{Sources: maps.Clone(s.ids.Sources), Blocks: slices.Clone(s.ids.Blocks)}, maps.Clone(s.visits)}
}

func (s *saved) copyIDs() Saved {
	c := Saved{Position: s.position, ReceivedMs: s.received, Sources: map[string]uint64{}}
	for source, seq := range s.ids.Sources {
		c.Sources[source] = seq
	}
	for _, b := range s.ids.Blocks {
		if n := len(c.Blocks); n > 0 && c.Blocks[n-1].Hour == b.Hour && c.Blocks[n-1].N == b.N {
			c.Blocks[n-1].IDs = append(c.Blocks[n-1].IDs, b.IDs...)
			continue
		}
		b.IDs = append([]uint64{}, b.IDs...)
		c.Blocks = append(c.Blocks, b)
	}
	return c
}
