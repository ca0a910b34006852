package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// makeFile makes a file with some hundred keys, big and small, in two buckets.
func makeFile(t *testing.T) (path string, content []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "whole.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		err := db.Update(func(tx *bbolt.Tx) error {
			for _, name := range []string{"a", "b"} {
				b, err := tx.CreateBucketIfNotExists([]byte(name))
				if err != nil {
					return err
				}
				for i := range 100 {
					if err := b.Put(fmt.Appendf(nil, "%d-%d", round, i), make([]byte, 1+i*37)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	content, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, content
}

func TestWholeEmptyAndMissingFilesPass(t *testing.T) {
	path, content := makeFile(t)
	if err := Check(path); err != nil {
		t.Error(err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(after, content) {
		t.Error("the check has changed the file")
	}
	if err := Check(path + ".missing"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(path); err != nil {
		t.Error(err)
	}
}

func TestEveryCutIsFound(t *testing.T) {
	path, content := makeFile(t)
	m, _ := parseMeta(content)
	second, ok := parseMeta(content[m.pageSize:])
	if ok && second.tx > m.tx {
		m = second
	}
	for size := int(m.highWater-1) * int(m.pageSize); size > 0; size -= 8192 {
		if err := os.WriteFile(path, content[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Check(path); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d of %d bytes: %v", size, len(content), err)
		}
	}
}

func TestDamagedPagesAreAnErrorOrHarmless(t *testing.T) {
	path, content := makeFile(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		bad := bytes.Clone(content)
		page := random.IntN(len(bad)/4096) * 4096
		for i := range 64 {
			bad[page+i] = byte(random.Uint32())
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Check(path); err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("page at %d: %v", page, err)
		}
	}
}
