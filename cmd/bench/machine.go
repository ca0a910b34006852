package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// CPUTime returns how long a process has run on all cores, 0 where the system does not say (it is read as Linux writes it).
func CPUTime(pid int) time.Duration {
	const tick = 10 * time.Millisecond // of the clock that Linux counts in for programs
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the name before may hold blanks
	if len(fields) < 13 {
		return 0
	}
	user, err1 := strconv.ParseInt(string(fields[11]), 10, 64)
	system, err2 := strconv.ParseInt(string(fields[12]), 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return time.Duration(user+system) * tick
}

// MachineLoad returns how many processes wanted to run in the last minute, five and fifteen minutes; "" where the system does not say.
func MachineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	fields := bytes.Fields(text)
	if len(fields) < 3 {
		return ""
	}
	return string(bytes.Join(fields[:3], []byte(" ")))
}
