package fold

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/delta"
	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/sketch"
	"github.com/weir-analytics/weir/rollup/table"
	"github.com/weir-analytics/weir/rollup/zone"
)

type fixedSites struct{ state *state.State }

func (s fixedSites) State() *state.State { return s.state }

// rig is a fold of one partition on a table, with the log played by slices.
type rig struct {
	t        testing.TB
	fold     *Fold
	table    *table.Table
	in       []*kgo.Record // deltas
	out      []*kgo.Record // what was published
	p        *Partition
	now      time.Time
	received int64 // when the hits of the next deltas came, Unix milliseconds
	feeds    bool  // the table has the records from the fold, else from the log
}

func newRig(t testing.TB, unit zone.Unit, zoneName string, cache int) *rig {
	t.Helper()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	tab, err := table.Open(table.Config{Dir: t.TempDir(), Topics: map[zone.Unit]string{unit: "out"}, CacheBytes: 1 << 20, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tab.Close() })
	s := &state.State{Sites: map[state.SiteID]state.Site{}, NextSiteID: 4}
	for id := uint32(1); id < 4; id++ {
		s.Sites[id] = state.Site{ID: id, Name: fmt.Sprintf("site%d.example", id), Timezone: zoneName, Generation: 1}
	}
	r := &rig{t: t, table: tab, now: time.Unix(1000, 0), fold: &Fold{Deltas: "in", Topic: "out", Unit: unit, Sites: fixedSites{s}, Table: tab,
		Cache: cache, Metrics: NewMetrics(nil), Logger: quiet}}
	r.open()
	return r
}

// open starts the partition from the log and the table, as after a crash.
func (r *rig) open() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	p, err := r.fold.open(ctx, 0, int64(len(r.out)), feed.Bounds{End: int64(len(r.in))})
	if err != nil {
		r.t.Fatal(err)
	}
	r.p = p
}

// feed logs a flush of deltas.
func (r *rig) feed(deltas ...delta.Delta) {
	at := int64(len(r.in))
	from := int64(0)
	if at > 0 {
		var last delta.Delta
		if err := delta.Parse(r.in[at-1].Value, &last); err != nil {
			r.t.Fatal(err)
		}
		from = last.To
	}
	for i := range deltas {
		deltas[i].Flush = delta.Flush{From: from, To: from + 10, At: at, Count: len(deltas), ReceivedMs: r.received}
		deltas[i].Index = i
		r.in = append(r.in, &kgo.Record{Offset: at + int64(i), Value: delta.Append(nil, &deltas[i])})
	}
}

// take hands the fold what it has not taken.
func (r *rig) take() {
	r.t.Helper()
	for left := r.in[r.p.next:]; len(left) > 0; {
		n, err := r.p.Add(context.Background(), left, r.now)
		if err != nil {
			r.t.Fatal(err)
		}
		if left = left[n:]; len(left) > 0 {
			r.flush()
		}
	}
}

// publish appends records to the log and, if it is to read them there, lets the table have them.
func (r *rig) publish(records []*kgo.Record, read bool) {
	r.t.Helper()
	for _, rec := range records {
		rec.Offset = int64(len(r.out))
		kept := *rec // its memory is used again
		kept.Key, kept.Value = bytes.Clone(rec.Key), bytes.Clone(rec.Value)
		r.out = append(r.out, &kept)
		if len(rec.Value) > 700<<10 {
			r.t.Errorf("a record of %d bytes", len(rec.Value))
		}
	}
	if !read {
		return
	}
	if err := r.table.Take(r.fold.Unit, 0, r.out[len(r.out)-len(records):]); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) flush() {
	r.t.Helper()
	records, err := r.p.Flush(context.Background(), r.now)
	if err != nil || len(records) == 0 {
		if err != nil {
			r.t.Fatal(err)
		}
		return
	}
	r.publish(records, !r.feeds)
	if err := r.p.Flushed(records, r.now); err != nil {
		r.t.Fatal(err)
	}
}

// tear publishes a first part of a flush and then dies.
func (r *rig) tear(rng *rand.Rand) {
	r.t.Helper()
	records, err := r.p.Flush(context.Background(), r.now)
	if err != nil {
		r.t.Fatal(err)
	}
	r.publish(records[:rng.IntN(len(records)+1)], true)
	r.open()
}

// truth is what was fed, by window, report, link and row.
type truth map[string]*truthRow

