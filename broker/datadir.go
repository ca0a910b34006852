package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/vfs"
)

// dataDir is one data directory. Safe for concurrent use.
type dataDir struct {
	path   string
	fs     vfs.FS
	space  *seglog.Space
	marker string // the file that tells this directory from an empty mount point
	id     string // what marker says; empty for the first directory, whose marker need only be there
	owner  string
	locker func(dir string) (io.Closer, error) // nil: the directory needs no lock

	naming sync.Mutex // held while a topic.json is written

	checking sync.Mutex // held by check, which takes as long as the disk does
	lock     io.Closer  // guarded by checking
	found    atomic.Pointer[found]
}

// found is what check found last. Whoever asks for it does not wait for the disk.
type found struct {
	err           error // why the directory can't be used
	usable, total int64 // bytes of its disk, -1 when they can't be asked
}

const (
	// MarkerFile is in each data directory but the first.
	MarkerFile = "directory.json"
	knownFile  = "directories.json"
	fileLimit  = 1 << 20
)

// marker is the contents of directory.json: whose directory this is. Readers ignore fields they do not know.
type marker struct {
	Version  int    `json:"version"`
	ID       string `json:"id"`        // drawn when the directory was first used
	ServerID string `json:"server_id"` // of the node, as in identity.json
}

// knownDirs is the contents of directories.json in the first directory: which others were given at the last start. One that is among them
// and has no marker is a mount point without its disk.
type knownDirs struct {
	Version int        `json:"version"`
	Dirs    []knownDir `json:"directories"`
}

type knownDir struct {
	ID   string `json:"id"`
	Path string `json:"path"`
}

const dirsVersion = 1

// beginsWith are the entries that a directory may have before it is first used.
var beginsWith = map[string]bool{"lock": true, "lost+found": true, MarkerFile + ".tmp": true}

// openDirs looks at the directories of cfg. One that was in use before and can't be used now does not stop the start; one that was never
// in use does.
func openDirs(cfg Config, fsys vfs.FS) ([]*dataDir, error) {
	first := &dataDir{path: cfg.DataDir, fs: fsys, space: seglog.NewSpace(fsys, cfg.DataDir), marker: votesFile}
	all := []*dataDir{first}
	known, err := readKnown(fsys, cfg.DataDir)
	if err != nil {
		return nil, err
	}
	next := knownDirs{Version: dirsVersion}
	for _, p := range cfg.MoreDirs {
		d := &dataDir{
			path: p, fs: fsys, space: seglog.NewSpace(fsys, p), marker: MarkerFile, owner: cfg.ServerID, locker: cfg.LockDir,
		}
		if err := d.identify(known); err != nil {
			return nil, errors.Join(fmt.Errorf("--data %s: %w", p, err), (&dirs{all: all}).close())
		}
		next.Dirs = append(next.Dirs, knownDir{ID: d.id, Path: p})
		all = append(all, d)
	}
	for _, k := range known.Dirs {
		if !slices.ContainsFunc(next.Dirs, func(n knownDir) bool { return n.ID == k.ID }) && cfg.Log != nil {
			cfg.Log.Warn("a data directory of the last start is not given any more; partitions that are still there will not open", "dir", k.Path)
		}
	}
	if !slices.Equal(known.Dirs, next.Dirs) {
		b, err := json.MarshalIndent(next, "", "  ")
		if err == nil {
			err = vfs.WriteFile(fsys, cfg.DataDir, knownFile, append(b, '\n'))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("note down the data directories in %s: %w", cfg.DataDir, err), (&dirs{all: all}).close())
		}
	}
	return all, nil
}

