//go:build !linux

package quota

import "time"

// CanTime says whether this system tells a thread's processor time.
const CanTime = false

// Stopwatch measures nothing here.
type Stopwatch struct{}

// Start returns a stopwatch.
func Start() *Stopwatch { return &Stopwatch{} }

// Lap returns 0.
func (*Stopwatch) Lap() time.Duration { return 0 }

// Stop does nothing.
func (*Stopwatch) Stop() {}
