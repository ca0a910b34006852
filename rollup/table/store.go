package table

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// condemned is a file in the directory of a table that was found to be damaged while it was read: the next start makes the table again.
const condemned = "DAMAGED"

// openStore opens the files of the table. The table is a copy of what the log holds, so files that are damaged, or of another schema, do
// not stop the node: they are set aside, never deleted, and the table is made again from the log. What the system refuses (no room, no
// permission, a lock that is held) is no damage and is returned.
func openStore(cfg Config, opts *pebble.Options) (*pebble.DB, error) {
	db, err := pebble.Open(cfg.Dir, opts)
	if err != nil && !damaged(err) {
		return nil, fmt.Errorf("open the table of counts in %s: %w", cfg.Dir, err)
	}
	word := ".damaged-"
	if err == nil {
		if word, err = fits(cfg.Dir, db); err == nil {
			return db, nil
		}
		if closed := db.Close(); closed != nil {
			err = errors.Join(err, closed)
		}
	}
	aside := cfg.Dir + word + time.Now().UTC().Format("20060102T150405.000")
	if failed := os.Rename(cfg.Dir, aside); failed != nil {
		return nil, fmt.Errorf("open the table of counts in %s: %w; it could not be set aside: %w; move it away, it is made again from the log",
			cfg.Dir, err, failed)
	}
	if cfg.Logger != nil {
		cfg.Logger.Warn("the table of counts cannot be used and is made again from the log; the old one was set aside and may be deleted",
			"aside", aside, "err", err)
	}
	if db, err = pebble.Open(cfg.Dir, opts); err != nil {
		return nil, fmt.Errorf("open a new table of counts in %s: %w", cfg.Dir, err)
	}
	if _, err := fits(cfg.Dir, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// fits marks a new store with the schema. Of one that cannot be used it says why, and what its directory is to be called.
func fits(dir string, db *pebble.DB) (word string, err error) {
	if reason, err := os.ReadFile(filepath.Join(dir, condemned)); err == nil {
		return ".damaged-", fmt.Errorf("found to be damaged before: %s", reason)
	}
	iter, err := db.NewIter(nil)
	if err != nil {
		return ".damaged-", fmt.Errorf("read the table of counts: %w", err)
	}
	empty := !iter.First()
	if err := iter.Close(); err != nil {
		return ".damaged-", fmt.Errorf("read the table of counts: %w", err)
	}
	if empty {
		return "", wrapWrite(db.Set([]byte{'v'}, []byte{schema}, pebble.NoSync))
	}
	version, closer, err := db.Get([]byte{'v'})
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return ".damaged-", errors.New("it does not say its schema")
	case err != nil:
		return ".damaged-", fmt.Errorf("read the table of counts: %w", err)
	}
	defer closer.Close()
	if len(version) != 1 || version[0] != schema {
		return ".old-", fmt.Errorf("it has schema %d, and this program needs %d", version, schema)
	}
	return "", nil
}

// condemn passes an error of reading on. If it speaks of damage, the table counts as damaged from here on, and the next start makes it
// again.
func (t *Table) condemn(err error) error {
	if err == nil || !errors.Is(err, ErrDamaged) && !errors.Is(err, pebble.ErrCorruption) {
		return err
	}
	if t.bad.CompareAndSwap(nil, &err) {
		t.cfg.Logger.Error("the table of counts is damaged; start the node again: the table is set aside and made again from the log", "dir", t.cfg.Dir, "err", err)
		if failed := os.WriteFile(filepath.Join(t.cfg.Dir, condemned), []byte(err.Error()), 0o600); failed != nil {
			t.cfg.Logger.Error("the damage could not be noted down: delete the table before the node starts again", "dir", t.cfg.Dir, "err", failed)
		}
	}
	return err
}

// damaged reports whether an error of opening is about what the files hold: a missing file, or none of the system's own errors. A lock
// that this process holds itself is told by its words only.
func damaged(err error) bool {
	var system syscall.Errno
	if errors.As(err, &system) {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !strings.Contains(err.Error(), "lock held")
}
