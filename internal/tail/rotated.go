package tail

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// rotated is a file beside the path whose name says that it once had it.
type rotated struct {
	name    string
	changed time.Time
}

// dated is what stands between stem and ending where a day or a time was put in: access-20261130.log.
var dated = regexp.MustCompile(`^[-._][0-9][-_.0-9T]*$`)

// compressed are endings that compression adds.
var compressed = []string{".gz", ".bz2", ".zst"}

// isRotated reports whether a name in the directory of a log is that of the log once it was rotated: access.log.1, access.log.2.gz,
// access.log-20261130, access-20261130.log.gz.
func isRotated(base, name string) bool {
	for _, ending := range compressed {
		name = strings.TrimSuffix(name, ending)
	}
	if rest, ok := strings.CutPrefix(name, base); ok {
		return dated.MatchString(rest)
	}
	ext := filepath.Ext(base)
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(base, ext))
	if !ok || !strings.HasSuffix(rest, ext) {
		return false
	}
	return dated.MatchString(strings.TrimSuffix(rest, ext))
}

// siblings returns the rotated files that changed at a time or later, oldest first.
func (f *Follower) siblings(since time.Time) ([]rotated, error) {
	dir, base := filepath.Split(f.path)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return nil, err
	}
	var found []rotated
	for _, entry := range entries {
		if !isRotated(base, entry.Name()) {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !info.ModTime().Before(since) {
			found = append(found, rotated{dir + entry.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(found, func(a, b rotated) int { return a.changed.Compare(b.changed) })
	return found, nil
}

// renamed opens the files of places under the names that they have now. Those that are compressed, or gone, are not found.
func (f *Follower) renamed(places []Place) ([]*file, error) {
	all, err := f.siblings(time.Time{})
	if err != nil {
		return nil, err
	}
	var found []*file
	for _, p := range places {
		for _, r := range all {
			o, err := open(r.name)
			if err != nil {
				continue // it was rotated again, or is not ours to read: then it is handed out whole, or not at all
			}
			if ok, err := o.is(p); err == nil && ok && p.HeadBytes > 0 {
				o.Place = p
				found = append(found, o)
				break
			}
			o.close()
		}
	}
	return found, nil
}

// catchUp hands out rotated files that may hold lines that were not: all that changed since a look, but for those that are open.
func (f *Follower) catchUp(since time.Time, but []*file, sendFile SendFile) error {
	if since.IsZero() {
		return nil // nothing was handed out, so nobody asked for what was before
	}
	all, err := f.siblings(since)
	if err != nil {
		return err
	}
	for _, r := range all {
		if slices.ContainsFunc(but, func(o *file) bool { return o.name == r.name }) {
			continue
		}
		if err := sendFile(r.name); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue // it was rotated again meanwhile, or deleted
			}
			return err
		}
	}
	return nil
}
