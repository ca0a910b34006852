package cmd

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/testkit"
)

// topicDir returns the directory of a topic of a node.
func topicDir(t *testing.T, data, topic string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, "topics", "*", "topic.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct{ Name string }
		if json.Unmarshal(b, &doc) == nil && doc.Name == topic {
			return filepath.Dir(file)
		}
	}
	t.Fatalf("no directory of topic %s in %s", topic, data)
	return ""
}

// readyText returns what /readyz says.
func readyText(n *testkit.Node) (status int, text string) {
	var doc json.RawMessage
	status, _ = n.Admin("GET", "/readyz", nil, &doc)
	return status, string(doc)
}

func TestADamagedRecordIsLoudAndEverythingElseIsServed(t *testing.T) {
	n := testkit.StartNode(t, "")
	n.Run("", "topics", "create", "orders", "--partitions", "2")
	for _, value := range []string{"first", "second", "third"} {
		n.Run(value+"\n", "produce", "orders", "--partition", "1", "--compression", "none")
	}
	n.Run("other\n", "produce", "orders", "--partition", "0")
	if err := n.Stop(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(topicDir(t, n.Dir, "orders"), "1", "00000000000000000000.log")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("second"))
	b[at] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}

	n.Restart()
	began := time.Now()
	out, said, err := n.Try("", "consume", "orders")
	if err == nil || !strings.Contains(said, "orders partition 1") || !strings.Contains(said, "offset 1 is damaged") {
		t.Errorf("consume: %v, %s", err, said)
	}
	if !strings.Contains(out, `"first"`) || !strings.Contains(out, `"other"`) || strings.Contains(out, "third") {
		t.Errorf("consume printed\n%s", out)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("consume took %s to give up", took)
	}
	if out := n.Run("", "consume", "orders", "--partition", "1", "--from", "2"); !strings.Contains(out, `"third"`) {
		t.Errorf("behind the damage:\n%s", out)
	}
	n.Run("fourth\n", "produce", "orders", "--partition", "1")

	if status, text := readyText(n); status != 503 || !strings.Contains(text, path) || !strings.Contains(text, "partition 1 of orders") {
		t.Errorf("/readyz: %d %s", status, text)
	}
	if count := strings.Count(n.Log(), "are damaged: readers stop there"); count != 1 {
		t.Errorf("the damage was logged %d times:\n%s", count, n.Log())
	}
	if log := n.Log(); !strings.Contains(log, path) || !strings.Contains(log, "at byte ") || !strings.Contains(log, "restore this partition") {
		t.Errorf("the log does not say where and what to do:\n%s", log)
	}
	if refused := refusedFetches(t, n); refused < 1 || refused > 20 {
		t.Errorf("%d fetches were refused, want a few", refused)
	}
}

// refusedFetches is how many partitions a node answered with CORRUPT_MESSAGE to a fetch.
func refusedFetches(t *testing.T, n *testkit.Node) int {
	t.Helper()
	res, err := http.Get(n.HTTP + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, `weir_broker_fetch_refused_total{error="CORRUPT_MESSAGE"} `); ok {
			count, _ := strconv.Atoi(strings.TrimSpace(rest))
			return count
		}
	}
	return 0
}

func TestDamagedFilesOfTheNodeAreRefusedOrPutAside(t *testing.T) {
	n := testkit.StartNode(t, "")
	n.Run("", "site", "add", "still.example")
	if err := n.Stop(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file   string
		damage func(path string) error
		want   []string
	}{
		{"controller/raft.db", cut, []string{"raft.db", "damaged", "backup"}},
		{"controller/raft.db", scribble, []string{"raft.db", "damaged", "backup"}},
		{"hardstate.wal", func(path string) error { return os.Truncate(path, 0) }, []string{"hardstate.wal", "damaged", "backup"}},
		{"hardstate.wal", os.Remove, []string{"hardstate.wal", "missing", "topics", "backup"}},
	} {
		path := filepath.Join(n.Dir, c.file)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.damage(path); err != nil {
			t.Fatal(err)
		}
		damaged, _ := os.ReadFile(path)
		said := refused(t, "--data", n.Dir)
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: it says %q, want %q in it", c.file, said, want)
			}
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(after, damaged) {
			t.Errorf("%s was changed by the refused start", c.file)
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	sessions := filepath.Join(n.Dir, "web", "sessions.db")
	if err := cut(sessions); err != nil {
		t.Fatal(err)
	}
	n.Restart()
	if log := n.Log(); !strings.Contains(log, "put aside") || !strings.Contains(log, "sessions.db.damaged") {
		t.Errorf("nothing is said of the sessions:\n%s", log)
	}
	if out := n.Run("", "site", "list"); !strings.Contains(out, "still.example") {
		t.Errorf("after it all:\n%s", out)
	}
}

// cut takes the last half of a file away.
func cut(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()/2&^4095)
}

// scribble overwrites every page of a database but the first two, which say how long it is.
func scribble(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for i := 8192; i < len(b); i++ {
		b[i] ^= 0x5a
	}
	return os.WriteFile(path, b, 0o600)
}
