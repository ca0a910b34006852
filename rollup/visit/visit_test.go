package visit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/delta"
)

const start = 1761433200_000 // milliseconds since 1970, on a minute

// place is a row of a minute: "in" and the page a visit begins with, "out" and the page it ends with, "read" and the page engaged with.
type place struct {
	minute int64
	kind   string
	page   string
}

// sums adds up what is told.
type sums map[place]delta.Counts

func (s sums) add(p place, c delta.Counts) {
	sum := s[p]
	sum.Add(&c)
	if s[p] = sum; sum == (delta.Counts{}) {
		delete(s, p)
	}
}

func (s sums) Entry(v *Visit, c delta.Counts) {
	var h hit.Hit
	if err := hit.Parse(v.Entry, &h); err != nil {
		panic(err)
	}
	s.add(place{v.Minute(), "in", h.Path}, c)
}
func (s sums) Exit(v *Visit, c delta.Counts) { s.add(place{v.Minute(), "out", v.Exit}, c) }
func (s sums) Engaged(h *hit.Hit, v *Visit, minute int64, c delta.Counts) {
	s.add(place{minute, "read", h.Path}, c)
}

func at(seconds int64, path string) hit.Hit {
	return hit.Hit{SiteID: 1, Visitor: 7, Kind: hit.Pageview, TimeMs: start + 1000*seconds, ReceivedMs: start + 1000*seconds, Path: path}
}

func run(t *testing.T, hits ...hit.Hit) sums {
	t.Helper()
	s, told := mustNew(t, nil), sums{}
	received := int64(0)
	for i := range hits {
		received = max(received, hits[i].ReceivedMs)
		s.Add(&hits[i], int64(i), received, told)
	}
	return told
}

