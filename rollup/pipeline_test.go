package rollup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup/internal/oracle"
	"github.com/weir-analytics/weir/rollup/zone"
)

// bench is a log, sites, and the counting room on them.
type bench struct {
	t      testing.TB
	log    *testLog
	sites  *fixedSites
	dir    string
	oracle *oracle.Oracle

	clock  time.Duration // of the room, ahead of the true one
	client *kgo.Client   // of the test
	ends   map[int32]int64
	gone   bool // the first events were deleted from the log

	tune     func(*Rollup) // before it runs; nil: nothing
	room     *Rollup
	stop     func()
	dialRoom func(ctx context.Context, network, host string) (net.Conn, error) // nil: as the log says
}

type fixedSites struct {
	mu    sync.Mutex
	state *state.State
}

func (s *fixedSites) State() *state.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

var zones = map[uint32]string{1: "UTC", 2: "Europe/Berlin", 3: "Asia/Kathmandu", 4: "Australia/Lord_Howe", 5: "America/St_Johns"}

func sitesOf(zones map[uint32]string) *fixedSites {
	s := &state.State{Sites: map[state.SiteID]state.Site{}, NextSiteID: 1}
	for id, name := range zones {
		s.Sites[id] = state.Site{ID: id, Name: fmt.Sprintf("site%d.example", id), Timezone: name, Generation: 1}
		s.NextSiteID = max(s.NextSiteID, id+1)
	}
	s.Reindex()
	return &fixedSites{state: s}
}

// testLevel is how much of the log is shown by verbose tests.
var testLevel = slog.LevelInfo

// logger prints what the room says when tests are verbose.
func logger(t testing.TB) *slog.Logger {
	out := io.Discard
	if testing.Verbose() {
		out = os.Stderr
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: testLevel}))
}

func newBench(t testing.TB, log *testLog) *bench {
	t.Helper()
	b := &bench{clock: time.Until(time.UnixMilli(trafficStart).Add(10 * time.Minute)), t: t, log: log, sites: sitesOf(zones), dir: t.TempDir(), ends: map[int32]int64{}, oracle: oracle.New(zones)}
	opts := []kgo.Opt{kgo.SeedBrokers(log.seeds...), kgo.RecordPartitioner(kgo.ManualPartitioner())}
	if log.dial != nil {
		opts = append(opts, kgo.Dialer(log.dial))
	}
	var err error
	if b.client, err = kgo.NewClient(opts...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.client.Close)
	return b
}

// now is the time in the room: true time goes on, from a moment among the hits.
func (b *bench) now() time.Time { return time.Now().Add(b.clock) }

// open opens the room without running it.
func (b *bench) open() {
	b.t.Helper()
	dial := b.log.dial
	if b.dialRoom != nil {
		dial = b.dialRoom
	}
	room, err := Open(Config{Seeds: b.log.seeds, Dialer: dial, Sites: b.sites, Dir: b.dir, Member: fmt.Sprintf("%p", b), Now: b.now, Log: logger(b.t), Registry: prometheus.NewRegistry()})
	if err != nil {
		b.t.Fatal(err)
	}
	b.room = room
	if b.tune != nil {
		b.tune(room)
	}
}

// start opens the room and runs it.
func (b *bench) start() {
	b.t.Helper()
	b.open()
	room := b.room
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- room.Run(ctx) }()
	stopped := false
	b.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			b.t.Errorf("Run: %v", err)
		}
		if err := room.Close(); err != nil {
			b.t.Errorf("Close: %v", err)
		}
	}
	b.t.Cleanup(b.stop)
}

// send logs hits and tells the oracle.
func (b *bench) send(traffic *oracle.Traffic, n int) {
	b.t.Helper()
	var records []*kgo.Record
	for range n {
		partition, h := traffic.Next(Partitions)
		b.oracle.Add(partition, h)
		records = append(records, &kgo.Record{Topic: TopicEvents, Partition: partition, Value: hit.Append(nil, &h)})
		b.ends[partition]++
	}
	b.sendRecords(records)
}

func (b *bench) sendRecords(records []*kgo.Record) {
	b.t.Helper()
	if err := b.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
}

// settle waits until everything that was sent is counted.
func (b *bench) settle() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := b.room.WaitFor(ctx, b.ends); err != nil {
		for partition, end := range b.ends {
			for unit := range unitTopics {
				progress, _, _ := b.room.table.Progress(unit, partition)
				b.t.Logf("partition %d: events to %d, %ss to %+v", partition, end, unit, progress)
			}
		}
		b.t.Fatalf("wait until all is counted: %v", err)
	}
}

var reports = append([]string{""}, Reports()...)

