package table

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// openStore opens the files of the table. The table is a copy of what the log holds, so files that are damaged do not stop the node: they
// are set aside, never deleted, and the table is made again from the log. What the system refuses (no room, no permission, a lock that is
// held) is no damage and is returned.
func openStore(cfg Config, opts *pebble.Options) (*pebble.DB, error) {
	db, err := pebble.Open(cfg.Dir, opts)
	if err == nil {
		return db, nil
	}
	failed := fmt.Errorf("open the table of counts in %s: %w", cfg.Dir, err)
	if !damaged(err) {
		return nil, failed
	}
	aside := cfg.Dir + ".damaged-" + time.Now().UTC().Format("20060102T150405.000")
	if err := os.Rename(cfg.Dir, aside); err != nil {
		return nil, fmt.Errorf("%w; it is damaged and could not be set aside: %w; move it away, it is made again from the log", failed, err)
	}
	if cfg.Logger != nil {
		cfg.Logger.Warn("the table of counts is damaged and is made again from the log; the old one was set aside and may be deleted",
			"aside", aside, "err", err)
	}
	if db, err = pebble.Open(cfg.Dir, opts); err != nil {
		return nil, fmt.Errorf("open a new table of counts in %s: %w", cfg.Dir, err)
	}
	return db, nil
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
