package broker

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/raftfsm/hardstate"
)

// dirs are the data directories of a node, each on a disk of its own. A partition lives in one of them, where it is found by looking: nothing
// else says where, so that an operator may move it while the node is stopped. Safe for concurrent use.
//
// Invariants:
//   - a partition that has voted and lies nowhere is not made anew;
//   - a partition that lies in two directories is not opened: nobody can say which copy is the newer one;
//   - nothing is made in a directory that does not carry its marker, since it may be the mount point of a disk that is not there.
type dirs struct {
	all  []*dataDir // as given; the first one holds the votes and everything that is no partition
	hard *hardstate.Store
	log  *slog.Logger

	placing sync.Mutex // held while a new partition is given its place, so that the counts hold
	mu      sync.Mutex // guards places
	places  map[hardstate.GroupID]*dataDir
}

// checkEvery is how often each directory is looked at. Until a directory that is gone is noticed, records may be written to files that
// nobody can open again.
const checkEvery = time.Second

// watch looks at the directories until ctx ends, at each by itself: a disk that hangs holds up nobody else. Of a directory that can't be used
// any more it calls failed, from several goroutines.
func (d *dirs) watch(ctx context.Context, failed func(dir string, err error)) error {
	var wg sync.WaitGroup
	for _, dir := range d.all {
		wg.Go(func() { d.watchOne(ctx, dir, failed) })
	}
	wg.Wait()
	return nil
}

func (d *dirs) watchOne(ctx context.Context, dir *dataDir, failed func(dir string, err error)) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	before := dir.state() // as this loop last saw it: others check the directory too, and tell nobody
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := dir.check()
		switch {
		case now != nil && before == nil:
			d.log.Error("a data directory can't be used any more; its partitions stop, the others go on", "dir", dir.path, "err", now)
			failed(dir.path, now)
		case now == nil && before != nil:
			d.log.Info("a data directory can be used again", "dir", dir.path)
		}
		before = now
	}
}

// errTwoCopies is returned for a partition that lies in several directories.
var errTwoCopies = errors.New("the partition lies in several data directories; keep the right one, move the others elsewhere while the node is stopped")

// find returns the directory where a partition lies, nil when it has no files in any that can be read.
func (d *dirs) find(g hardstate.GroupID) (*dataDir, error) {
	var found []*dataDir
	var unread []error
	for _, dir := range d.all {
		if dir.state() != nil {
			continue
		}
		names, err := dir.fs.List(dir.partition(g))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			unread = append(unread, fmt.Errorf("look for the partition: %w", err))
		}
		if len(names) > 0 {
			found = append(found, dir)
		}
	}
	switch len(found) {
	case 0:
		return nil, errors.Join(unread...)
	case 1:
		return found[0], nil
	}
	var where []string
	for _, dir := range found {
		where = append(where, dir.partition(g))
	}
	return nil, fmt.Errorf("%w: %s", errTwoCopies, strings.Join(where, ", "))
}