func mustNew(t testing.TB, saved []Saved) *Visits {
	t.Helper()
	s, err := New(saved)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// total adds the rows of one kind up.
func (s sums) total(kind string) (c delta.Counts) {
	for p, one := range s {
		if p.kind == kind {
			c.Add(&one)
		}
	}
	return c
}

func TestVisits(t *testing.T) {
	event := func(seconds int64, still bool) hit.Hit {
		h := at(seconds, "/e")
		h.Kind, h.Name, h.NonInteractive = hit.Event, "e", still
		return h
	}
	with := func(h hit.Hit, f func(h *hit.Hit)) hit.Hit { f(&h); return h }
	engaged := func(seconds int64, path string, ms int64, scroll int) hit.Hit {
		h := at(seconds, path)
		h.Kind, h.EngagedMs, h.ScrollPercent = hit.Engagement, ms, scroll
		return h
	}
	minute := func(n int64) int64 { return start/60_000 + n }
	for _, tc := range []struct {
		name string
		hits []hit.Hit
		want sums
	}{
		{"one page view bounces", []hit.Hit{at(0, "/a")}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, Bounces: 1}, {minute(0), "out", "/a"}: {Visits: 1, Bounces: 1}}},
		{"a second page view ends the bounce", []hit.Hit{at(0, "/a"), at(90, "/b")}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, DurationMs: 90_000}, {minute(0), "out", "/b"}: {Visits: 1, DurationMs: 90_000}}},
		{"30 minutes are one visit", []hit.Hit{at(0, "/a"), at(1800, "/b")}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, DurationMs: 1800_000}, {minute(0), "out", "/b"}: {Visits: 1, DurationMs: 1800_000}}},
		{"more than 30 minutes are two", []hit.Hit{at(0, "/a"), at(1801, "/b")}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, Bounces: 1}, {minute(0), "out", "/a"}: {Visits: 1, Bounces: 1},
			{minute(30), "in", "/b"}: {Visits: 1, Bounces: 1}, {minute(30), "out", "/b"}: {Visits: 1, Bounces: 1}}},
		{"a late hit begins the visit earlier", []hit.Hit{at(600, "/b"), at(0, "/a")}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, DurationMs: 600_000}, {minute(0), "out", "/b"}: {Visits: 1, DurationMs: 600_000}}},
		{"a late hit joins two visits", []hit.Hit{at(0, "/a"), at(3000, "/c"), at(1500, "/b")}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, DurationMs: 3000_000}, {minute(0), "out", "/c"}: {Visits: 1, DurationMs: 3000_000}}},
		{"an event ends the bounce", []hit.Hit{at(0, "/a"), event(0, false)}, sums{
			{minute(0), "in", "/a"}: {Visits: 1}, {minute(0), "out", "/e"}: {Visits: 1}}},
		{"an event that happens by itself does not", []hit.Hit{at(0, "/a"), event(5, true)}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, Bounces: 1, DurationMs: 5000}, {minute(0), "out", "/e"}: {Visits: 1, Bounces: 1, DurationMs: 5000}}},
		{"a click is no page and no bounce", []hit.Hit{with(at(0, "/x"), func(h *hit.Hit) { h.Kind = hit.Click })}, sums{
			{minute(0), "in", "/x"}: {Visits: 1}}},
		{"bots, requests and nobody make no visits", []hit.Hit{with(at(0, "/a"), func(h *hit.Hit) { h.Bot = true }),
			with(at(0, "/a"), func(h *hit.Hit) { h.Kind = hit.Request }), with(at(0, "/a"), func(h *hit.Hit) { h.Visitor = 0 })}, sums{}},
		{"two visitors make two visits", []hit.Hit{at(0, "/a"), with(at(1, "/a"), func(h *hit.Hit) { h.Visitor = 8 })}, sums{
			{minute(0), "in", "/a"}: {Visits: 2, Bounces: 2}, {minute(0), "out", "/a"}: {Visits: 2, Bounces: 2}}},
		{"the same visitor of another site is another", []hit.Hit{at(0, "/a"), with(at(1, "/a"), func(h *hit.Hit) { h.SiteID = 2 })}, sums{
			{minute(0), "in", "/a"}: {Visits: 2, Bounces: 2}, {minute(0), "out", "/a"}: {Visits: 2, Bounces: 2}}},
		{"a visit goes on over a change of salts", []hit.Hit{with(at(0, "/a"), func(h *hit.Hit) { h.VisitorNext = 9 }),
			with(at(60, "/b"), func(h *hit.Hit) { h.Visitor = 9 })}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, DurationMs: 60_000}, {minute(0), "out", "/b"}: {Visits: 1, DurationMs: 60_000}}},
		{"also when the hit before the change comes last", []hit.Hit{with(at(60, "/b"), func(h *hit.Hit) { h.Visitor = 9 }),
			with(at(0, "/a"), func(h *hit.Hit) { h.VisitorNext = 9 })}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, DurationMs: 60_000}, {minute(0), "out", "/b"}: {Visits: 1, DurationMs: 60_000}}},
		{"also when there are hits under both ids already", []hit.Hit{at(0, "/a"), with(at(60, "/c"), func(h *hit.Hit) { h.Visitor = 9 }),
			with(at(30, "/b"), func(h *hit.Hit) { h.VisitorNext = 9 })}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, DurationMs: 60_000}, {minute(0), "out", "/c"}: {Visits: 1, DurationMs: 60_000}}},
		{"also when a hit under the id before comes late", []hit.Hit{with(at(60, "/b"), func(h *hit.Hit) { h.VisitorNext = 9 }), at(0, "/a")}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, DurationMs: 60_000}, {minute(0), "out", "/b"}: {Visits: 1, DurationMs: 60_000}}},
		{"engagement prolongs a visit and adds up", []hit.Hit{at(0, "/a"), engaged(40, "/a", 30_000, 50), engaged(70, "/a", 10_000, 80), engaged(71, "/a", 1, 60)}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, Bounces: 1, DurationMs: 71_000}, {minute(0), "out", "/a"}: {Visits: 1, Bounces: 1, DurationMs: 71_000},
			{minute(0), "read", "/a"}: {EngagedMs: 30_000, ScrollSum: 80, ScrollViews: 1}, {minute(1), "read", "/a"}: {EngagedMs: 10_001}}},
		{"each page view has its depth", []hit.Hit{at(0, "/a"), engaged(1, "/a", 0, 50), at(2, "/a"), engaged(3, "/a", 0, 30)}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, DurationMs: 3000}, {minute(0), "out", "/a"}: {Visits: 1, DurationMs: 3000},
			{minute(0), "read", "/a"}: {ScrollSum: 80, ScrollViews: 2}}},
		{"engagement of nobody adds up without a visit", []hit.Hit{with(engaged(0, "/a", 5, 500), func(h *hit.Hit) { h.Visitor = 0 })}, sums{
			{minute(0), "read", "/a"}: {EngagedMs: 5, ScrollSum: 100, ScrollViews: 1}}},
		{"engagement of a bot does not", []hit.Hit{with(engaged(0, "/a", 5, 5), func(h *hit.Hit) { h.Bot = true })}, sums{}},
		{"a hit that comes after an hour of receipt begins a visit", []hit.Hit{at(0, "/a"), with(at(60, "/b"), func(h *hit.Hit) { h.ReceivedMs = start + 3_600_001 })}, sums{
			{minute(0), "in", "/a"}: {Visits: 1, Bounces: 1}, {minute(0), "out", "/a"}: {Visits: 1, Bounces: 1},
			{minute(1), "in", "/b"}: {Visits: 1, Bounces: 1}, {minute(1), "out", "/b"}: {Visits: 1, Bounces: 1}}},
		{"history makes visits by its own times", []hit.Hit{with(at(-86400*400, "/a"), func(h *hit.Hit) { h.ReceivedMs = start }),
			with(at(-86400*400+60, "/b"), func(h *hit.Hit) { h.ReceivedMs = start }), with(at(-86400*399, "/c"), func(h *hit.Hit) { h.ReceivedMs = start })}, sums{
			{minute(-1440 * 400), "in", "/a"}: {Visits: 1, DurationMs: 60_000}, {minute(-1440 * 400), "out", "/b"}: {Visits: 1, DurationMs: 60_000},
			{minute(-1440 * 399), "in", "/c"}: {Visits: 1, Bounces: 1}, {minute(-1440 * 399), "out", "/c"}: {Visits: 1, Bounces: 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := run(t, tc.hits...)
			for p, c := range tc.want {
				if got[p] != c {
					t.Errorf("%+v is %+v, want %+v", p, got[p], c)
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("told %+v, want %+v", got, tc.want)
			}
		})
	}
}

