package cmd

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
)

// imported is one file that was read, or one inside of a zip.
type imported struct {
	name string
	line importLine
	raw  []byte
}

// importNamed imports a file, or each file inside of it when it is a zip, as exports of other tools are, and hands over what became of each.
func importNamed(ctx context.Context, a *api, o importOptions, name string, stdin io.Reader, progress io.Writer, each func(imported) error) error {
	one := func(name, base string, in io.ReadCloser, size int64) error {
		line, raw, err := importStream(ctx, a, o, base, in, size, progress)
		if err != nil {
			return fmt.Errorf("import %s: %w", name, err)
		}
		return each(imported{name, line, raw})
	}
	if name == "-" || !isZip(name) {
		in, size, err := openInput(name, stdin)
		if err != nil {
			return fmt.Errorf("import %s: %w", name, err)
		}
		return one(name, path.Base(name), in, size)
	}
	archive, err := zip.OpenReader(name)
	if err != nil {
		return fmt.Errorf("import %s: it looks like a zip and is not: %w", name, err)
	}
	defer archive.Close()
	files := 0
	for _, f := range archive.File {
		if f.FileInfo().IsDir() || !f.Mode().IsRegular() {
			continue
		}
		files++
		in, err := f.Open()
		if err != nil {
			return fmt.Errorf("import %s/%s: %w", name, f.Name, err)
		}
		if err := one(name+"/"+f.Name, path.Base(f.Name), in, int64(f.UncompressedSize64)); err != nil {
			return err
		}
	}
	if files == 0 {
		return fmt.Errorf("import %s: the zip holds no file", name)
	}
	return nil
}

// isZip reports whether a file begins like a zip. One that cannot be read is none: whoever opens it says why.
func isZip(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	_, err = io.ReadFull(f, magic)
	return err == nil && bytes.Equal(magic, []byte("PK\x03\x04"))
}