type truthRow struct {
	counts   bucket.Counts
	visitors map[uint64]bool
}

func (tr truth) add(key string, c delta.Counts, visitors []uint64) {
	row := tr[key]
	if row == nil {
		row = &truthRow{visitors: map[uint64]bool{}}
		tr[key] = row
	}
	row.counts.Add(bucket.Counts(c))
	for _, v := range visitors {
		row.visitors[v] = true
	}
}

func rowKey(site uint32, start int64, report, link, key string) string {
	return fmt.Sprint(site, "/", start, "/", report, "/", link, "/", key)
}

// check compares the last record of each key, and the table, with the truth.
func (r *rig) check(want truth) {
	r.t.Helper()
	last := map[string][]byte{}
	for _, rec := range r.out {
		if !bucket.IsProgressKey(rec.Key) {
			last[string(rec.Key)] = rec.Value
		}
	}
	got := 0
	for key, value := range last {
		var c bucket.Cell
		if err := c.ParseJSON(value); err != nil {
			r.t.Fatalf("%s: %v", key, err)
		}
		stored, err := r.table.Cell(r.fold.Unit, c.ID)
		if err != nil || len(stored) <= c.Shard || len(stored[c.Shard].Rows) != len(c.Rows) {
			r.t.Fatalf("%s: the table has %d shards, error %v", key, len(stored), err)
		}
		for i, row := range c.Rows {
			got++
			name := rowKey(c.SiteID, c.Start, c.Report, c.Link, row.Key)
			w := want[name]
			if w == nil || row.Counts != w.counts || row.Visitors != int64(len(w.visitors)) {
				r.t.Fatalf("%s: %+v, want %+v", name, row, w)
			}
			if in := stored[c.Shard].Rows[i]; in.Key != row.Key || in.Counts != row.Counts || string(in.Sketch) != string(row.Sketch) {
				r.t.Fatalf("%s: the table has %+v", name, in)
			}
		}
	}
	if got != len(want) {
		r.t.Fatalf("%d rows, want %d", got, len(want))
	}
}

// randomDelta makes up a delta and tells the truth.
func randomDelta(rng *rand.Rand, z *zone.Zone, unit zone.Unit, minute int64, pages int, want truth) delta.Delta {
	d := delta.Delta{SiteID: uint32(1 + rng.IntN(3)), Minute: minute}
	for range 1 + rng.IntN(4) {
		d.Visitors = append(d.Visitors, 1+uint64(rng.IntN(40))*0x9e3779b97f4a7c15)
	}
	start := z.Window(unit, minute*60).Start
	for _, report := range []struct {
		name, link string
		rows       int
	}{{"total", "", 1}, {"page", "", pages}, {"country", "", 5}, {"total", "spring", 1}} {
		c := delta.Cell{Report: report.name, Link: report.link}
		seen := map[string]bool{}
		for range 1 + rng.IntN(4) {
			key := ""
			if report.rows > 1 {
				key = fmt.Sprint("/", rng.IntN(report.rows))
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			row := delta.Row{Key: key, Counts: delta.Counts{Hits: 1 + rng.Int64N(5), Pageviews: rng.Int64N(2)}}
			var ids []uint64
			for i := range d.Visitors {
				if rng.IntN(2) == 0 {
					row.Visitors = append(row.Visitors, uint32(i))
					ids = append(ids, d.Visitors[i])
				}
			}
			c.Rows = append(c.Rows, row)
			want.add(rowKey(d.SiteID, start, c.Report, c.Link, key), row.Counts, ids)
		}
		d.Cells = append(d.Cells, c)
	}
	return d
}

// TestTornFlushesLeaveCellsExact: the fold dies again and again with a part of a flush published; with memory for a few windows or for
// many; with deltas in order, late, and behind the ring.
func TestTornFlushesLeaveCellsExact(t *testing.T) {
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 1))
		unit := []zone.Unit{zone.Minute, zone.Hour, zone.Day}[seed%3]
		name := []string{"Europe/Berlin", "Australia/Lord_Howe"}[seed%2]
		r := newRig(t, unit, name, []int{1, 30 << 10, 8 << 20}[rng.IntN(3)])
		r.feeds = rng.IntN(2) == 0
		history := rng.IntN(2) == 0 // old minutes wait
		z := zone.UTC
		if unit != zone.Minute {
			z, _ = zone.Load(name)
		}
		want := truth{}
		minute := int64(29357220) // the night clocks go back in Berlin
		for range 150 {
			var flush []delta.Delta
			for range 1 + rng.IntN(3) {
				at := minute
				switch rng.IntN(6) {
				case 0:
					at -= rng.Int64N(100)
				case 1:
					at -= rng.Int64N(3 * 1440)
				}
				flush = append(flush, randomDelta(rng, z, unit, at, 300, want))
			}
			if history {
				r.received = minute * 60_000
			}
			r.feed(flush...)
			minute += rng.Int64N(40)
			switch rng.IntN(6) {
			case 0:
				r.take()
				r.tear(rng)
			case 1:
				r.open() // dies with everything in memory
			case 2, 3:
				r.take()
				r.flush()
			default:
				r.take()
			}
		}
		r.take()
		r.flush()
		for !r.p.backlog.empty() {
			r.flush()
		}
		if !r.p.Due().IsZero() {
			r.p.startJobs()
			if !r.p.Due().IsZero() {
				t.Errorf("seed %d: due with nothing to publish", seed)
			}
		}
		r.check(want)
	}
}

