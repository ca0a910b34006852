package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/testkit"
)

func TestVerifyOfSeveralDirectories(t *testing.T) {
	base := t.TempDir()
	second, moved := filepath.Join(base, "second"), filepath.Join(base, "moved")
	n := testkit.StartNode(t, filepath.Join(base, "first"), "--data", second)
	n.Run("", "topics", "create", "orders", "--partitions", "4")
	n.Run("a\nb\n", "produce", "orders")
	verify := func(what string, code int, want string, dirs ...string) {
		t.Helper()
		out, said, err := n.Try("", append([]string{"verify"}, dirs...)...)
		if exitCode(err) != code || !strings.Contains(out+said, want) {
			t.Errorf("%s: exit code %d, want %d and %q\n%s%s", what, exitCode(err), code, want, out, said)
		}
	}
	verify("while it runs", 0, n.Dir+", "+second)
	if err := n.Stop(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	before := tree(t, base)
	verify("the first one is named", 0, n.Dir+", "+second)
	verify("both are named", 0, n.Dir+", "+second+": ", n.Dir, second)
	verify("another one alone", 2, "name the one with identity.json first", second)
	if fmt.Sprint(tree(t, base)) != fmt.Sprint(before) {
		t.Error("verify has changed files")
	}

	topic := topicDir(t, second, "orders")
	entries, err := filepath.Glob(filepath.Join(topic, "[0-9]"))
	if err != nil || len(entries) == 0 {
		t.Fatal(entries, err)
	}
	partition := entries[0]
	copied := filepath.Join(n.Dir, "topics", filepath.Base(topic), filepath.Base(partition))
	if err := os.CopyFS(copied, os.DirFS(partition)); err != nil {
		t.Fatal(err)
	}
	verify("a partition is there twice", 1, "lies in several data directories: "+copied+", "+partition)
	if err := os.RemoveAll(copied); err != nil {
		t.Fatal(err)
	}
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	rename(partition, copied)
	verify("a partition was moved", 0, "everything is whole")
	rename(copied, filepath.Join(base, "away"))
	verify("a partition is gone", 1, "partition orders-"+filepath.Base(partition)+" has voted in term")
	if err := os.Mkdir(partition, 0o700); err != nil {
		t.Fatal(err)
	}
	verify("an empty directory in its place", 1, "and there is no log")
	os.Remove(partition)
	rename(filepath.Join(base, "away"), partition)

	rename(second, moved)
	verify("one is not mounted", 2, "is its disk mounted?")
	verify("it lies elsewhere", 0, n.Dir+", "+moved+": ", n.Dir, moved)
	marker := filepath.Join(moved, "directory.json")
	whole, err := os.ReadFile(marker)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, from, to, want string }{
		{"of another node", `"server_id":"`, `"server_id":"x`, "it belongs to another node (server id x"},
		{"no JSON", `{`, `[`, "directory.json is damaged"},
	} {
		if err := os.WriteFile(marker, bytes.Replace(whole, []byte(c.from), []byte(c.to), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		verify(c.what, 1, c.want, n.Dir, moved)
	}
	os.Remove(marker)
	verify("no marker", 1, "directory.json: the file is missing beside partitions", n.Dir, moved)
}
