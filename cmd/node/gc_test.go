package node

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestGCPercentFitsTheHeap(t *testing.T) {
	for _, tc := range []struct {
		live uint64
		want int
	}{{0, 400}, {1 << 20, 400}, {16 << 20, 400}, {32 << 20, 200}, {64 << 20, 100}, {4 << 30, 100}} {
		if got := gcPercent(tc.live); got != tc.want {
			t.Errorf("%d bytes in use: %d %%, want %d %%", tc.live, got, tc.want)
		}
	}
}

// The setting follows the heap from one collection to the next, and goes when the node does.
func TestRoomyGCFollowsTheHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	roomyGC(ctx)
	setting := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	becomes := func(what string, want func(uint64) bool) {
		t.Helper()
		for range 200 { // finalizers run a moment after a collection
			runtime.GC()
			if want(setting()) {
				return
			}
		}
		t.Errorf("%s: %d %%", what, setting())
	}
	becomes("a small heap", func(p uint64) bool { return p > 200 })
	large := make([]byte, 100<<20)
	becomes("a large heap", func(p uint64) bool { return p == 100 })
	runtime.KeepAlive(large)
	becomes("a small heap again", func(p uint64) bool { return p > 200 })
	cancel()
	becomes("stopped", func(p uint64) bool { return p == 100 })
}
