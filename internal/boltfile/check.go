package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// ErrDamaged is returned for a file whose content can't be used.
var ErrDamaged = errors.New("the file is damaged")

// lockWait is how long Check waits for another process that is just stopping.
const lockWait = 2 * time.Second

// Check reads through the file at path. It returns nil for one that is whole, missing or empty, ErrDamaged for one that is not, and
// bbolt's errors.ErrTimeout while another process has it open. It takes time in proportion to the file.
func Check(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if err := checkSize(path, info.Size()); err != nil {
		return err
	}
	return Guard(func() error {
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockWait})
		switch {
		case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		case err != nil:
			return err
		}
		if err := db.View(walk); err != nil {
			return errors.Join(err, db.Close())
		}
		return db.Close()
	})
}

// Guard calls f and returns panics and memory faults in it as ErrDamaged. What f has opened then stays open.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	return f()
}

// walk reads every key and value.
func walk(tx *bbolt.Tx) error {
	return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return walkBucket(b) })
}

func walkBucket(b *bbolt.Bucket) error {
	sum := byte(0)
	return b.ForEach(func(k, v []byte) error {
		if v == nil {
			if inner := b.Bucket(k); inner != nil {
				return walkBucket(inner)
			}
		}
		for i := 0; i < len(v); i += 4096 { // a page is mapped as a whole
			sum ^= v[i]
		}
		if len(v) > 0 {
			sum ^= v[len(v)-1]
		}
		return nil
	})
}

// The meta page as bbolt writes it, in the byte order of the machine: a header of 16 bytes, then what meta names.
const (
	pageHeader = 16
	metaSize   = 64
	metaMagic  = 0xED0CDAED
)

// meta is what is read of a meta page.
type meta struct {
	pageSize  uint32
	highWater uint64 // number of pages
	tx        uint64
}

func parseMeta(page []byte) (m meta, ok bool) {
	b := page[pageHeader:][:metaSize]
	order := binary.NativeEndian
	sum := fnv.New64a()
	sum.Write(b[:56])
	if order.Uint32(b) != metaMagic || order.Uint64(b[56:]) != sum.Sum64() {
		return m, false
	}
	m = meta{pageSize: order.Uint32(b[8:]), highWater: order.Uint64(b[40:]), tx: order.Uint64(b[48:])}
	return m, m.pageSize >= 1024 && m.pageSize <= 16<<20
}

// checkSize compares the size of a file with what its newest meta page says. A file in which no meta page is found is left to bbolt.
func checkSize(path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var newest meta
	var page [pageHeader + metaSize]byte
	read := func(at int64) error {
		switch _, err := f.ReadAt(page[:], at); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if m, ok := parseMeta(page[:]); ok && m.tx >= newest.tx {
			newest = m
		}
		return nil
	}
	if err := read(0); err != nil {
		return err
	}
	for at := int64(1024); at <= 16<<20; at *= 2 { // the second one is a page behind the first; pages differ in size
		if newest.pageSize != 0 && at != int64(newest.pageSize) {
			continue
		}
		if err := read(at); err != nil {
			return err
		}
	}
	if want := newest.highWater * uint64(newest.pageSize); newest.pageSize != 0 && uint64(size) < want {
		return fmt.Errorf("%w: it has %d bytes where %d were written", ErrDamaged, size, want)
	}
	return nil
}
