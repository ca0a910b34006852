//go:build unix

package replica

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/vfs"
)

// TestIdleCost prints what 100 idle groups cost; it takes ten seconds of real
// time and asserts only what a broken timer would show.
func TestIdleCost(t *testing.T) {
	if os.Getenv("WEIR_IDLE") == "" {
		t.Skip("set WEIR_IDLE=1 to measure for ten seconds")
	}
	n := newNode(t, vfs.OS{}, t.TempDir())
	for p := range int32(100) {
		n.open(n.config(p))
	}
	runtime.GC()
	before := cpuTime(t)
	time.Sleep(10 * time.Second)
	used := cpuTime(t) - before
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("100 groups of one voter: %.3f core, %d goroutines, %.1f MiB heap",
		used.Seconds()/10, runtime.NumGoroutine(), float64(m.HeapAlloc)/(1<<20))
	if used > 3*time.Second {
		t.Errorf("idle groups used %v of CPU in 10 s", used)
	}
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