// TestALargeCellIsCutIntoShards and, when it is full, goes on in one row; over a crash in between nothing moves or is lost.
func TestALargeCellIsCutIntoShards(t *testing.T) {
	r := newRig(t, zone.Day, "UTC", 8<<20)
	rng := rand.New(rand.NewPCG(3, 3))
	hits := int64(0)
	for i := range 60 {
		d := delta.Delta{SiteID: 1, Minute: 29357220, Visitors: []uint64{7}, Cells: []delta.Cell{{Report: "page"}}}
		for j := range 50 {
			n := rng.Int64N(3) + 1
			d.Cells[0].Rows = append(d.Cells[0].Rows, delta.Row{Key: fmt.Sprint("/", i*50+j), Counts: delta.Counts{Hits: n, Pageviews: n}, Visitors: []uint32{0}})
			hits += n
		}
		r.feed(d)
		r.take()
		if i%7 == 3 {
			r.tear(rng)
			r.take()
		}
		r.flush()
	}
	shards, err := r.table.Cell(zone.Day, bucket.ID{SiteID: 1, Generation: 1, Start: 29357220 * 60 / 86400 * 86400, Report: "page"})
	if err != nil {
		t.Fatal(err)
	}
	rows, sum, other := 0, int64(0), int64(0)
	for _, s := range shards {
		if len(s.Rows) > bucket.MaxRows {
			t.Errorf("shard %d has %d rows", s.Shard, len(s.Rows))
		}
		for _, row := range s.Rows {
			rows++
			sum += row.Hits
			if row.Key == bucket.Other {
				other = row.Hits
			}
		}
	}
	if rows != maxCellRows || sum != hits || other == 0 || len(shards) != maxCellRows/bucket.MaxRows {
		t.Errorf("%d rows in %d shards with %d hits (%d other), want %d rows and %d hits", rows, len(shards), sum, other, maxCellRows, hits)
	}
}

func TestRecordsStayBelowTheLimit(t *testing.T) {
	r := newRig(t, zone.Day, "UTC", 8<<20)
	rng := rand.New(rand.NewPCG(4, 4))
	for i := range 40 {
		d := delta.Delta{SiteID: 1, Minute: 29357220, Cells: []delta.Cell{{Report: "page"}}}
		for range 2000 {
			d.Visitors = append(d.Visitors, rng.Uint64())
		}
		for j := range 8 { // every row has thousands of visitors, and a key that is six times as long in JSON
			row := delta.Row{Key: fmt.Sprint(i*8+j) + strings.Repeat("\x01", 2000), Counts: delta.Counts{Hits: 2000}}
			for v := range d.Visitors {
				row.Visitors = append(row.Visitors, uint32(v))
			}
			d.Cells[0].Rows = append(d.Cells[0].Rows, row)
		}
		r.feed(d)
		r.take()
		r.flush() // publish looks at the sizes
	}
}

