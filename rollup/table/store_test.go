package table

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestADamagedTableIsSetAsideAndMadeAgain(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"cut":    func(path string) error { return os.Truncate(path, 1) },
		"absent": os.Remove,
	} {
		dir := filepath.Join(t.TempDir(), "table")
		first, err := Open(Config{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		files := glob(t, filepath.Join(dir, "MANIFEST-*"))
		if err := damage(files[len(files)-1]); err != nil {
			t.Fatal(err)
		}
		left := glob(t, filepath.Join(dir, "*"))

		var out bytes.Buffer
		again, err := Open(Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&out, nil))})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again.Close()
		aside := glob(t, dir+".damaged-*")
		if len(aside) != 1 || len(glob(t, filepath.Join(aside[0], "*"))) < len(left) {
			t.Errorf("%s: set aside %v, want one directory with all files", name, aside)
		}
		if !strings.Contains(out.String(), "made again from the log") {
			t.Errorf("%s: logged %q", name, out.String())
		}
	}
}

func TestATableInUseIsNotCalledDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "table")
	first, err := Open(Config{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if second, err := Open(Config{Dir: dir, Logger: slog.New(slog.DiscardHandler)}); err == nil {
		second.Close()
		t.Fatal("one directory was opened twice")
	}
	if aside := glob(t, dir+".damaged-*"); len(aside) != 0 {
		t.Errorf("set aside %v", aside)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return files
}
