package rollup

import (
	"context"
	"slices"
	"testing"
	"time"
)

// TestAHitIsVisibleWithinASecond measures from the acknowledgement of single hits to the answer of a query that holds them.
func TestAHitIsVisibleWithinASecond(t *testing.T) {
	onEachLog(t, func(t *testing.T, log *testLog) {
		b := newBench(t, log)
		began := time.Now()
		b.start()
		tr := traffic(3, 1)
		b.send(tr, 1)
		b.settle()
		t.Logf("first hit after a start: %v", time.Since(began).Round(time.Millisecond))
		var took []time.Duration
		for range 20 {
			b.send(tr, 3)
			at := time.Now()
			b.settle()
			took = append(took, time.Since(at))
			time.Sleep(70 * time.Millisecond)
		}
		slices.Sort(took)
		t.Logf("visible in all reports after: median %v, slowest %v", took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
		began = time.Now()
		if answer, err := b.room.Query(context.Background(), Query{Site: 1}); err != nil || answer.CompleteTo.IsZero() {
			t.Errorf("answer %+v, %v", answer, err)
		}
		t.Logf("query: %v", time.Since(began).Round(time.Microsecond))
	})
}
