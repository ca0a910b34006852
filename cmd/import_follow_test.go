package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/testkit"
)

// TestAFollowedLogCountsEachLineOnce follows a log through rotation, a kill of the follower, a kill of the node and the loss of the
// follower's state, and imports the files afterwards.
func TestAFollowedLogCountsEachLineOnce(t *testing.T) {
	n := testkit.StartNode(t, t.TempDir())
	n.Run("", "site", "add", "f.example")
	dir, state := t.TempDir(), t.TempDir()
	log := filepath.Join(dir, "access.log")
	wrote := 0
	write := func(lines int) {
		t.Helper()
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for range lines {
			fmt.Fprintf(f, "81.2.69.%d - - [03/Feb/2026:10:%02d:%02d +0000] \"GET /page%d HTTP/1.1\" 200 10 \"-\" \"Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0\"\n",
				wrote%250, wrote/60%60, wrote%60, wrote)
			wrote++
		}
	}
	follow := func(state string) *testkit.Process {
		return testkit.Command(t, testkit.Binary(t), "import", "--data", n.Dir, "--site", "f.example", "--follow", "--state", state, log)
	}
	hitsOf := func() (sum int) {
		for _, row := range stats(t, n, "f.example").Rows {
			sum += int(row.Hits)
		}
		return sum
	}
	counted := func(what string) {
		t.Helper()
		testkit.Wait(t, what, time.Minute, func() bool {
			return hitsOf() >= wrote
		})
	}
	write(300)
	p := follow(state)
	counted("the lines that were there")
	write(50)
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	write(20)
	counted("lines around a rotation")
	p.Kill()
	write(30)
	if err := os.Rename(log, log+".2"); err != nil {
		t.Fatal(err)
	}
	write(10)
	p = follow(state)
	counted("lines that came while nobody followed")
	n.Kill()
	write(40)
	n.Restart()
	counted("lines that came while the node was down")
	p.Kill()
	p = follow(t.TempDir())
	write(5)
	counted("lines after the state was lost")
	p.Kill()
	out := n.Run("", "import", "--site", "f.example", log, log+".1", log+".2")
	if !strings.Contains(out, "350 imported before") || strings.Count(out, " 0 hits") != 3 {
		t.Errorf("importing the files: %s", out)
	}
	if got := hitsOf(); got != wrote {
		t.Errorf("%d hits, want %d", got, wrote)
	}
}
