package broker

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/finding"
	"github.com/weir-analytics/weir/internal/vfs"
	"github.com/weir-analytics/weir/raftfsm/hardstate"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// stored is a partition that has files.
type stored struct {
	group hardstate.GroupID
	topic string // empty when its name is not written beside it
	dir   string
}

// name is the partition as people call it.
func (s stored) name() string {
	if s.topic == "" {
		return s.group.String()
	}
	_, n := s.group.Partition()
	return fmt.Sprintf("%s-%d", s.topic, n)
}

// storedPartitions lists the partitions in a data directory, also those of no topic any more.
func storedPartitions(dataDir string) ([]stored, error) {
	root := filepath.Join(dataDir, "topics")
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	var list []stored
	for _, e := range entries {
		id, err := hex.DecodeString(e.Name())
		if err != nil || len(id) != 16 || !e.IsDir() {
			continue
		}
		dir := filepath.Join(root, e.Name())
		doc, _ := readTopicFile(dir) // a partition without a name is one all the same
		numbers, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("list partitions: %w", err)
		}
		for _, n := range numbers {
			number, err := strconv.ParseInt(n.Name(), 10, 32)
			if err != nil || !n.IsDir() {
				continue
			}
			list = append(list, stored{hardstate.PartitionGroup([16]byte(id), int32(number)), doc.Name, filepath.Join(dir, n.Name())})
		}
	}
	return list, nil
}

// inspectTries is how often a partition of a running node is looked at until
// what was found is believed: retention and the cleaner change files meanwhile.
const inspectTries = 3

// Inspection is what Inspect looks at.
type Inspection struct {
	Dirs []string // data directories of one node; the first one holds the votes
	// Partial says that the node has others, in which partitions may be.
	Partial bool
	// Live says that a node has them open. Only what is found in each
	// of several looks at a partition is told then.
	Live bool
	// Topics are what the cluster agreed on; nil when that is not known.
	Topics map[string]state.Topic
	Found  finding.Sink
	// Begin is told of each partition before it is read. nil: not told.
	Begin    func(done, of int)
	Progress func(bytes int64)
}

// Inspect reads the votes and all partitions of data directories through
// without changing anything. done is how many partitions were read and read
// the bytes that their records take. An error means that something could not be looked at; the rest was.
func Inspect(in Inspection) (done int, read int64, err error) {
	name := filepath.Join(in.Dirs[0], votesFile)
	states, err := hardstate.Inspect(vfs.ReadOnly{}, name, in.Found, nil)
	noVotes := errors.Is(err, fs.ErrNotExist)
	if err != nil && !noVotes {
		return 0, 0, err
	}
	var list []stored
	var errs []error
	for _, dir := range in.Dirs {
		here, err := storedPartitions(dir)
		if err != nil {
			in.Partial = true
			errs = append(errs, err)
		}
		list = append(list, here...)
		in.names(dir)
	}
	if noVotes && len(list) > 0 {
		in.Found(finding.Finding{File: name, Offset: -1, What: "the votes of the partitions are missing", Do: finding.Restore})
	}
	slices.SortStableFunc(list, func(a, b stored) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), bytes.Compare(a.group[:], b.group[:]))
	})
	in.places(list, states)
	for i, p := range list {
		if in.Begin != nil {
			in.Begin(i, len(list))
		}
		r, err := in.partition(p, states)
		if err != nil {
			errs = append(errs, fmt.Errorf("partition %s in %s: %w", p.name(), p.dir, err))
			continue
		}
		done, read = done+1, read+r.Bytes
	}
	return done, read, errors.Join(errs...)
}

// places tells of partitions that lie in several directories, and of those that have voted and lie nowhere: the node opens neither.
func (in *Inspection) places(list []stored, states map[hardstate.GroupID]hardstate.State) {
	at := map[hardstate.GroupID][]string{}
	for _, p := range list {
		at[p.group] = append(at[p.group], p.dir)
	}
	for _, p := range list {
		where := slices.DeleteFunc(slices.Clone(at[p.group]), isEmpty)
		if len(where) > 1 && where[0] == p.dir {
			in.Found(finding.Finding{File: p.dir, Offset: -1, What: "the partition lies in several data directories: " + strings.Join(where, ", "),
				Do: "stop the node, keep the right one and move the others elsewhere"})
		}
	}
	if in.Live || in.Partial { // a topic may be on its way out; a running node says on /readyz what is missing
		return
	}
	topics := map[[16]byte]string{}
	for _, t := range in.Topics {
		topics[t.ID] = t.Name
	}
	for _, g := range slices.SortedFunc(maps.Keys(states), func(a, b hardstate.GroupID) int { return bytes.Compare(a[:], b[:]) }) {
		id, n := g.Partition()
		if name, ok := topics[id]; states[g].VoteTerm > 0 && len(at[g]) == 0 && (ok || in.Topics == nil) {
			in.Found(finding.Finding{File: filepath.Join(in.Dirs[0], votesFile), Offset: -1,
				What: fmt.Sprintf("partition %s has voted in term %d, and is in none of %s", stored{group: g, topic: name}.name(), states[g].VoteTerm, strings.Join(in.Dirs, ", ")),
				Do:   fmt.Sprintf("name the data directory that it is in too, or restore topics/%x/%d from a backup", id, n)})
		}
	}
}

func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// names compares the names written beside the partitions with the topics that the cluster agreed on.
func (in *Inspection) names(dataDir string) {
	for _, t := range in.Topics {
		dir := filepath.Join(dataDir, "topics", hex.EncodeToString(t.ID[:]))
		doc, err := readTopicFile(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // agreed on, and not made here yet
		}
		if err == nil && (doc.Name != t.Name || doc.Partitions > t.Partitions) {
			err = fmt.Errorf("it says topic %q with %d partitions, the controller's store %q with %d", doc.Name, doc.Partitions, t.Name, t.Partitions)
		}
		if err != nil {
			in.Found(finding.Finding{File: filepath.Join(dir, topicFile), Offset: -1, What: err.Error(), Do: "restart the node, which writes the file anew; if the controller's store is what is wrong, restore the data directory from a backup"})
		}
	}
}

func (in *Inspection) partition(p stored, states map[hardstate.GroupID]hardstate.State) (r seglog.Report, err error) {
	for try := 1; ; try++ {
		var found []finding.Finding
		votes, known := states[p.group]
		r, err = replica.Inspect(replica.Inspection{
			FS: vfs.ReadOnly{}, Dir: p.dir, Votes: votes, Known: known, Progress: in.Progress,
			Found: func(f finding.Finding) { found = append(found, f) },
		})
		if errors.Is(err, fs.ErrNotExist) {
			if votes.VoteTerm > 0 && !in.Live {
				in.Found(finding.Finding{File: p.dir, Offset: -1, What: fmt.Sprintf("the replica has voted in term %d, and there is no log", votes.VoteTerm), Do: finding.RestorePartition})
			}
			return r, nil // made and never written to, or gone meanwhile
		}
		if in.Live && try < inspectTries && (err != nil || slices.ContainsFunc(found, func(f finding.Finding) bool { return !f.Note })) {
			states, _ = hardstate.Inspect(vfs.ReadOnly{}, filepath.Join(in.Dirs[0], votesFile), func(finding.Finding) {}, nil)
			continue
		}
		for _, f := range found {
			if in.Live && f.Note {
				continue // the newest segment is always unfinished
			}
			in.Found(f)
		}
		return r, err
	}
}
