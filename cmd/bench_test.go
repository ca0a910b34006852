package cmd

import (
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/cmd/bench"
)

func TestASideIsWhatOneHitTook(t *testing.T) {
	got := sideOf(bench.Load{Requests: 50, Events: 50_000, Took: 2 * time.Second, P50: 1500 * time.Microsecond, P99: 20 * time.Millisecond}, 100*time.Millisecond)
	if want := (benchSide{PerSecond: 25_000, P50Millis: 1.5, P99Millis: 20, CPUMicros: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The middle one is taken of each figure, so that one disturbed round changes none of them, whichever figure it disturbs.
func TestTheMiddleIsOfEachFigure(t *testing.T) {
	got := middle([]benchSide{
		{PerSecond: 100, Ratio: 0.9, P50Millis: 1, P99Millis: 700, CPUMicros: 3},
		{PerSecond: 3, Ratio: 0.5, P50Millis: 2, P99Millis: 8, CPUMicros: 4},
		{PerSecond: 90, Ratio: 0.4, P50Millis: 50, P99Millis: 9, CPUMicros: 5},
	})
	if want := (benchSide{PerSecond: 90, Ratio: 0.5, P50Millis: 2, P99Millis: 9, CPUMicros: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := middle([]benchSide{{PerSecond: 7}}); got.PerSecond != 7 {
		t.Errorf("of one round: %+v", got)
	}
}

func TestABenchIsPrintedWithItsLoad(t *testing.T) {
	report := benchReport{Version: "v1", CPUs: 2, Go: "go1.26", Dir: "/disk", Load: "1.00 2.00 3.00", Seconds: 4, Rounds: 5,
		Counting: []countingRow{{Name: "thin", Hits: 1000, Bare: 2e6, Weir: 5e4, Ratio: 0.025, CPUMicros: 20}},
		Rows: []benchRow{{Name: "one hit", Bare: benchSide{PerSecond: 40_000, Ratio: 1, P50Millis: 1.25, P99Millis: 7, CPUMicros: 15},
			Weir: benchSide{PerSecond: 10_000, Ratio: 0.25, P50Millis: 5, P99Millis: 40, CPUMicros: 70}, Taken: benchSide{PerSecond: 16_000, Ratio: 0.4, P50Millis: 3, P99Millis: 26, CPUMicros: 45}}},
		VisibleMedian: 0.2, VisibleMax: 0.3, DrainSeconds: 1.5}
	const head = `weir v1, 2 CPUs shared with the load generator, go1.26, data on /disk, synced before each answer
middle of 5 rounds of 4 s each; load of the machine before: 1.00 2.00 3.00

COUNTING, A SECOND AND CORE  HITS  DECODED AND ADDED   WEIR  RATIO  CPU A HIT
thin                         1000            2000000  50000  0.025  20.00 us

`
	const rows = `                             A SECOND  RATIO  P50     P99      CPU A HIT
one hit, bare handler           40000  1.00   1.2 ms  7.0 ms   15.00 us
one hit, weir                   10000  0.25   5.0 ms  40.0 ms  70.00 us
one hit, weir, not counting     16000  0.40   3.0 ms  26.0 ms  45.00 us

from hit to count: median 0.200 s, longest of 20 0.300 s
all counted 1.5 s after the last request
`
	var out strings.Builder
	if report.print(&out); out.String() != head+rows {
		t.Errorf("got\n%s\nwant\n%s", out.String(), head+rows)
	}
	out.Reset()
	report.Rows = nil
	if report.print(&out); out.String() != head {
		t.Errorf("of counting alone: got\n%s\nwant\n%s", out.String(), head)
	}
}