// check compares all reports of all sites with the oracle: over everything, over odd ranges, and by each unit.
func (b *bench) check(rng *rand.Rand) {
	b.t.Helper()
	for _, site := range slices.Sorted(maps.Keys(b.oracle.Zones)) {
		first, last, ok := b.oracle.Bounds(site)
		gotFirst, gotLast, gotOK := b.room.Bounds(site)
		if ok != gotOK || ok && (gotFirst.Unix() != first || gotLast.Unix() != last+60) {
			b.t.Errorf("site %d: bounds %v to %v (%v), want %v to %v", site, gotFirst, gotLast, gotOK, time.Unix(first, 0).UTC(), time.Unix(last+60, 0).UTC())
		}
		for _, by := range reports {
			b.compare(oracle.Question{Site: site, By: by})
			for _, every := range []zone.Unit{zone.Minute, zone.Hour, zone.Day, zone.Month, zone.Week, zone.Sunday, zone.Year} {
				b.compare(oracle.Question{Site: site, By: by, Every: every})
			}
			from := first + rng.Int64N(last-first+1)/60*60
			b.compare(oracle.Question{Site: site, By: by, From: from, To: from + 60 + rng.Int64N(last-from+120)/60*60})
			b.compare(oracle.Question{Site: site, By: by, Every: zone.Day, From: from, To: from + 60 + rng.Int64N(last-from+120)/60*60})
		}
		for _, by := range []string{"", "country", "referrer"} {
			b.compare(oracle.Question{Site: site, By: by, Link: "l1"})
			b.compare(oracle.Question{Site: site, By: by, Link: "l2", Every: zone.Hour})
		}
	}
	b.audit()
}

func (b *bench) compare(q oracle.Question) {
	b.t.Helper()
	ask := Query{Site: q.Site, Link: q.Link, By: q.By}
	if q.Every != 0 {
		ask.Every = q.Every.String()
	}
	if q.From != q.To {
		ask.From, ask.To = time.Unix(q.From, 0), time.Unix(q.To, 0)
	}
	answer, err := b.room.Query(context.Background(), ask)
	if err != nil {
		b.t.Fatalf("%+v: %v", ask, err)
	}
	want := b.oracle.Count(q)
	got := map[oracle.Cell]oracle.Counts{}
	for _, r := range answer.Rows {
		if r == (Row{}) {
			continue
		}
		cell := oracle.Cell{Key: r.Key}
		if q.Every != 0 {
			cell.Start = r.Start.Unix()
		}
		if _, twice := got[cell]; twice {
			b.t.Errorf("%+v: row %+v comes twice", ask, cell)
		}
		got[cell] = oracle.Counts{Hits: r.Hits, Humans: r.Humans, Bots: r.Bots, Visitors: r.Visitors, Pageviews: r.Pageviews, Events: r.Events, Clicks: r.Clicks,
			Visits: r.Visits, Bounces: r.Bounces, DurationMs: r.DurationMs, EngagedMs: r.EngagedMs, ScrollSum: r.ScrollSum, ScrollViews: r.ScrollViews}
	}
	wrong := 0
	for cell, w := range want {
		if got[cell] != w {
			if wrong++; wrong < 4 {
				b.t.Errorf("%+v: row %+v is %+v, want %+v", ask, cell, got[cell], w)
			}
		}
	}
	for cell, g := range got {
		if _, ok := want[cell]; !ok {
			if wrong++; wrong < 4 {
				b.t.Errorf("%+v: row %+v is %+v, want none", ask, cell, g)
			}
		}
	}
	if wrong > 0 {
		b.t.Errorf("%+v: %d rows of %d are wrong", ask, wrong, len(want))
	}
}

// trafficStart lies in the night in which clocks go back in Berlin, in milliseconds since 1970.
const trafficStart = 1761433200_000

func traffic(seed uint64, span time.Duration) *oracle.Traffic {
	return &oracle.Traffic{Rand: rand.New(rand.NewPCG(seed, 1)), Sites: zones, Start: trafficStart, Span: span.Milliseconds()}
}

func TestCountsEqualTheOracle(t *testing.T) {
	onEachLog(t, func(t *testing.T, log *testLog) {
		b := newBench(t, log)
		b.start()
		tr := traffic(1, 40*24*time.Hour)
		for range 5 {
			b.send(tr, 1000)
			b.settle()
		}
		b.check(rand.New(rand.NewPCG(1, 1)))
	})
}

// TestRestartsLeaveCountsExact: the room is stopped again and again in the middle of its work, and comes back with the table it had, an
// older one, or none.
func TestRestartsLeaveCountsExact(t *testing.T) {
	onEachLog(t, func(t *testing.T, log *testLog) {
		b := newBench(t, log)
		tr := traffic(2, 3*24*time.Hour)
		rng := rand.New(rand.NewPCG(2, 2))
		old := filepath.Join(t.TempDir(), "old")
		for life := range 8 {
			b.start()
			b.send(tr, 400)
			time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond) // stop anywhere
			b.stop()
			switch life {
			case 2:
				if err := os.CopyFS(old, os.DirFS(b.dir)); err != nil {
					t.Fatal(err)
				}
			case 4:
				b.dir = old
			case 6:
				b.dir = t.TempDir()
			}
			b.send(tr, 50)
		}
		b.start()
		b.settle()
		b.check(rng)
	})
}

