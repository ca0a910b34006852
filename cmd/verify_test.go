package cmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/internal/testkit"
	"github.com/weir-analytics/weir/raftfsm"
)

// tree is what a directory holds: the checksum of each file by its path.
func tree(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	files := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = sha256.Sum256(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// exitCode is that of a command which has ended with err.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// oldDir is the directory of a node that last ran a week ago. At its next start the controller writes a snapshot, by which it forgets the salts of then.
func oldDir(t *testing.T) string {
	t.Helper()
	cfg := raftfsm.Default(t.TempDir())
	cfg.Now = func() time.Time { return time.Now().AddDate(0, 0, -7) }
	c, err := raftfsm.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- c.Run(ctx) }()
	for {
		changed := c.Changed()
		if len(c.State().Salts) > 0 {
			break
		}
		<-changed
	}
	cancel()
	if err := errors.Join(<-ran, c.Close()); err != nil {
		t.Fatal(err)
	}
	return cfg.DataDir
}

// busyNode is a stopped node whose files are of every kind: records, a cleaned topic, one whose records were deleted, a group with offsets, transactions that
// were committed and aborted, counts, and a snapshot of the controller.
func busyNode(t *testing.T) *testkit.Node {
	t.Helper()
	n := testkit.StartNode(t, oldDir(t))
	n.Run("", "site", "add", "still.example")
	n.Run("", "topics", "create", "orders", "--partitions", "1")
	n.Run("first\nsecond\nthird\n", "produce", "orders", "--compression", "none")
	n.Run("", "topics", "create", "state", "--partitions", "1", "--set", "cleanup.policy=compact", "--set", "segment.ms=1000",
		"--set", "min.cleanable.dirty.ratio=0.01", "--set", "segment.bytes=65536")
	client, err := kgo.NewClient(kgo.SeedBrokers(n.Kafka), kgo.TransactionalID("writer"), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := client.ProduceSync(t.Context(), kgo.StringRecord(fmt.Sprint("in transaction ", i))).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := client.EndTransaction(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	plain, err := kgo.NewClient(kgo.SeedBrokers(n.Kafka), kgo.DefaultProduceTopic("state"), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for i := range 400 {
		if err := plain.ProduceSync(t.Context(), kgo.KeySliceRecord([]byte{byte('a' + i%4)}, bytes.Repeat([]byte{byte(i)}, 1000))).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	n.Run("", "topics", "create", "short", "--partitions", "1")
	n.Run("gone\n", "produce", "short")
	if _, err := kadm.NewClient(plain).DeleteRecords(t.Context(), kadm.Offsets{"short": {0: {Topic: "short", At: 1}}}); err != nil {
		t.Fatal(err)
	}
	for what, pattern := range map[string]string{
		"old segments to be deleted":             filepath.Join(topicDir(t, n.Dir, "short"), "0", "anchor-*"),
		"the controller to have left a snapshot": filepath.Join(n.Dir, "controller", "snapshots", "*", "state.bin"),
	} {
		testkit.Wait(t, what, 30*time.Second, func() bool {
			found, _ := filepath.Glob(pattern)
			return len(found) > 0 && !strings.Contains(found[0], ".tmp")
		})
	}
	if _, _, err := n.Try("", "consume", "orders", "--group", "readers", "--limit", "3"); err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestVerifyOfAWholeDirectoryWritesNothing(t *testing.T) {
	n := testkit.StartNode(t, "")
	n.Run("", "topics", "create", "orders")
	n.Run("a\nb\n", "produce", "orders")
	if out, said, err := n.Try("", "verify"); exitCode(err) != 0 || !strings.Contains(out, "everything is whole") || !strings.Contains(out, "a node is running here") {
		t.Errorf("while it runs: %v\n%s%s", err, out, said)
	}
	if err := n.Stop(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	before := tree(t, n.Dir)
	out, said, err := n.Try("", "verify", "--json")
	if exitCode(err) != 0 {
		t.Fatalf("%v\n%s%s", err, out, said)
	}
	var sum struct{ Partitions, Damage int }
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sum); err != nil || sum.Partitions == 0 || sum.Damage != 0 {
		t.Errorf("got %s, %v", out, err)
	}
	if after := tree(t, n.Dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("files were changed:\n%v\n%v", before, after)
	}
	if _, said, err := n.Try("", "verify", t.TempDir()); exitCode(err) != 2 || !strings.Contains(said, "no data directory") {
		t.Errorf("of another directory: %v, %s", err, said)
	}
}

// One flipped bit in each kind of file: verify finds it or says that it does no harm, and changes nothing; the node then refuses to start with words, or says
// on /readyz what is damaged, or has every record that was acknowledged. The file stays.
func TestOneFlippedBitInEachKindOfFile(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node a dozen times")
	}
	n := busyNode(t)
	if out, said, err := n.Try("", "verify"); exitCode(err) != 0 {
		t.Fatalf("before: %v\n%s%s", err, out, said)
	}
	orders, state := topicDir(t, n.Dir, "orders"), topicDir(t, n.Dir, "state")
	for _, c := range []struct {
		kind, pattern string
		at            float64 // where in the file, 0 to 1
		want          int     // exit code of verify
	}{
		{"records", filepath.Join(orders, "0", "*.log"), 0.3, 1},
		{"index", filepath.Join(orders, "0", "*.rix"), 0.5, 1},
		{"entries without records", filepath.Join(orders, "0", "*.rix.data"), 0.5, 1},
		{"aborted transactions", filepath.Join(orders, "0", "*.txnindex"), 0.5, 1},
		{"one copy of meta", filepath.Join(orders, "0", "meta"), 0.001, 0},
		{"checkpoint", filepath.Join(orders, "0", "ckpt-*"), 0.5, 1},
		{"name of a topic", filepath.Join(orders, "topic.json"), 0.3, 1},
		{"records of a cleaned topic", filepath.Join(state, "0", "*.log"), 0.5, 1},
		{"offsets of groups", filepath.Join(topicDir(t, n.Dir, "__consumer_offsets"), "*", "*.log"), 0.6, 1},
		{"transactions", filepath.Join(topicDir(t, n.Dir, "__transaction_state"), "*", "*.log"), 0.6, 1},
		{"one copy of a vote", filepath.Join(n.Dir, "hardstate.wal"), 0.5, 0},
		{"identity", filepath.Join(n.Dir, "identity.json"), 0.55, 1},
		{"log start", filepath.Join(topicDir(t, n.Dir, "short"), "0", "anchor-*"), 0.5, 1},
		{"times", filepath.Join(state, "0", "*.timeindex"), 0.1, 1}, // years back: an entry that is too late by little only makes a look-up read more
		{"the controller's store", filepath.Join(n.Dir, "controller", "raft.db"), 0.0005, 1},
		{"log-ins", filepath.Join(n.Dir, "web", "sessions.db"), 0.001, 1},
		{"the controller's snapshot", filepath.Join(n.Dir, "controller", "snapshots", "*", "state.bin"), 0.5, 1},
		{"what the snapshot is of", filepath.Join(n.Dir, "controller", "snapshots", "*", "meta.json"), 0.08, 1},
		{"counts", filepath.Join(n.Dir, "rollup", "table", "*.sst"), 0.2, 1},
	} {
		t.Run(c.kind, func(t *testing.T) {
			whole := copyTree(t, n.Dir)
			defer restore(t, n.Dir, whole)
			path := largest(t, c.pattern)
			b := whole[path]
			at := int(float64(len(b)) * c.at)
			flipped := bytes.Clone(b)
			flipped[at] ^= 1
			if err := os.WriteFile(path, flipped, 0o600); err != nil {
				t.Fatal(err)
			}
			before := tree(t, n.Dir)
			out, said, err := n.Try("", "verify")
			if exitCode(err) != c.want || !strings.Contains(out, filepath.Base(path)) && !strings.Contains(out, filepath.Dir(path)) {
				t.Errorf("verify of %s, byte %d: exit code %d, want %d\n%s%s", path, at, exitCode(err), c.want, out, said)
			}
			if fmt.Sprint(tree(t, n.Dir)) != fmt.Sprint(before) {
				t.Error("verify has changed files")
			}
			startDamaged(t, n, path)
		})
	}
}

// startDamaged starts a node on damaged files and checks that nothing is missing without a word.
func startDamaged(t *testing.T, n *testkit.Node, path string) {
	t.Helper()
	p := testkit.Command(t, testkit.Binary(t), "serve", "--data", n.Dir, "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0")
	defer p.Kill()
	var status int
	var text string
	var listeners struct{ Listeners map[string]string }
	testkit.Wait(t, "the node to serve or to refuse", 40*time.Second, func() bool {
		select {
		case <-p.Exited:
			return true
		default:
		}
		status, text = readyText(n)
		_, err := n.Admin("GET", "/api/v1/status", nil, &listeners)
		return err == nil && listeners.Listeners["kafka"] != "" && (status == 200 || strings.Contains(text, "damage") || strings.Contains(text, "corrupt"))
	})
	if out := p.Output(); strings.Contains(out, "panic:") || strings.Contains(out, "fatal error:") {
		t.Fatalf("the node has panicked:\n%s", out)
	}
	select {
	case <-p.Exited:
		if out := p.Output(); !strings.Contains(out, "backup") && !strings.Contains(out, "restore") && !strings.Contains(out, "is damaged") {
			t.Errorf("it refuses to start and does not say what to do:\n%s", out)
		}
		return
	default:
	}
	n.Kafka = listeners.Listeners["kafka"]
	out, said, err := n.Try("", "consume", "orders")
	for _, value := range []string{"first", "second", "third", "in transaction 0", "in transaction 2"} {
		if !strings.Contains(out, `"`+value+`"`) && err == nil {
			t.Errorf("%q is missing and nobody says so:\n%s%s", value, out, said)
		}
	}
	if _, err := os.Stat(path); err != nil && !strings.Contains(path, "ckpt-") && !strings.Contains(path, "rollup") {
		t.Errorf("the damaged file is gone: %v", err)
	}
}

// largest is the largest of the files that a pattern names.
func largest(t *testing.T, pattern string) (path string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && info.Size() > size {
			path, size = p, info.Size()
		}
	}
	if path == "" {
		t.Fatalf("no file %s", pattern)
	}
	return path
}

// copyTree reads a directory into memory.
func copyTree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for path := range tree(t, dir) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = b
	}
	return files
}

// restore makes a directory what it was.
func restore(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for path := range tree(t, dir) {
		if files[path] == nil {
			os.Remove(path)
		}
	}
	for path, b := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
