package delta

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func full() *Delta {
	return &Delta{
		Flush: Flush{Partition: 3, From: 1000, To: 1300, At: 17, Count: 2, ReceivedMs: 1770109257123}, Index: 1,
		SiteID: 7, Minute: 29501820, Visitors: []uint64{0x0102030405060708, 0xffffffffffffffff},
		Cells: []Cell{
			{Report: "total", Rows: []Row{{Key: "", Counts: Counts{Hits: 300, Bots: 20, Pageviews: 200, Events: 30, Clicks: 50}, Visitors: []uint32{0, 1}}}},
			{Report: "country", Link: "spring", Rows: []Row{
				{Key: "DE", Counts: Counts{Hits: 50, Clicks: 50}, Visitors: []uint32{1}},
				{Key: "??", Counts: Counts{Hits: 1, Bots: 1}},
			}},
			{Report: "entry", Rows: []Row{
				{Key: "/", Counts: Counts{Visits: 3, Bounces: -1, DurationMs: 61_000, EngagedMs: 4_000, ScrollSum: 150, ScrollViews: 2}},
			}},
		},
	}
}

func TestEncodingIsAsCommitted(t *testing.T) {
	progress := &Delta{Flush: Flush{From: 5, To: 9, Count: 1, ReceivedMs: -1}}
	for name, d := range map[string]*Delta{"full": full(), "range": progress} {
		text, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got := string(d.Key()) + "\n" + hex.EncodeToString(Append(nil, d)) + "\n" + string(text) + "\n"
		file := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: differs from %s: this breaks readers of stored deltas\ngot\n%swant\n%s", name, file, got, want)
		}
	}
}

// same compares what a delta says, not the memory it keeps for reuse.
func same(a, b *Delta) bool {
	x, y := *a, *b
	x.rows, x.indexes, y.rows, y.indexes = nil, nil, nil, nil
	return bytes.Equal(Append(nil, &x), Append(nil, &y)) && x.Flush == y.Flush && len(x.Cells) == len(y.Cells)
}

func TestEveryFieldSurvives(t *testing.T) {
	want := full()
	var got Delta
	for range 2 { // the second time into used memory
		if err := Parse(Append(nil, want), &got); err != nil {
			t.Fatal(err)
		}
		if !same(&got, want) || !reflect.DeepEqual(got.Visitors, want.Visitors) || got.Cells[1].Link != "spring" ||
			got.Cells[1].Rows[0].Counts != want.Cells[1].Rows[0].Counts || got.Cells[1].Rows[0].Visitors[0] != 1 {
			t.Errorf("got %+v", got)
		}
	}
}

func TestUnknownFieldsAreSkipped(t *testing.T) {
	data := Append(nil, full())
	data = append(data, 0xf8, 0x06, 0x05)           // field 111, varint
	data = append(data, 0xfa, 0x06, 0x02, 'h', 'i') // field 111, bytes
	data = append(data, 0xfd, 0x06, 1, 2, 3, 4)     // field 111, fixed32
	data = append(data, 0xf9, 0x06, 1, 2, 3, 4, 5, 6, 7, 8)
	var got Delta
	if err := Parse(data, &got); err != nil || !same(&got, full()) {
		t.Errorf("error %v, got %+v", err, got)
	}
}

func TestParseRefuses(t *testing.T) {
	change := func(f func(*Delta)) []byte {
		d := full()
		f(d)
		return Append(nil, d)
	}
	for name, data := range map[string][]byte{
		"nothing":            {},
		"text":               []byte("{\"site\":1}"),
		"cut":                Append(nil, full())[:60],
		"range backwards":    change(func(d *Delta) { d.To = 1 }),
		"index past count":   change(func(d *Delta) { d.Index = 2 }),
		"no such visitor":    change(func(d *Delta) { d.Cells[0].Rows[0].Visitors = []uint32{2} }),
		"negative count":     change(func(d *Delta) { d.Cells[0].Rows[0].Hits = -1 }),
		"negative offset":    change(func(d *Delta) { d.At = -2 }),
		"minute of no clock": change(func(d *Delta) { d.Minute = 1 << 60 }),
	} {
		if err := Parse(data, new(Delta)); !errors.Is(err, ErrNotDelta) {
			t.Errorf("%s: error %v, want ErrNotDelta", name, err)
		}
	}
}

func TestBoundsOnBytesHold(t *testing.T) {
	d := full()
	bound := HeaderBytes + VisitorBytes*len(d.Visitors)
	for _, c := range d.Cells {
		bound += MaxCellBytes(c.Report, c.Link)
		for i := range c.Rows {
			c.Rows[i].Counts = Counts{1 << 62, 1 << 62, 1 << 62, 1 << 62, 1 << 62, -1 << 63, -1 << 63, -1 << 63, -1 << 63, -1 << 63, -1 << 63}
			bound += MaxRowBytes(c.Rows[i].Key) + RowVisitorBytes*len(c.Rows[i].Visitors) + VisitCountsBytes
		}
	}
	d.From, d.To, d.At, d.ReceivedMs, d.Minute, d.SiteID = 1<<62, 1<<62, 1<<62, -1<<62, -1<<50, 1<<31
	d.Partition, d.Count = 1<<30, 1<<30
	if n := len(Append(nil, d)); n > bound {
		t.Errorf("%d bytes, bound %d", n, bound)
	}
}

