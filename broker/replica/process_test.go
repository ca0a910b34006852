package replica

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/vfs"
)

// TestMain lets the test program be the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("WEIR_VICTIM_DIR"); dir != "" {
		victim(dir)
		return
	}
	os.Exit(m.Run())
}

// victim appends numbers from where the log ends and prints each one that was
// acknowledged, until it is killed.
func victim(dir string) {
	t := &testing.T{}
	n := newNode(t, vfs.OS{}, dir)
	cfg := n.config(0)
	cfg.SegmentBytes = 200_000
	r := n.open(cfg)
	out := bufio.NewWriter(os.Stdout)
	pending := make(chan *Pending, 64)
	go func() {
		for i := r.HighWatermark(); ; i++ {
			pending <- r.Append(context.Background(), batchOf(t, strconv.FormatInt(i, 10)))
		}
	}()
	for p := range pending {
		res, err := p.Result()
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(out, res.BaseOffset)
		_ = out.Flush()
	}
}

func TestAProcessKilledUnderLoadKeepsWhatItAcknowledged(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	exe, err := os.Executable()
	must(t, err)
	dir := t.TempDir()
	acknowledged := int64(-1)
	for round := range 5 {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "WEIR_VICTIM_DIR="+dir)
		cmd.Stderr = os.Stderr
		pipe, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(pipe)
		kill := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		for n := 0; lines.Scan(); n++ {
			acknowledged, err = strconv.ParseInt(lines.Text(), 10, 64)
			must(t, err)
			if n == 100+round*150 {
				must(t, cmd.Process.Kill())
			}
		}
		kill.Stop()
		_ = cmd.Wait() // it was killed
		n := newNode(t, vfs.OS{}, dir)
		r := n.open(n.config(0))
		got := values(t, r)
		if int64(len(got)) <= acknowledged {
			t.Fatalf("round %d: %d records, offset %d was acknowledged", round, len(got), acknowledged)
		}
		for i, v := range got {
			if v != strconv.Itoa(i) {
				t.Fatalf("round %d: record %d is %q", round, i, v)
			}
		}
		must(t, r.Close())
		must(t, n.hard.Close())
		if round == 0 && acknowledged < 100 {
			t.Errorf("only %d acknowledged, the test shows little", acknowledged)
		}
	}
	t.Logf("%d acknowledged", acknowledged+1)
}
