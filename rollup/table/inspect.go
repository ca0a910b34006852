package table

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weir-analytics/weir/internal/finding"
)

// Inspect reads the files of a table through without changing anything: every block with its checksum, the order of all keys, the
// positions. It returns how many keys there are. The table must not be open: an error that it is locked, or any other of the system, means that it could
// not be looked at.
func Inspect(dir string, found finding.Sink) (keys int, err error) {
	tell := func(err error) {
		found(finding.Finding{File: dir, Offset: -1, What: err.Error(), Do: "restart the node, which sets the table aside and makes it again from the log"})
	}
	defer func() {
		if r := recover(); r != nil { // the store gives up on some damage
			tell(fmt.Errorf("the store gives up: %v", r))
		}
	}()
	if reason, err := os.ReadFile(filepath.Join(dir, condemned)); err == nil {
		tell(fmt.Errorf("found to be damaged before: %s", reason))
		return 0, nil
	}
	if _, err := os.Stat(filepath.Join(dir, "LOCK")); err != nil { // the store would make the file
		return 0, fmt.Errorf("open the table of counts in %s: %w", dir, err)
	}
	quiet := slog.New(slog.DiscardHandler)
	db, err := pebble.Open(dir, &pebble.Options{ReadOnly: true, ErrorIfNotExists: true, FormatMajorVersion: pebble.FormatNewest,
		Logger: storeLog{quiet}, EventListener: sayDamage(quiet)})
	if err != nil && !damaged(err) {
		return 0, fmt.Errorf("open the table of counts in %s: %w", dir, err)
	}
	if err != nil {
		tell(err)
		return 0, nil
	}
	if err := errors.Join(db.CheckLevels(nil), scan(db, []byte{0}, []byte{255}, func(key, value []byte) error {
		keys++
		if key[0] != 'p' {
			return nil
		}
		var s state
		return s.parse(partID{}, value)
	})); err != nil {
		tell(err)
	}
	return keys, db.Close()
}