// place returns the directory where a partition lies. One that was never opened is given the directory with the fewest partitions, and of
// those the one with the most room.
func (d *dirs) place(g hardstate.GroupID) (*dataDir, error) {
	for _, dir := range d.all {
		if dir.state() != nil {
			_ = dir.check() // it may be back; if not, what follows says why
		}
	}
	d.placing.Lock()
	defer d.placing.Unlock()
	dir, err := d.find(g)
	if err != nil {
		return nil, err
	}
	if dir == nil {
		if st, known := d.hard.Known(g); known && st.VoteTerm > 0 {
			return nil, d.missing(st)
		}
		if dir, err = d.choose(g); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.places[g] = dir
	return dir, nil
}

// missing is the error of a partition that has voted and lies nowhere. It may come back with a directory that can't be used now.
func (d *dirs) missing(st hardstate.State) error {
	if failed := d.failed(); len(failed) > 0 {
		return fmt.Errorf("it is in none of the data directories that can be used, so it is on one that can't: %w", errors.Join(failed...))
	}
	return fmt.Errorf("%w: it has voted in term %d, but it is in none of the data directories %s; give the directory that it is in with --data too, or restore the partition from a backup",
		replica.ErrLostData, st.VoteTerm, strings.Join(d.paths(), ", "))
}

// choose makes the place of a new partition, durably: its vote is kept on another disk, and must not outlive it in a power cut.
func (d *dirs) choose(g hardstate.GroupID) (*dataDir, error) {
	type candidate struct {
		*dataDir
		count int
		free  int64
	}
	var list []candidate
	full := true
	for _, dir := range d.all {
		if dir.state() != nil {
			continue
		}
		_ = dir.check() // asks for the room, of which the last partition may have taken much
		if dir.state() != nil {
			continue
		}
		c := candidate{dataDir: dir, count: dir.partitions(), free: dir.last().usable}
		list, full = append(list, c), full && dir.space.Err() != nil
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no data directory can be used: %w", errors.Join(d.failed()...))
	}
	if !full {
		list = slices.DeleteFunc(list, func(c candidate) bool { return c.space.Err() != nil })
	}
	chosen := slices.MinFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(b.free, a.free))
	}).dataDir
	if err := chosen.make(g); err != nil {
		return nil, fmt.Errorf("make a place for the partition: %w", err)
	}
	return chosen, nil
}

// where returns the directory of a partition as far as it is known without looking: the one where it was last found, or the only one that
// can't be used.
func (d *dirs) where(g hardstate.GroupID) *dataDir {
	d.mu.Lock()
	dir := d.places[g]
	d.mu.Unlock()
	if dir != nil {
		return dir
	}
	for _, other := range d.all {
		if other.state() == nil {
			continue
		}
		if dir != nil {
			return nil
		}
		dir = other
	}
	if _, known := d.hard.Known(g); !known {
		return nil
	}
	return dir
}

func (d *dirs) forget(g hardstate.GroupID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.places, g)
}

// failed says what is wrong with the directories that can't be used.
func (d *dirs) failed() []error {
	var errs []error
	for _, dir := range d.all {
		if err := dir.state(); err != nil {
			errs = append(errs, fmt.Errorf("data directory %s: %w", dir.path, err))
		}
	}
	return errs
}

func (d *dirs) paths() []string {
	var paths []string
	for _, dir := range d.all {
		paths = append(paths, dir.path)
	}
	return paths
}

func (d *dirs) close() error {
	var errs []error
	for _, dir := range d.all {
		errs = append(errs, dir.unlock())
	}
	return errors.Join(errs...)
}

// topic is the directory of a topic's partitions.
func (d *dataDir) topic(id [16]byte) string {
	return path.Join(d.path, "topics", hex.EncodeToString(id[:]))
}

// partition is the directory of a partition.
func (d *dataDir) partition(g hardstate.GroupID) string {
	topic, n := g.Partition()
	return path.Join(d.topic(topic), strconv.Itoa(int(n)))
}

// make makes the directory of a partition, durably.
func (d *dataDir) make(g hardstate.GroupID) error {
	dir := d.partition(g)
	if err := d.fs.MkdirAll(dir); err != nil {
		return err
	}
	for range 3 { // of the partition, the topic and the topics
		dir = path.Dir(dir)
		if err := d.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// partitions counts the partitions that have a directory here.
func (d *dataDir) partitions() (n int) {
	topics, err := d.fs.List(path.Join(d.path, "topics"))
	if err != nil {
		return 0
	}
	for _, topic := range topics {
		names, _ := d.fs.List(path.Join(d.path, "topics", topic)) // a file has no names
		for _, name := range names {
			if _, err := strconv.Atoi(name); err == nil {
				n++
			}
		}
	}
	return n
}

// tooManyFiles says that nothing was learnt about the disk.
func tooManyFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
