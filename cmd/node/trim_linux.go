package node

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// dropBinary takes the pages of this program's code and constants out of its memory; those that are used come back from the page cache. A
// start touches most of them once. Errors are of no account: then they stay.
func dropBinary() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	var start, end uint64
	ours := false
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		var from, to uint64
		var rights string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &rights); n == 3 {
			start, end = from, to
			ours = strings.HasSuffix(line, " "+exe) && (rights == "r-xp" || rights == "r--p")
			continue
		}
		// Pages that were changed, by a dynamic loader or a debugger, exist nowhere else.
		if pages, ok := strings.CutPrefix(line, "Anonymous:"); ours && ok && strings.TrimSpace(pages) == "0 kB" {
			unix.Syscall(unix.SYS_MADVISE, uintptr(start), uintptr(end-start), unix.MADV_DONTNEED)
		}
	}
}