// brute says what the visits of hits are, from the definition: sort by time, and cut where there is a gap.
func brute(hits []hit.Hit) sums {
	told := sums{}
	byVisitor := map[uint64][]hit.Hit{}
	for _, h := range hits {
		byVisitor[h.Visitor] = append(byVisitor[h.Visitor], h)
	}
	for _, all := range byVisitor {
		slices.SortStableFunc(all, func(a, b hit.Hit) int { return int(a.TimeMs - b.TimeMs) })
		for from, to := 0, 0; from < len(all); from = to {
			for to = from + 1; to < len(all) && all[to].TimeMs-all[to-1].TimeMs <= Gap.Milliseconds(); to++ {
			}
			one := all[from:to]
			c := delta.Counts{Visits: 1, DurationMs: one[len(one)-1].TimeMs - one[0].TimeMs}
			if len(one) == 1 {
				c.Bounces = 1
			}
			minute := floorDiv(one[0].TimeMs, 60_000)
			told.add(place{minute, "in", one[0].Path}, c)
			told.add(place{minute, "out", one[len(one)-1].Path}, c)
		}
	}
	return told
}

// TestOrderDoesNotMatter: within what is remembered, hits in any order make the same visits.
func TestOrderDoesNotMatter(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		var hits []hit.Hit
		for i := range 3 + r.IntN(60) {
			h := at(r.Int64N(2*3600), fmt.Sprint("/", i)) // room for at most four visits
			h.Visitor, h.ReceivedMs = 1+uint64(r.IntN(3)), start+2*3600_000
			hits = append(hits, h)
		}
		for i := range hits { // no two at one time, so that first and last are clear
			hits[i].TimeMs = hits[i].TimeMs/1000*1000 + int64(i)
		}
		want := brute(hits)
		for range 3 {
			r.Shuffle(len(hits), func(i, j int) { hits[i], hits[j] = hits[j], hits[i] })
			if got := run(t, hits...); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d: told\n%v, want\n%v", seed, got, want)
			}
		}
	}
}

// TestSavedAtAnyPointGoesOnTheSame: a memory that is saved and loaded at random tells what one that lives through tells, and what is
// saved step by step is what is there.
func TestSavedAtAnyPointGoesOnTheSame(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 6))
		through, stepped := mustNew(t, nil), mustNew(t, nil)
		want, got := sums{}, sums{}
		disk := map[key]Saved{}
		now := int64(start)
		for i := range int64(600) {
			now += r.Int64N(60_000)
			h := at(0, fmt.Sprint("/", r.IntN(5)))
			h.Visitor, h.ReceivedMs, h.TimeMs = 1+uint64(r.IntN(12)), now, now-r.Int64N(90*60_000)
			if r.IntN(10) == 0 {
				h.VisitorNext = h.Visitor + 100
			} else if r.IntN(5) == 0 {
				h.Visitor += 100
			}
			if r.IntN(4) == 0 {
				h.Kind, h.EngagedMs, h.ScrollPercent = hit.Engagement, r.Int64N(1000), r.IntN(101)
			}
			through.Add(&h, i, now, want)
			stepped.Add(&h, i, now, got)
			if r.IntN(8) > 0 {
				continue
			}
			for _, one := range stepped.TakeChange() {
				k := key{one.Site, one.Visitor}
				if disk[k] = one; one.Data == nil {
					delete(disk, k)
				}
			}
			var saved []Saved
			for _, one := range disk {
				saved = append(saved, one)
			}
			if len(saved) != stepped.Len() {
				t.Fatalf("seed %d: %d visitors are saved, %d are remembered", seed, len(saved), stepped.Len())
			}
			bytes := stepped.Bytes()
			if stepped = mustNew(t, saved); stepped.Bytes() != bytes {
				t.Fatalf("seed %d: %d bytes after loading, %d before", seed, stepped.Bytes(), bytes)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: told\n%v, want\n%v", seed, got, want)
		}
	}
}

