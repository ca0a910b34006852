package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/weir-analytics/weir/internal/finding"
	"github.com/weir-analytics/weir/internal/vfs"
)

// FindDirs lists the data directories of a node without changing anything: first, those of more, and those that the last start of the node
// was given besides. What is wrong with the files by which they are known is told. serverID is whose they must be, empty when that is not
// known. Those that can't be looked at are left out and named in the error.
func FindDirs(first string, more []string, serverID string, found finding.Sink) ([]string, error) {
	f := &dirFinder{serverID: serverID, found: found, list: []string{first}}
	known, err := readKnown(vfs.ReadOnly{}, first)
	f.take(filepath.Join(first, knownFile), err)
	for _, dir := range more {
		f.add(dir)
	}
	for _, k := range known.Dirs { // of a copy that was given elsewhere the old place does not count
		if !slices.Contains(f.ids, k.ID) {
			f.add(k.Path)
		}
	}
	return f.list, errors.Join(f.unseen...)
}

type dirFinder struct {
	serverID string
	found    finding.Sink
	list     []string
	ids      []string
	unseen   []error
}

// take tells of a damaged file, and reports whether nothing else is wrong with it.
func (f *dirFinder) take(file string, err error) bool {
	if damage := (damagedFile{}); errors.As(err, &damage) {
		f.found(finding.Finding{File: file, Offset: -1, What: err.Error()})
	} else if err != nil {
		f.unseen = append(f.unseen, fmt.Errorf("data directory %s: %w", filepath.Dir(file), err))
		return false
	}
	return true
}

func (f *dirFinder) add(dir string) {
	if slices.ContainsFunc(f.list, func(other string) bool { return samePath(other, dir) }) {
		return
	}
	file := filepath.Join(dir, MarkerFile)
	m, err := readMarker(vfs.ReadOnly{}, dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, topics := (vfs.ReadOnly{}).List(path.Join(dir, "topics")); topics != nil {
			f.take(file, fmt.Errorf("its %s is missing: is its disk mounted?", MarkerFile))
			return
		}
		f.found(finding.Finding{File: file, Offset: -1, What: "the file is missing beside partitions", Do: "restore it from a copy"})
	} else if !f.take(file, err) {
		return
	}
	if err == nil && f.serverID != "" && m.ServerID != f.serverID {
		f.found(finding.Finding{File: file, Offset: -1, What: fmt.Sprintf("it belongs to another node (server id %s), the first directory is of %s", m.ServerID, f.serverID),
			Do: "its partitions were left out: name the directories of one node"})
		f.unseen = append(f.unseen, fmt.Errorf("data directory %s: it belongs to another node", dir))
		return
	}
	f.list, f.ids = append(f.list, dir), append(f.ids, m.ID)
}

func samePath(a, b string) bool {
	absA, errA := filepath.Abs(a)
	absB, errB := filepath.Abs(b)
	return errA == nil && errB == nil && absA == absB
}
