package boltfile

import (
	"errors"
	"fmt"
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
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := readMeta(f); err != nil { // bbolt maps what should be there
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
		return errors.Join(checkPages(f), db.Close()) // nobody writes meanwhile
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