// FuzzParse: no panic; what is accepted is written again and read back as the same.
func FuzzParse(f *testing.F) {
	f.Add(Append(nil, full()))
	f.Add(Append(nil, &Delta{Flush: Flush{Count: 1}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d, back Delta
		if err := Parse(data, &d); err != nil {
			if !errors.Is(err, ErrNotDelta) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if err := Parse(Append(nil, &d), &back); err != nil || !same(&d, &back) {
			t.Fatalf("%v: %+v became %+v", err, d, back)
		}
		d.Key()
		if _, err := json.Marshal(&d); err != nil && !strings.Contains(err.Error(), "year") {
			t.Fatal(err)
		}
	})
}

// script reads flushes from records written as "index/count at" and names those that come through.
func TestOnlyWholeFlushesAtTheirOffsetCount(t *testing.T) {
	type rec struct {
		offset int64
		index  int
		Flush
	}
	flush := func(at int64, from int64, count int) Flush {
		return Flush{From: from, To: from + 10, At: at, Count: count}
	}
	run := func(offset int64, fl Flush) (recs []rec) {
		for i := range fl.Count {
			recs = append(recs, rec{offset + int64(i), i, fl})
		}
		return recs
	}
	join := func(lists ...[]rec) (all []rec) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	for _, tc := range []struct {
		name    string
		recs    []rec
		want    []int64 // From of the flushes that count
		skipped int
	}{
		{"one after the other", join(run(0, flush(0, 0, 2)), run(2, flush(2, 10, 1)), run(3, flush(3, 20, 3))), []int64{0, 10, 20}, 0},
		{"a zombie's flush lands second", join(run(0, flush(0, 0, 2)), run(2, flush(2, 10, 1)), run(3, flush(2, 10, 2)), run(5, flush(5, 20, 1))),
			[]int64{0, 10, 20}, 1},
		{"torn, then another", join(run(0, flush(0, 0, 3))[:2], run(2, flush(2, 0, 2)), run(4, flush(4, 10, 1))), []int64{0, 10}, 1},
		{"torn twice", join(run(0, flush(0, 0, 3))[:1], run(1, flush(1, 0, 3))[:2], run(3, flush(3, 0, 1))), []int64{0}, 2},
		{"torn, then the same again", join(run(0, flush(-1, 0, 3))[:2], run(2, flush(-1, 0, 3))), []int64{0}, 1},
		{"begins in the middle of a flush", join(run(0, flush(0, 0, 3))[1:], run(3, flush(3, 10, 1))), []int64{10}, 1},
		{"a gap inside a flush", join(run(0, flush(0, 0, 3))[:1], run(1, flush(1, 0, 3))[2:], run(4, flush(4, 0, 1))), []int64{0}, 2},
		{"transactions vouch for it", join(run(0, flush(-1, 0, 2)), run(3, flush(-1, 10, 1))), []int64{0, 10}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r Reader
			var got []int64
			for _, rec := range tc.recs {
				whole, err := r.Add(rec.offset, func(d *Delta) error {
					return Parse(Append(nil, &Delta{Flush: rec.Flush, Index: rec.index, SiteID: 1, Minute: rec.offset}), d)
				})
				if err != nil {
					t.Fatal(err)
				}
				if len(whole) == 0 {
					continue
				}
				got = append(got, whole[0].From)
				for i := range whole {
					if whole[i].Minute != rec.offset-int64(len(whole))+1+int64(i) {
						t.Errorf("record %d of the flush is from offset %d", i, whole[i].Minute)
					}
				}
			}
			if !reflect.DeepEqual(got, tc.want) || r.Skipped() != tc.skipped {
				t.Errorf("flushes %v, skipped %d; want %v, %d", got, r.Skipped(), tc.want, tc.skipped)
			}
		})
	}
}

func TestGarbageEndsAFlush(t *testing.T) {
	var r Reader
	ok := func(i int) func(*Delta) error {
		return func(d *Delta) error {
			return Parse(Append(nil, &Delta{Flush: Flush{At: 0, Count: 2}, Index: i}), d)
		}
	}
	bad := func(d *Delta) error { return Parse([]byte("garbage"), d) }
	r.Add(0, ok(0))
	if _, err := r.Add(1, bad); !errors.Is(err, ErrNotDelta) {
		t.Errorf("error %v", err)
	}
	if whole, err := r.Add(2, ok(1)); err != nil || whole != nil {
		t.Errorf("a flush with garbage inside counted: %v %v", whole, err)
	}
}

func BenchmarkParse(b *testing.B) {
	data := Append(nil, full())
	var d Delta
	b.ReportAllocs()
	for range b.N {
		if err := Parse(data, &d); err != nil {
			b.Fatal(err)
		}
	}
}
