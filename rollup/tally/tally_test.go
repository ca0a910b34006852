package tally

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/delta"
	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/visit"
)

func newTestPartition(sites int) *Partition {
	return &Partition{t: newTestTally(sites), partition: 3, dedup: newDedup([16]byte{}, Saved{}), inc: newIncrements(), visits: noVisits(), stateAt: time.Unix(1<<40, 0)}
}

func noVisits() *visit.Visits {
	visits, err := visit.New(nil)
	if err != nil {
		panic(err)
	}
	return visits
}

func recordOf(offset int64, h hit.Hit) *kgo.Record {
	h.Site = "site1.example"
	return &kgo.Record{Offset: offset, Value: hit.Append(nil, &h)}
}

// flush flushes and returns the deltas.
func flush(t *testing.T, p *Partition, now time.Time) []delta.Delta {
	t.Helper()
	all, _ := flushAll(t, p, now)
	return all
}

// flushAll returns the values of the state too.
func flushAll(t *testing.T, p *Partition, now time.Time) (all []delta.Delta, state [][]byte) {
	t.Helper()
	records, err := p.Flush(context.Background(), now)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		if r.Topic == p.t.State {
			state = append(state, r.Value)
			continue
		}
		var d delta.Delta
		if err := delta.Parse(r.Value, &d); err != nil {
			t.Fatal(err)
		}
		if string(d.Key()) != string(r.Key) || r.Partition != p.partition {
			t.Errorf("key %s in partition %d", r.Key, r.Partition)
		}
		r.Offset = p.at + int64(i)
		all = append(all, d)
	}
	if err := p.Flushed(records, now); err != nil {
		t.Fatal(err)
	}
	return all, state
}

const received = int64(1_770_000_000_000)

func TestFlushSaysItsRange(t *testing.T) {
	p := newTestPartition(1)
	now := time.Unix(1000, 0)
	if !p.Due().IsZero() {
		t.Error("due without hits")
	}
	view := hit.Hit{SiteID: 1, Kind: hit.Pageview, TimeMs: received, ReceivedMs: received, Visitor: 7, Path: "/a"}
	late := view
	late.TimeMs -= 3 * 60_000
	if n, err := p.Add(context.Background(), []*kgo.Record{recordOf(0, view), recordOf(1, late), recordOf(2, view)}, now); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	if due := p.Due(); due != now.Add(firstWait) {
		t.Errorf("due %v", due)
	}
	all := flush(t, p, now)
	if len(all) != 2 || all[0].From != 0 || all[0].To != 3 || all[0].At != 0 || all[0].Count != 2 || all[1].Index != 1 || all[0].ReceivedMs != received {
		t.Fatalf("flush %+v", all)
	}
	if all[1].Minute != all[0].Minute-3 || all[0].Cells[0].Rows[0].Hits != 2 || len(all[0].Visitors) != 1 {
		t.Errorf("deltas %+v", all)
	}

	// Only hits that are set apart: the range is told all the same.
	future := view
	future.TimeMs += 10 * 60_000
	garbage := &kgo.Record{Offset: 4, Value: []byte("garbage")}
	if _, err := p.Add(context.Background(), []*kgo.Record{recordOf(3, future), garbage}, now); err != nil {
		t.Fatal(err)
	}
	if due := p.Due(); due != now.Add(flushEvery) {
		t.Errorf("due %v, want a pause after the flush before", due)
	}
	all = flush(t, p, now)
	if len(all) != 1 || all[0].SiteID != 0 || all[0].From != 3 || all[0].To != 5 || all[0].At != 2 {
		t.Errorf("flush %+v", all)
	}
	if p.Position() != 5 {
		t.Errorf("position %d", p.Position())
	}
}