// TestWhatIsToldIsWhatIsThere: whatever comes, the rows of entries and those of exits have the same number of visits with a page, none
// is negative, and no visit is told twice.
func TestWhatIsToldIsWhatIsThere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	s, told := mustNew(t, nil), sums{}
	now := int64(start)
	for i := range int64(20_000) {
		now += r.Int64N(2000)
		h := at(0, fmt.Sprint("/", r.IntN(9)))
		h.Visitor, h.ReceivedMs, h.TimeMs = 1+uint64(r.IntN(50)), now, now-r.Int64N(1+r.Int64N(5*3600_000))
		s.Add(&h, i, now, told)
	}
	in, out := told.total("in"), told.total("out")
	if in != out || in.Visits == 0 {
		t.Errorf("entries %+v, exits %+v", in, out)
	}
	for p, c := range told {
		if c.Visits < 0 || c.Bounces < 0 || c.Bounces > c.Visits || c.DurationMs < 0 {
			t.Errorf("%+v is %+v", p, c)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	s, told := mustNew(t, nil), sums{}
	long := string(make([]byte, 2000))
	for i := range int64(MaxVisitors + 1000) {
		h := at(0, "/")
		h.Visitor = uint64(i + 1)
		s.Add(&h, i, start, told)
	}
	if s.Len() > MaxVisitors {
		t.Errorf("%d visitors, at most %d", s.Len(), MaxVisitors)
	}
	for i := range int64(20_000) {
		h := at(0, "/"+long)
		h.Visitor = uint64(i + 1_000_000)
		s.Add(&h, 100_000+i, start, told)
	}
	if s.Bytes() > MaxBytes || s.Len() < 1000 {
		t.Errorf("%d bytes for %d visitors, at most %d", s.Bytes(), s.Len(), MaxBytes)
	}
	if in := told.total("in"); in.Visits != MaxVisitors+21_000 || in.Bounces != in.Visits {
		t.Errorf("forgotten visits changed: %+v", in)
	}
	h := at(0, "/")
	h.Visitor = 5
	s.Add(&h, 1_000_000, start+2*time.Hour.Milliseconds(), told)
	if s.Len() != 1 {
		t.Errorf("%d visitors are remembered after two hours, want the one that came", s.Len())
	}
}

// FuzzParse: no panic; what is accepted is saved again as it was read.
func FuzzParse(f *testing.F) {
	s := mustNew(f, nil)
	for i, h := range []hit.Hit{at(0, "/a"), at(4000, "/b"), {SiteID: 1, Visitor: 7, Kind: hit.Engagement, TimeMs: start, ScrollPercent: 4}} {
		s.Add(&h, int64(i), start, sums{})
		f.Add(s.people[0].append(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p, back person
		if err := p.parse(data); err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		again := p.append(nil)
		if err := back.parse(again); err != nil || string(back.append(nil)) != string(again) {
			t.Fatalf("%v: %x became %x", err, again, back.append(nil))
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	s, told := mustNew(b, nil), nothing{}
	hits := make([]hit.Hit, 1<<14)
	for i := range hits {
		hits[i] = at(int64(i)/100, fmt.Sprint("/page/", i%100))
		hits[i].Visitor = 1 + uint64(i*7919%5000)
	}
	b.ReportAllocs()
	for i := range b.N {
		h := &hits[i%len(hits)]
		s.Add(h, int64(i), h.ReceivedMs, told)
	}
}

type nothing struct{}

func (nothing) Entry(*Visit, delta.Counts)                    {}
func (nothing) Exit(*Visit, delta.Counts)                     {}
func (nothing) Engaged(*hit.Hit, *Visit, int64, delta.Counts) {}