func TestMemoryIsBounded(t *testing.T) {
	r := newRig(t, zone.Minute, "UTC", 200<<10)
	rng := rand.New(rand.NewPCG(5, 5))
	want := truth{}
	for i := range 3000 {
		r.feed(randomDelta(rng, zone.UTC, zone.Minute, 29357220+int64(i), 300, want))
		r.take()
		if i%10 == 0 {
			r.flush()
			if r.p.windows.bytes > 200<<10 {
				t.Fatalf("%d bytes", r.p.windows.bytes)
			}
		}
	}
	r.flush()
	r.check(want)
	sum := 0
	for e := r.p.windows.order.Front(); e != nil; e = e.Next() {
		sum += e.Value.(*window).bytes
	}
	if sum != r.p.windows.bytes {
		t.Errorf("windows hold %d bytes, counted %d", sum, r.p.windows.bytes)
	}
}

func TestADeltaOfADeletedSiteIsPassedOver(t *testing.T) {
	r := newRig(t, zone.Hour, "UTC", 8<<20)
	s := *r.fold.Sites.State()
	s.NextSiteID = 10
	r.fold.Sites = fixedSites{&s}
	r.feed(delta.Delta{SiteID: 7, Minute: 29357220, Cells: []delta.Cell{{Report: "total", Rows: []delta.Row{{Counts: delta.Counts{Hits: 1}}}}}})
	r.take()
	r.flush()
	if len(r.out) != 1 || !bucket.IsProgressKey(r.out[0].Key) {
		t.Errorf("published %d records, want only the progress", len(r.out))
	}
}

func TestPaceOfFlushes(t *testing.T) {
	r := newRig(t, zone.Minute, "UTC", 8<<20)
	rng := rand.New(rand.NewPCG(6, 6))
	r.feed(randomDelta(rng, zone.UTC, zone.Minute, 29357220, 5, truth{}))
	r.take()
	if due := r.p.Due(); due != r.now.Add(2*time.Millisecond) {
		t.Errorf("the first after a quiet time is due after %v", due.Sub(r.now))
	}
	r.flush()
	r.feed(randomDelta(rng, zone.UTC, zone.Minute, 29357220, 5, truth{}))
	r.take()
	begin := r.now
	after := func() time.Duration { return r.p.Due().Sub(begin) }
	if got := after(); got != 200*time.Millisecond {
		t.Errorf("the next is due after %v", got)
	}
	r.p.took = 300 * time.Millisecond
	if got := after(); got != 1200*time.Millisecond {
		t.Errorf("after a flush of 300 ms the next is due after %v", got)
	}
	r.p.took = time.Minute
	if got := after(); got != maxInterval {
		t.Errorf("after a flush of a minute the next is due after %v", got)
	}
	r.p.took, r.p.flushBytes, r.p.behind = 0, 100<<20, 0
	if got := after(); got != quietWait {
		t.Errorf("after a flush of 100 MB, when no more comes, the next is due after %v", got)
	}
	for behind, want := range map[time.Duration]time.Duration{100 * time.Millisecond: quietWait, 600 * time.Millisecond: 600 * time.Millisecond, time.Hour: time.Second} {
		r.p.behind = behind
		if got := after(); got != want {
			t.Errorf("when no more comes and the fold is %v behind, the next is due after %v, want %v", behind, got, want)
		}
	}
	r.p.lastAt = begin.Add(time.Minute)
	r.p.behind = -time.Minute // the clock of the node that took the hits in is ahead
	if got := after(); got != time.Second {
		t.Errorf("after a flush of 100 MB, while more comes, the next is due after %v", got)
	}
	for behind, want := range map[time.Duration]time.Duration{500 * time.Millisecond: time.Second, 3 * time.Second: 3 * time.Second, time.Hour: 5 * time.Second} {
		r.p.behind = behind
		if got := after(); got != want {
			t.Errorf("after a flush of 100 MB, while more comes and the fold is %v behind, the next is due after %v, want %v", behind, got, want)
		}
	}
	r.p.behind, r.p.flushBytes = time.Hour, 1<<20
	if got := after(); got != 4*time.Second {
		t.Errorf("after a flush of 1 MB, while more comes and the fold is an hour behind, the next is due after %v", got)
	}
	r.p.flushBytes = 1 << 10
	if got := after(); got != 200*time.Millisecond {
		t.Errorf("after a small flush the next is due after %v, however far the fold is behind", got)
	}
}

func TestSketchesOfTotalAndRowsHaveTheirKind(t *testing.T) {
	if (cellID{report: "total"}).kind() != sketch.Total || (cellID{report: "page"}).kind() != sketch.Row {
		t.Error("kinds are mixed up")
	}
}
