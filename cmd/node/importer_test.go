package node

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnImportIsHeldBackWhereCountingIsSlow: it runs a few chunks ahead of slow counting, and many ahead of quick counting; where counting
// stands still it goes on all the same.
func TestAnImportIsHeldBackWhereCountingIsSlow(t *testing.T) {
	for _, tc := range []struct {
		name        string
		perChunk    time.Duration // that counting takes
		chunks      int
		atMost      int // chunks ahead
		least, most time.Duration
	}{
		{"quick", 5 * time.Millisecond, 200, paceMore, 200 * 5 * time.Millisecond / 2, 2 * time.Second},
		{"slow", time.Second, 20, paceFewer, 17 * time.Second, 20 * time.Second},
		{"standing still", time.Hour, 5, paceFewer, 3 * paceMost, 3*paceMost + time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, sent := time.Now(), 0
			counted := func() int { return int(time.Since(began) / tc.perChunk) } // chunks, at best
			p := pacer{wait: func(ctx context.Context, offsets map[int32]int64) error {
				for int64(counted()) < offsets[0] {
					select {
					case <-ctx.Done():
						return context.Cause(ctx)
					case <-time.After(time.Millisecond):
					}
				}
				return nil
			}}
			for range tc.chunks {
				time.Sleep(time.Millisecond) // reading and writing them
				sent++
				p.pace(t.Context(), map[int32]int64{0: int64(sent)})
				if tc.perChunk < time.Hour && sent-counted() > tc.atMost {
					t.Errorf("%s: %d chunks ahead, want at most %d", tc.name, sent-counted(), tc.atMost)
				}
			}
			if took := time.Since(began); took < tc.least || took > tc.most {
				t.Errorf("%s: took %v, want %v to %v", tc.name, took, tc.least, tc.most)
			}
		})
	}
}
