package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheDataDirectoryBelongsToOneProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	f, err := prepareDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := prepareDir(dir); err == nil || !strings.Contains(err.Error(), "another process uses it (process ") {
		t.Errorf("second lock: %v", err)
	}
	f.Close()
	if f, err = prepareDir(dir); err != nil {
		t.Errorf("after the first is gone: %v", err)
	}
	f.Close()
}

func TestADirectoryThatCannotBeUsedIsExplained(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	readOnly := filepath.Join(t.TempDir(), "ro")
	if err := os.Mkdir(readOnly, 0o500); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, want string }{
		{"a file", file, "it or a part of its path is a file"},
		{"below a file", filepath.Join(file, "data"), "it or a part of its path is a file"},
		{"no right to write", readOnly, "may not write there"},
	} {
		if c.dir == readOnly && os.Geteuid() == 0 {
			continue // root may write everywhere
		}
		_, err := prepareDir(c.dir)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--data") {
			t.Errorf("%s: %v, want %q and --data", c.name, err, c.want)
		}
	}
}

func TestDataDirectoriesLieApart(t *testing.T) {
	for _, c := range []struct {
		name string
		dirs []string
		ok   bool
	}{
		{"apart", []string{"/a", "/b", "/ab"}, true},
		{"none", nil, false},
		{"empty", []string{"/a", ""}, false},
		{"the same", []string{"/a", "/b", "/a/"}, false},
		{"one in the other", []string{"/a", "/a/b"}, false},
		{"the other in one", []string{"/a/b", "/a"}, false},
	} {
		cfg := Default()
		cfg.DataDirs = c.dirs
		if err := cfg.Validate(); (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "--data") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestAFurtherDirectoryIsNotTheFirst(t *testing.T) {
	cfg := Default()
	cfg.DataDirs = []string{t.TempDir()}
	if err := os.WriteFile(filepath.Join(cfg.DataDirs[0], "directory.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := Open(cfg)
	if err == nil {
		n.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "give the one with identity.json first") {
		t.Errorf("got %v", err)
	}
}
