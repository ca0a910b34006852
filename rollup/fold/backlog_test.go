package fold

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/zone"
)

// TestHistoryWaitsForWhatHappensNow: old minutes do not hold up the hit of this moment, and come with the flushes after it; a crash in
// between loses nothing and counts nothing twice.
func TestHistoryWaitsForWhatHappensNow(t *testing.T) {
	for _, unit := range []zone.Unit{zone.Minute, zone.Hour, zone.Day} {
		r := newRig(t, unit, "Europe/Berlin", 8<<20)
		z := zone.UTC
		if unit != zone.Minute {
			z, _ = zone.Load("Europe/Berlin")
		}
		rng := rand.New(rand.NewPCG(1, 1))
		want := truth{}
		const now = int64(29_357_220)
		r.received = now * 60_000
		const windows = 3 * portion
		step := map[zone.Unit]int64{zone.Minute: 1, zone.Hour: 60, zone.Day: 1440}[unit]
		for i := range int64(windows) {
			r.feed(randomDelta(rng, z, unit, now-(10+i)*1440-i*step, 300, want))
		}
		live := randomDelta(rng, z, unit, now, 300, want)
		r.feed(live)
		r.take()
		r.flush()
		start := z.Window(unit, now*60).Start
		liveID := bucket.ID{SiteID: live.SiteID, Generation: 1, Window: unit.String(), Start: start, Report: "total"}
		if has, err := r.table.Has(unit, liveID); !has || err != nil {
			t.Fatalf("%s: the hit of this moment is not in the first flush: %v", unit, err)
		}
		if r.p.backlog.empty() {
			t.Fatalf("%s: no old minute waits", unit)
		}
		if progress, _, _ := r.table.Progress(unit, 0); progress.FoldedTo >= windows {
			t.Fatalf("%s: progress to %d, though deltas before that wait", unit, progress.FoldedTo)
		}
		r.open() // dies
		r.take()
		for r.flush(); !r.p.backlog.empty(); r.flush() {
			if r.p.Due().IsZero() {
				t.Fatalf("%s: deltas wait and nothing is due", unit)
			}
		}
		r.check(want)
		if progress, _, _ := r.table.Progress(unit, 0); progress.FoldedTo != int64(len(r.in)) {
			t.Errorf("%s: progress to %d of %d", unit, progress.FoldedTo, len(r.in))
		}
	}
}

// TestWhatWaitsIsBounded: beyond the bound the fold takes no more until it has flushed.
func TestWhatWaitsIsBounded(t *testing.T) {
	r := newRig(t, zone.Minute, "UTC", 8<<20)
	rng := rand.New(rand.NewPCG(1, 1))
	want := truth{}
	const now = int64(29_357_220)
	r.received = now * 60_000
	for i := range int64(20_000) {
		r.feed(randomDelta(rng, zone.UTC, zone.Minute, now-1000-i, 300, want))
	}
	taken, err := r.p.Add(context.Background(), r.in, r.now)
	if err != nil || taken == len(r.in) {
		t.Fatalf("took %d of %d deltas, error %v", taken, len(r.in), err)
	}
	if most := backlogBytes(zone.Minute) + 4096; r.p.backlog.bytes > most {
		t.Errorf("%d bytes wait, want at most %d", r.p.backlog.bytes, most)
	}
	r.take()
	for r.flush(); !r.p.backlog.empty(); r.flush() {
	}
	r.check(want)
}
