package record

import "testing"

func TestBuffersAreAsLongAsAskedFor(t *testing.T) {
	for _, n := range []int{0, 1, 8191, 8192, 16384, 16385, 1 << 20, 1<<20 + 1, 4 << 20, 4<<20 + 1} {
		for range 3 {
			b := Buffer(n)
			if len(b) != n {
				t.Errorf("%d bytes, want %d", len(b), n)
			}
			for i := range b {
				b[i] = 1
			}
			Recycle(b[:n/2])
		}
	}
	Recycle(nil)
	Recycle(make([]byte, 1<<14)[5:])
}

func TestRecycledBuffersAreUsedAgain(t *testing.T) {
	if got := testing.AllocsPerRun(100, func() { Recycle(Buffer(1 << 20)) }); got > 1.5 { // the header of the slice, and now and then a buffer
		t.Errorf("%.1f allocations", got)
	}
}
