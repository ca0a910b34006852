package raftfsm

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/finding"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// Whatever bit of the log or the snapshot is another one, the controller opens or says which file to restore: raft itself would panic.
func TestAFlippedBitIsRefusedWithWordsOrHarmless(t *testing.T) {
	cfg, clk := testConfig(t.TempDir())
	c, stop := start(t, cfg)
	if _, err := c.CreateTopic(t.Context(), state.TopicSpec{Name: "events", Partitions: 8, ReplicationFactor: -1}); err != nil {
		t.Fatal(err)
	}
	clk.Add(7 * 24 * time.Hour)
	if err := c.agreeSalts(t.Context()); err != nil { // with a snapshot, to forget those that are over
		t.Fatal(err)
	}
	for _, name := range []string{"a.example", "b.example"} {
		if _, err := c.AddSite(t.Context(), name, "UTC"); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	dir := filepath.Join(cfg.DataDir, "controller")
	snapshots, err := filepath.Glob(filepath.Join(dir, "snapshots", "*", "*"))
	if err != nil || len(snapshots) != 2 {
		t.Fatal(snapshots, err)
	}
	for _, path := range append(snapshots, filepath.Join(dir, "raft.db")) {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		step := 1 + len(bytes.ReplaceAll(whole, []byte{0}, nil))/300
		for at, n := 0, 0; at < len(whole); at++ {
			if n++; whole[at] == 0 || n%step != 0 {
				continue
			}
			damaged := bytes.Clone(whole)
			damaged[at] ^= 1 << (at % 8)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := Inspect(cfg.DataDir, func(finding.Finding) {}); err != nil {
				t.Errorf("%s, byte %d: inspected: %v", path, at, err)
			}
			switch c, err := Open(cfg); {
			case err == nil:
				if err := c.Close(); err != nil {
					t.Errorf("%s, byte %d: %v", path, at, err)
				}
			case !strings.Contains(err.Error(), "restore"):
				t.Errorf("%s, byte %d: refused without advice: %v", path, at, err)
			default:
				refused++
			}
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if refused == 0 {
			t.Errorf("%s: nothing was refused", path)
		}
	}
	start(t, cfg)
}
