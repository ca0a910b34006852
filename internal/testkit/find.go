package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Root returns the directory of go.mod.
func Root(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if ok {
		if root := filepath.Dir(filepath.Dir(filepath.Dir(file))); exists(filepath.Join(root, "go.mod")) {
			return root
		}
	}
	dir, err := os.Getwd() // with -trimpath the caller's file has no place on this disk
	if err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(dir, "go.mod")) {
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test's directory")
		}
		dir = parent
	}
	return dir
}

// Corpus returns the path of a file or directory of the corpus, which lies beside the repository or where WEIR_CORPUS says. A test that
// needs what is not there is skipped.
func Corpus(t testing.TB, elem ...string) string {
	t.Helper()
	base := os.Getenv("WEIR_CORPUS")
	if base == "" {
		base = filepath.Join(Root(t), "..", "shared", "corpus")
	}
	path := filepath.Join(append([]string{base}, elem...)...)
	if !exists(path) {
		t.Skipf("the corpus has no %s here (set WEIR_CORPUS to its directory)", path)
	}
	return path
}

// Program returns the path of an installed program, or skips the test.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
