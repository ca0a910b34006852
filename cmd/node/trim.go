package node

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	trimEvery = time.Minute
	// idleAllocBytes is what a node without traffic allocates in trimEvery at most, a guess: several times what was measured with a hundred
	// partitions.
	idleAllocBytes = 32 << 20
)

// trim gives memory back to the system while little goes on: the garbage of the start or of the last traffic, which would wait for the
// next collection, and the pages of the binary that are not in use. It costs some ten milliseconds each time.
func (n *Node) trim(ctx context.Context) error {
	roomyGC(ctx)
	tick := time.NewTicker(trimEvery)
	defer tick.Stop()
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	var before uint64
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		metrics.Read(sample)
		now := sample[0].Value.Uint64()
		if now-before < idleAllocBytes {
			debug.FreeOSMemory()
			dropBinary()
		}
		before = now
	}
}