// identify finds out which directory d is, and makes a new one usable. Its error refuses the start.
func (d *dataDir) identify(known knownDirs) error {
	at := slices.IndexFunc(known.Dirs, func(k knownDir) bool { return k.Path == d.path })
	m, err := readMarker(d.fs, d.path)
	switch {
	case err == nil:
		d.id = m.ID
		if m.ServerID != d.owner {
			return fmt.Errorf("it belongs to another node (server id %s)", m.ServerID)
		}
	case at >= 0:
		d.id = known.Dirs[at].ID
	case errors.Is(err, fs.ErrNotExist):
		if err := d.begin(); err != nil {
			return err
		}
	default:
		return err
	}
	if err := d.check(); err != nil && at < 0 {
		return err
	}
	return nil
}

// begin makes a directory that was never used one of this node.
func (d *dataDir) begin() error {
	if err := d.fs.MkdirAll(d.path); err != nil {
		return err
	}
	names, err := d.fs.List(d.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !beginsWith[name] {
			return fmt.Errorf("it is not empty and not one of this node's: it has %q; choose an empty directory", name)
		}
	}
	d.id = uuid.NewString()
	b, err := json.Marshal(marker{Version: dirsVersion, ID: d.id, ServerID: d.owner})
	if err != nil {
		return err
	}
	return vfs.WriteFile(d.fs, d.path, MarkerFile, append(b, '\n'))
}

// state is what check found last.
func (d *dataDir) state() error {
	return d.last().err
}

func (d *dataDir) last() found {
	if f := d.found.Load(); f != nil {
		return *f
	}
	return found{usable: -1, total: -1}
}

// check finds out whether the directory is there and may be written to, and returns why not.
func (d *dataDir) check() error {
	d.checking.Lock()
	defer d.checking.Unlock()
	now := found{err: d.look(), usable: -1, total: -1}
	if tooManyFiles(now.err) {
		return d.state()
	}
	if now.err != nil {
		_ = d.unlockHeld() // the disk may come back, and the lock would then be our own
	} else if free, total, err := d.fs.Space(d.path); err == nil {
		now.usable, now.total = free, total
	}
	d.found.Store(&now)
	d.space.Watch(time.Now())
	return now.err
}

func (d *dataDir) look() error {
	if d.id == "" {
		f, err := d.fs.Open(path.Join(d.path, d.marker))
		if err != nil {
			return err
		}
		return f.Close()
	}
	m, err := readMarker(d.fs, d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("its %s is missing: is its disk mounted? (%w)", MarkerFile, err)
	case err != nil:
		return err
	case m.ID != d.id || m.ServerID != d.owner:
		return fmt.Errorf("it is another directory than the one that was there: its id is %s, that one's was %s", m.ID, d.id)
	}
	if d.lock != nil || d.locker == nil {
		return nil
	}
	d.lock, err = d.locker(d.path)
	return err
}

func (d *dataDir) unlock() error {
	d.checking.Lock()
	defer d.checking.Unlock()
	return d.unlockHeld()
}

func (d *dataDir) unlockHeld() error {
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return err
}

// damagedFile is the error of a file that can be read and does not say what it should.
type damagedFile struct{ error }

func readMarker(fsys vfs.FS, dir string) (marker, error) {
	var m marker
	b, err := vfs.ReadFile(fsys, path.Join(dir, MarkerFile), fileLimit)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil || m.ID == "" {
		return m, damagedFile{fmt.Errorf("%s is damaged (%v): restore it from a copy", path.Join(dir, MarkerFile), err)}
	}
	if m.Version != dirsVersion {
		return m, fmt.Errorf("%s has version %d, this weir reads version %d: start a newer weir", path.Join(dir, MarkerFile), m.Version, dirsVersion)
	}
	return m, nil
}

func readKnown(fsys vfs.FS, dir string) (k knownDirs, err error) {
	b, err := vfs.ReadFile(fsys, path.Join(dir, knownFile), fileLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return k, fmt.Errorf("read which data directories there are: %w", err)
	}
	if err := json.Unmarshal(b, &k); err != nil || k.Version != dirsVersion {
		return k, damagedFile{fmt.Errorf("%s can't be read (version %d, %v): delete it once all data directories are mounted; it is made anew", path.Join(dir, knownFile), k.Version, err)}
	}
	return k, nil
}