func TestAFlushThatLandedElsewhereEndsTheWorker(t *testing.T) {
	p := newTestPartition(1)
	if _, err := p.Add(context.Background(), []*kgo.Record{recordOf(0, hit.Hit{SiteID: 1, Kind: hit.Click, TimeMs: received, ReceivedMs: received})}, time.Now()); err != nil {
		t.Fatal(err)
	}
	records, err := p.Flush(context.Background(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	records[0].Offset = 7
	if err := p.Flushed(records, time.Now()); !errors.Is(err, feed.ErrLostRace) {
		t.Errorf("error %v", err)
	}
}

func TestAJumpInTheLogIsAnError(t *testing.T) {
	p := newTestPartition(1)
	h := hit.Hit{SiteID: 1, Kind: hit.Click, TimeMs: received, ReceivedMs: received}
	if n, err := p.Add(context.Background(), []*kgo.Record{recordOf(0, h), recordOf(2, h)}, time.Now()); err == nil || n != 1 {
		t.Errorf("took %d, error %v", n, err)
	}
	if n, err := p.Add(context.Background(), []*kgo.Record{recordOf(0, h), recordOf(1, h)}, time.Now()); err != nil || n != 2 {
		t.Errorf("an offset that was taken is passed over: took %d, error %v", n, err)
	}
	if p.counted != 2 {
		t.Errorf("counted %d", p.counted)
	}
}

// TestAFlushIsOneBatch: whatever comes in, a flush stays below the size of a batch, in clean text, and no hit is lost at the cut.
func TestAFlushIsOneBatch(t *testing.T) {
	p := newTestPartition(3)
	rng := rand.New(rand.NewPCG(1, 1))
	var records []*kgo.Record
	for i := range 6000 {
		h := hit.Hit{SiteID: uint32(1 + rng.IntN(3)), Kind: hit.Kind(1 + rng.IntN(4)), TimeMs: received - rng.Int64N(1<<31), ReceivedMs: received, Visitor: rng.Uint64(),
			Path: "/" + strings.Repeat("é\x01", rng.IntN(1500)), Link: strings.Repeat("x", rng.IntN(3000)), RefHost: fmt.Sprint(rng.IntN(1000))}
		records = append(records, recordOf(int64(i), h))
	}
	hits := int64(0)
	for left := records; len(left) > 0; {
		n, err := p.Add(context.Background(), left, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		left = left[n:]
		out, err := p.Flush(context.Background(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for i, r := range out {
			size += len(r.Key) + len(r.Value) + 30
			r.Offset = p.at + int64(i)
			var d delta.Delta
			if err := delta.Parse(r.Value, &d); err != nil {
				t.Fatal(err)
			}
			for _, c := range d.Cells {
				if c.Report == "total" && c.Link == "" {
					hits += c.Rows[0].Hits
				}
				for _, row := range c.Rows {
					if len(row.Key) > maxKeyBytes || !utf8.ValidString(row.Key) || len(c.Link) > maxKeyBytes {
						t.Fatalf("key of %d bytes", len(row.Key))
					}
				}
			}
		}
		if size > 900_000 {
			t.Errorf("a flush of %d bytes", size)
		}
		if err := p.Flushed(out, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if hits != int64(len(records)) {
		t.Errorf("%d hits in the deltas, want %d", hits, len(records))
	}
}

func TestCut(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"/plain", "/plain"},
		{"/bad\xff\xfe", "/bad\uFFFD"},
		{strings.Repeat("a", 3000), strings.Repeat("a", maxKeyBytes)},
		{strings.Repeat("a", maxKeyBytes-1) + "é", strings.Repeat("a", maxKeyBytes-1)},
		{strings.Repeat("\x80", 5000), "\uFFFD"},
	} {
		if got := cut(tc.in); got != tc.want || cut(got) != got {
			t.Errorf("cut(%.20q...) = %.20q... (%d bytes), want %.20q...", tc.in, got, len(got), tc.want)
		}
	}
}

func TestAVisitorOfManyPagesIsCountedOnceInEach(t *testing.T) {
	p := newTestPartition(1)
	var records []*kgo.Record
	for i := range 400 {
		h := hit.Hit{SiteID: 1, Kind: hit.Pageview, TimeMs: received, ReceivedMs: received, Visitor: 7, Path: fmt.Sprint("/", i%130)}
		records = append(records, recordOf(int64(i), h))
	}
	if _, err := p.Add(context.Background(), records, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, d := range flush(t, p, time.Now()) {
		for _, c := range d.Cells {
			for _, r := range c.Rows {
				if ofVisits := c.Report == "entry" || c.Report == "exit"; len(r.Visitors) != 1 && !ofVisits {
					t.Fatalf("%s %q: %d visitors, want 1", c.Report, r.Key, len(r.Visitors))
				}
			}
			if c.Report == "page" && len(c.Rows) != 130 {
				t.Errorf("%d pages", len(c.Rows))
			}
		}
	}
}

func TestOutputDependsOnInputAlone(t *testing.T) {
	records := liveHits(50, 1000)
	for i := range records {
		records[i].Offset = int64(i)
	}
	var first []string
	for range 2 {
		p := newTestPartition(50)
		if n, err := p.Add(context.Background(), records, time.Now()); err != nil || n != len(records) {
			t.Fatal(n, err)
		}
		out, err := p.Flush(context.Background(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var values []string
		for _, r := range out {
			values = append(values, string(r.Value))
		}
		if first == nil {
			first = values
		} else if strings.Join(first, "") != strings.Join(values, "") {
			t.Error("the same hits gave other deltas")
		}
	}
}
