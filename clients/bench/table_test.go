package main

import (
	"strings"
	"testing"
	"time"
)

func produced(perSecond float64) result {
	return result{produce: rate{perSecond: perSecond, cpu: 500 * time.Nanosecond}, consume: rate{perSecond: 2 * perSecond, cpu: 250 * time.Nanosecond}, fetchBytes: 1000 * perSecond}
}

// What weir is of a peer is the median of the rounds' ratios, not the ratio of the medians: a round that was slow for both says nothing about either.
func TestARatioIsOfOneRound(t *testing.T) {
	var table table
	for _, round := range []struct{ weir, peer float64 }{{100, 50}, {10, 5}, {300, 200}} {
		table.add("weir", 200, produced(round.weir))
		table.add("kfake", 200, produced(round.peer))
	}
	perSecond := func(r result) float64 { return r.produce.perSecond }
	if got := table.times("kfake", 200, perSecond); got != 2 {
		t.Errorf("weir is %g times the peer, want 2", got)
	}
	if m, low, high := table.median("weir", 200, perSecond); m != 100 || low != 10 || high != 300 {
		t.Errorf("median %g of %g to %g", m, low, high)
	}
	if m, _, _ := table.median("weir", 1024, perSecond); m != 0 || table.times("kafka", 200, perSecond) != 0 {
		t.Error("there is a figure of what was not measured")
	}
}

func TestATableShowsEachPeerInItsColumns(t *testing.T) {
	var table table
	for _, size := range sizes {
		table.add("weir", size, produced(50_000))
		table.add("nats", size, result{produce: rate{perSecond: 20_000, cpu: 2 * time.Microsecond}, consume: rate{perSecond: 40_000}})
	}
	var out strings.Builder
	table.print(&out, []string{"weir", "nats"})
	const want = `
200 bytes

| | fsync | produce, k records/s | weir is | consume, k records/s | weir is | fetch, MB/s | weir is | server CPU µs/record, in and out |
|---|---|---|---|---|---|---|---|---|
| weir | before each answer | 50 (50-50) |  | 100 (100-100) |  | 50 (50-50) |  | 0.50, 0.25 |
| nats | every 2 min (default) | 20 (20-20) | 2.50 × | 40 (40-40) | 2.50 × | | | 2.00, 0.00 |

1024 bytes
`
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// The next offset is the one after the last whole batch; a batch that the server has cut is read again.
func TestAfterTheLastWholeBatch(t *testing.T) {
	batch := func(base byte, lastDelta byte, size int) []byte {
		b := make([]byte, 12+size)
		b[7], b[11], b[26] = base, byte(size), lastDelta
		return b
	}
	two := append(batch(5, 2, 60), batch(8, 0, 49)...)
	for _, c := range []struct {
		name string
		b    []byte
		want int64
	}{{"nothing", nil, 3}, {"two batches", two, 9}, {"the second is cut", two[:len(two)-1], 8}, {"a piece of a head", two[:20], 3}} {
		if got := after(c.b, 3); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
