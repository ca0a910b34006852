package node

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// gcRoom is how much garbage may gather between two collections when the heap is small. Go's own rule, as much as there is in use, makes a
// node that holds 20 MiB collect several times a second under load: with 64 MiB a record produced takes 15 % less of the processors.
const gcRoom = 64 << 20

// gcPercent is Go's setting for a heap with that many bytes in use. Large heaps keep to the default, and small ones to five times their size.
func gcPercent(live uint64) int {
	return int(min(max(gcRoom*100/max(live, 1), 100), 400))
}

// roomyGC keeps the setting to the size of the heap, which it looks at after each collection, until ctx ends. Who has set GOGC knows better.
func roomyGC(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	type cycle struct{ percent *int } // what nobody holds is finalized after each collection
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var again func(*cycle)
	again = func(c *cycle) {
		if ctx.Err() != nil {
			debug.SetGCPercent(100)
			return
		}
		metrics.Read(sample)
		if percent := gcPercent(sample[0].Value.Uint64()); percent != *c.percent {
			*c.percent = percent
			debug.SetGCPercent(percent)
		}
		runtime.SetFinalizer(c, again)
	}
	again(&cycle{percent: new(int)})
}
