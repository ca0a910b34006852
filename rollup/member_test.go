package rollup

import (
	"os"
	"path/filepath"
	"testing"
)

func TestANodeKeepsItsName(t *testing.T) {
	dir := t.TempDir()
	first, err := memberName(dir)
	if err != nil || first == "" {
		t.Fatal(first, err)
	}
	if again, err := memberName(dir); err != nil || again != first {
		t.Errorf("name %q, then %q (%v)", first, again, err)
	}
	if other, err := memberName(t.TempDir()); err != nil || other == first {
		t.Errorf("another node has the name %q too (%v)", other, err)
	}
	if err := os.Truncate(filepath.Join(dir, "member"), 0); err != nil {
		t.Fatal(err)
	}
	if empty, err := memberName(dir); err != nil || empty == "" {
		t.Errorf("an empty file gives the name %q (%v)", empty, err)
	}
}
