package quota

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// CanTime says whether this system tells a thread's processor time.
const CanTime = true

// Stopwatch measures the processor time of the goroutine that started it. What it waits for, a disk, other clients, a lock, takes none.
// One goroutine uses it.
type Stopwatch struct{ seen time.Duration }

// Start binds the goroutine to its thread until Stop.
func Start() *Stopwatch {
	runtime.LockOSThread()
	return &Stopwatch{threadTime()}
}

// Lap returns the time since Start or the last Lap.
func (s *Stopwatch) Lap() time.Duration {
	now := threadTime()
	lap := now - s.seen
	s.seen = now
	return lap
}

// Stop lets go of the thread. It is called once.
func (s *Stopwatch) Stop() { runtime.UnlockOSThread() }

func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0 // no kernel since 2.6 refuses it
	}
	return time.Duration(t.Nano())
}
