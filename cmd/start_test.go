package cmd

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-analytics/weir/internal/testkit"
)

// refused starts a node that must not start and returns what it says.
func refused(t *testing.T, flags ...string) string {
	t.Helper()
	args := append([]string{"serve", "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0"}, flags...)
	_, said, err := testkit.Exec(t, testkit.Binary(t), "", nil, args...)
	if err == nil {
		t.Errorf("serve %v started", flags)
	}
	if strings.Contains(said, "panic") || strings.Contains(said, "goroutine ") {
		t.Errorf("serve %v panicked:\n%s", flags, said)
	}
	return said
}

func TestStartErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().String()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not a database"), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.odt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		flags []string
		want  []string
	}{
		{"HTTP port taken", []string{"--data", t.TempDir(), "--http", port}, []string{"--http", port}},
		{"Kafka port taken", []string{"--data", t.TempDir(), "--kafka", port}, []string{"--kafka", port}},
		{"no address", []string{"--data", t.TempDir(), "--http", "localhost"}, []string{"--http", "HOST:PORT"}},
		{"port out of range", []string{"--data", t.TempDir(), "--kafka", "127.0.0.1:70000"}, []string{"--kafka", "65535"}},
		{"data is a file", []string{"--data", file}, []string{"--data", "directory"}},
		{"data is somebody else's", []string{"--data", foreign}, []string{"--data", "thesis.odt"}},
		{"geoip is no database", []string{"--data", t.TempDir(), "--geoip", file}, []string{"--geoip", file}},
		{"node id out of range", []string{"--data", t.TempDir(), "--node-id", "-1"}, []string{"--node-id", "1 to"}},
		{"no such level", []string{"--log-level", "loud"}, []string{"--log-level", "debug, info, warn, error"}},
		{"no such flag", []string{"--prot", "1"}, []string{"--prot"}},
	} {
		said := refused(t, c.flags...)
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: it says %q, want %q in it", c.name, said, want)
			}
		}
		if n := strings.Count(strings.TrimSpace(said), "\n"); n > 3 {
			t.Errorf("%s: %d lines, want a short message:\n%s", c.name, n+1, said)
		}
	}
}

func TestDamagedCountryDatabasesAreRefusedOrHarmless(t *testing.T) {
	dir := testkit.Corpus(t, "geoip", "corrupt")
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		files = files[:3]
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		data := t.TempDir()
		args := []string{"serve", "--data", data, "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0", "--geoip", path}
		cmd := testkit.Command(t, testkit.Binary(t), args...)
		select {
		case <-cmd.Exited:
			if said := cmd.Output(); !strings.Contains(said, "--geoip") || strings.Contains(said, "goroutine ") {
				t.Errorf("%s: %s", f.Name(), said)
			}
		case <-cmd.Printed("is ready"):
			cmd.Kill() // usable as far as it goes
		case <-time.After(30 * time.Second):
			t.Errorf("%s: neither refused nor ready after 30 s", f.Name())
			cmd.Kill()
		}
	}
}

func TestAMissingCountryDatabaseIsWarnedAbout(t *testing.T) {
	n := testkit.StartNode(t, "", "--geoip", filepath.Join(t.TempDir(), "later.mmdb"))
	if !strings.Contains(n.Log(), "later.mmdb") {
		t.Errorf("nothing is said of the missing file:\n%s", n.Log())
	}
}

func TestASecondProcessOnTheSameDirectoryIsRefused(t *testing.T) {
	n := testkit.StartNode(t, "")
	if said := refused(t, "--data", n.Dir); !strings.Contains(said, "another process uses it") {
		t.Errorf("it says %q", said)
	}
	n.Run("", "site", "add", "still.example") // the first one still works
}

func TestAReadOnlyOrFullDataDirectoryIsExplained(t *testing.T) {
	for _, c := range []struct {
		name, options string
		flags         uintptr
		want          string
	}{
		{"read-only", "size=64m", unix.MS_RDONLY, "read-only"},
		{"full", "size=1m", 0, "the disk is full"},
	} {
		dir := t.TempDir()
		if err := unix.Mount("tmpfs", dir, "tmpfs", c.flags, c.options); err != nil {
			t.Skipf("cannot mount a file system here: %v", err)
		}
		said := refused(t, "--data", dir)
		if !strings.Contains(said, "--data") || !strings.Contains(said, c.want) {
			t.Errorf("%s: it says %q, want %q", c.name, said, c.want)
		}
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}
}
