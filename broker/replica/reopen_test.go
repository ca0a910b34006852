package replica

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/weir-analytics/weir/internal/vfs"
)

// Whatever operation of the disk begins to fail, until it is repaired: what was
// acknowledged can be read as long as the replica says so, and a replica that
// is opened again in the same process, over the same votes, has all of it once
// and takes more, also after a power cut that follows.
func TestOpenedAgainAfterTheDiskFailed(t *testing.T) {
	boom := errors.New("no space left on device")
	for at := int64(1); ; at++ {
		mem := vfs.NewMem()
		var ops atomic.Int64
		var armed atomic.Bool
		n := newNode(t, vfs.Hooked{FS: mem, Before: func(op vfs.Op, name string) error {
			if armed.Load() && op != vfs.OpRead && op != vfs.OpOpen && ops.Add(1) >= at {
				return boom
			}
			return nil
		}}, "d")
		what := fmt.Sprintf("operation %d", at)
		cfg := n.config(0)
		cfg.SegmentBytes = 800
		r := openServing(t, cfg)
		armed.Store(true)
		var yes, no []string
		for i := range 12 {
			v := fmt.Sprint("v", i)
			_, err := r.Append(t.Context(), batchOf(t, v)).Result()
			switch {
			case err == nil:
				yes = append(yes, v)
			case !errors.Is(err, ErrOutcomeUnknown):
				no = append(no, v)
			}
		}
		if err := r.Err(); err != nil {
			if !r.Readable() {
				t.Fatalf("%s: cannot be read after %v", what, err)
			}
			if r.Writable() == nil {
				t.Fatalf("%s: a disk that fails is called writable", what)
			}
			if got := values(t, r); len(got) != len(yes) {
				t.Fatalf("%s: reads %d records of %d", what, len(got), len(yes))
			}
		}
		ended := ops.Load() < at
		armed.Store(false)
		if err := r.Writable(); err != nil {
			t.Fatalf("%s: repaired: %v", what, err)
		}
		_ = r.Close()
		r = openServing(t, cfg)
		checkValues(t, r, yes, no, what)
		put(t, r, batchOf(t, "more"))
		disk := mem.Crash(nil) // what was read back after the failure must be on the disk too
		must(t, r.Close())
		checkAcked(t, disk, append(yes, "more"), no, what+", then a power cut")
		if ended {
			t.Logf("%d operations", at-1)
			return
		}
	}
}

func openServing(t *testing.T, cfg Config) *Replica {
	t.Helper()
	r, err := Open(cfg)
	must(t, err)
	waitFor(t, r, "leadership", func() bool { _, _, serving := r.Leader(); return serving })
	return r
}