// TestAMemberWithoutACopyGoesOnWhenEventsAreGone: what is known of identities and visits is in the log too, so a node that has nothing on its disk
// drops the repeats of events, and goes on with the visits of hits, that retention has deleted.
func TestAMemberWithoutACopyGoesOnWhenEventsAreGone(t *testing.T) {
	onEachLog(t, func(t *testing.T, log *testLog) {
		b := newBench(t, log)
		b.tune = func(r *Rollup) { r.tally.StateEvents, r.tally.StateEvery = 40, time.Millisecond }
		tr := traffic(14, time.Hour)
		b.start()
		for range 12 { // several flushes
			b.send(tr, 250)
			time.Sleep(30 * time.Millisecond)
		}
		b.settle()
		b.stop()
		gone := kadm.Offsets{}
		for partition, end := range b.ends {
			gone.Add(kadm.Offset{Topic: TopicEvents, Partition: partition, At: max(0, end-60)})
		}
		if deleted, err := kadm.NewClient(b.client).DeleteRecords(context.Background(), gone); err != nil || deleted.Error() != nil {
			t.Fatal(err, deleted.Error())
		}
		b.gone = true
		b.dir = t.TempDir()
		b.start()
		b.send(tr, 2000)
		b.settle()
		b.check(rand.New(rand.NewPCG(14, 14)))
	})
}

// change applies a change to the sites, as the controller would.
func (b *bench) change(f func(sites map[state.SiteID]state.Site)) {
	b.sites.mu.Lock()
	defer b.sites.mu.Unlock()
	next := *b.sites.state
	next.Version++
	next.Sites = maps.Clone(next.Sites)
	f(next.Sites)
	next.Reindex()
	b.sites.state = &next
}

// TestAnotherZoneMakesHoursAndDaysAnew: while hits come in a site moves to another zone, the room is stopped in the middle of making its
// counts anew, and the site moves once more.
func TestAnotherZoneMakesHoursAndDaysAnew(t *testing.T) {
	onEachLog(t, func(t *testing.T, log *testLog) {
		b := newBench(t, log)
		b.oracle.Zones = maps.Clone(b.oracle.Zones)
		tr := traffic(10, 3*24*time.Hour)
		rng := rand.New(rand.NewPCG(10, 10))
		move := func(site uint32, name string) {
			b.oracle.Zones[site] = name
			b.change(func(sites map[state.SiteID]state.Site) {
				moved := sites[site]
				moved.Timezone = name
				moved.Generation++
				sites[site] = moved
			})
		}
		b.start()
		b.send(tr, 1500)
		move(2, "Asia/Kolkata")
		b.send(tr, 500)
		b.settle()
		b.check(rng) // right at once, from minutes
		b.stop()
		b.start()
		b.send(tr, 500)
		move(2, "Pacific/Chatham")
		move(3, "Europe/Berlin")
		b.send(tr, 500)
		b.settle()
		b.check(rng)
		b.waitReady(2, 3)
		b.check(rng)
		b.send(tr, 500)
		b.settle()
		b.check(rng)
		view := b.room.table.View()
		defer view.Close()
		for _, unit := range []zone.Unit{zone.Hour, zone.Day} {
			sites, err := view.Sites(unit)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(sites[2], []uint32{3}) || !slices.Equal(sites[3], []uint32{2}) {
				t.Errorf("%ss: generations %v and %v, want only the last", unit, sites[2], sites[3])
			}
		}
	})
}

// waitReady waits until hours and days of sites are made anew.
func (b *bench) waitReady(sites ...uint32) {
	b.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		all := true
		for _, site := range sites {
			ready, err := b.room.zoneReady(b.sites.State().Sites[site])
			if err != nil {
				b.t.Fatal(err)
			}
			all = all && ready
		}
		if all {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatal("hours and days are not made anew")
		}
	}
}

// TestADeletedSiteLeavesNoCells: its cells end in tombstones, and hits that still come for it are set apart.
func TestADeletedSiteLeavesNoCells(t *testing.T) {
	onEachLog(t, func(t *testing.T, log *testLog) {
		b := newBench(t, log)
		b.oracle.Zones = maps.Clone(b.oracle.Zones)
		b.start()
		tr := traffic(11, 3*24*time.Hour)
		b.send(tr, 1000)
		b.settle()
		b.change(func(sites map[state.SiteID]state.Site) { delete(sites, 4) })
		delete(b.oracle.Zones, 4)
		b.send(tr, 300)
		b.settle()
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			left := 0
			view := b.room.table.View()
			for unit := range unitTopics {
				sites, err := view.Sites(unit)
				if err != nil {
					t.Fatal(err)
				}
				left += len(sites[4])
			}
			view.Close()
			if left == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("cells of the deleted site are left")
			}
		}
		b.check(rand.New(rand.NewPCG(11, 11)))
		if _, err := b.room.Query(context.Background(), Query{Site: 4}); !errors.Is(err, ErrNoSite) {
			t.Errorf("query of a deleted site: %v", err)
		}
	})
}
