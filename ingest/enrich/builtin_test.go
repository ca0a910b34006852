package enrich

import (
	"bytes"
	"io/fs"
	"testing"
	"unsafe"
)

// The database in the binary is read where it lies: a copy would stay in memory for ever.
func TestEmbeddedFilesAreNotCopied(t *testing.T) {
	const name = "builtin/README.md"
	want, err := fs.ReadFile(builtin, name)
	if err != nil {
		t.Fatal(err)
	}
	a, b := embedded(builtin, name), embedded(builtin, name)
	if !bytes.Equal(a, want) || unsafe.SliceData(a) != unsafe.SliceData(b) {
		t.Errorf("%d bytes, the file has %d; read twice at %p and %p", len(a), len(want), a, b)
	}
	if got := embedded(builtin, "builtin/nosuch"); got != nil {
		t.Errorf("a file that is not there has %d bytes", len(got))
	}
}
