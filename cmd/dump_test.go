package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/testkit"
)

func TestDumpOfARunningNodeAndOfDamagedFiles(t *testing.T) {
	n := testkit.StartNode(t, "")
	n.Run("", "topics", "create", "orders", "--partitions", "1")
	for _, word := range []string{"first\n", "second\n", "third\n"} {
		n.Run(word, "produce", "orders", "--compression", "none")
	}
	dir := filepath.Join(topicDir(t, n.Dir, "orders"), "0")
	out, said, err := n.Try("", "dump", "--records", "--json", dir)
	if exitCode(err) != 0 {
		t.Fatalf("%v\n%s%s", err, out, said)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var last struct{ Offset, Value any }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != 4 || last.Value != "third" || last.Offset != 2.0 {
		t.Errorf("got %s, %v", out, err)
	}
	if err := n.Stop(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	before := tree(t, n.Dir)
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"dump", filepath.Join(n.Dir, "hardstate.wal")}
	for _, e := range names {
		args = append(args, filepath.Join(dir, e.Name()))
	}
	out, said, err = n.Try("", args...)
	if exitCode(err) != 0 {
		t.Fatalf("%v\n%s%s", err, out, said)
	}
	for _, kind := range []string{"vote ", "batch ", "index ", "slot ", "sealed ", "meta ", "state "} {
		if !strings.Contains(out, "\n"+kind) {
			t.Errorf("no line of kind %s in\n%s", kind, out)
		}
	}
	for path, sum := range tree(t, n.Dir) {
		if before[path] != sum {
			t.Errorf("%s was changed", path)
		}
	}

	segment := filepath.Join(dir, "00000000000000000000.log")
	b, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	b[strings.Index(string(b), "second")] ^= 1
	if err := os.WriteFile(segment, b, 0o600); err != nil {
		t.Fatal(err)
	}
	out, said, err = n.Try("", "dump", "--records", segment)
	if exitCode(err) != 1 || !strings.Contains(out, "damage ") || !strings.Contains(out, "value=first") || !strings.Contains(out, "value=third") {
		t.Errorf("damaged: %v\n%s%s", err, out, said)
	}
	if _, said, err := n.Try("", "dump", filepath.Join(n.Dir, "identity.json")); exitCode(err) != 2 || !strings.Contains(said, ".timeindex") {
		t.Errorf("of another kind: %v, %s", err, said)
	}
	if _, said, err := n.Try("", "dump", filepath.Join(dir, "9.log")); exitCode(err) != 2 || !strings.Contains(said, "no such file") {
		t.Errorf("missing: %v, %s", err, said)
	}
}
