//go:build !unix

package bench

import "time"

var began = time.Now()

// cpuTime is the time that has passed: what a process uses of the cores is asked for on Unix only.
func cpuTime() time.Duration { return time.Since(began) }
