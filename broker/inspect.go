package broker

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

// Stored is a partition that has files.
type Stored struct {
	Topic     string // empty when its name is not written beside it
	TopicID   [16]byte
	Partition int32
	Dir       string
}

// Name is the partition as people call it.
func (s Stored) Name() string {
	topic := s.Topic
	if topic == "" {
		topic = hex.EncodeToString(s.TopicID[:])
	}
	return fmt.Sprintf("%s/%d", topic, s.Partition)
}

// StoredPartitions lists the partitions in a data directory, by topic and
// number, also those of no topic any more.
func StoredPartitions(dataDir string) ([]Stored, error) {
	root := filepath.Join(dataDir, "topics")
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	var list []Stored
	for _, e := range entries {
		id, err := hex.DecodeString(e.Name())
		if err != nil || len(id) != 16 || !e.IsDir() {
			continue
		}
		dir := filepath.Join(root, e.Name())
		var doc struct {
			Name string `json:"name"`
		}
		if b, err := os.ReadFile(filepath.Join(dir, "topic.json")); err == nil {
			_ = json.Unmarshal(b, &doc) // a partition without a name is one all the same
		}
		numbers, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("list partitions: %w", err)
		}
		for _, n := range numbers {
			number, err := strconv.ParseInt(n.Name(), 10, 32)
			if err != nil || !n.IsDir() {
				continue
			}
			list = append(list, Stored{doc.Name, [16]byte(id), int32(number), filepath.Join(dir, n.Name())})
		}
	}
	slices.SortFunc(list, func(a, b Stored) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return int(a.Partition - b.Partition)
	})
	return list, nil
}

// inspectTries is how often a partition of a running node is looked at until
// what was found is believed: retention and the cleaner change files meanwhile.
const inspectTries = 3

// Inspection is what Inspect looks at.
type Inspection struct {
	DataDir string
	// Live says that a node has the directory open. Only what is found in each
	// of several looks at a partition is told then.
	Live bool
	// Topics are what the cluster agreed on; nil when that is not known.
	Topics map[string]state.Topic
	Found  finding.Sink
	// Begin is told of each partition before it is read. nil: not told.
	Begin    func(done, of int, p Stored)
	Progress func(bytes int64)
}

// Inspect reads the votes and all partitions of a data directory through
// without changing anything. done is how many partitions were read and bytes
// what their records take. An error means that something could not be looked at; the rest was.
func Inspect(in Inspection) (done int, bytes int64, err error) {
	list, err := StoredPartitions(in.DataDir)
	if err != nil {
		return 0, 0, err
	}
	name := filepath.Join(in.DataDir, "hardstate.wal")
	states, err := hardstate.Inspect(vfs.ReadOnly{}, name, in.Found, nil)
	if errors.Is(err, fs.ErrNotExist) && len(list) > 0 {
		in.Found(finding.Finding{File: name, Offset: -1, What: "the votes of the partitions are missing", Do: finding.Restore})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, err
	}
	in.names()
	var errs []error
	for i, p := range list {
		if in.Begin != nil {
			in.Begin(i, len(list), p)
		}
		r, err := in.partition(p, states)
		if err != nil {
			errs = append(errs, fmt.Errorf("partition %s in %s: %w", p.Name(), p.Dir, err))
			continue
		}
		done, bytes = done+1, bytes+r.Bytes
	}
	return done, bytes, errors.Join(errs...)
}

// names compares the names written beside the partitions with the topics that the cluster agreed on.
func (in *Inspection) names() {
	for _, t := range in.Topics {
		path := filepath.Join(in.DataDir, "topics", hex.EncodeToString(t.ID[:]), "topic.json")
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // agreed on, and not made here yet
		}
		var doc struct {
			Name       string `json:"name"`
			Partitions int32  `json:"partitions"`
		}
		if err == nil {
			err = json.Unmarshal(b, &doc)
		}
		if err == nil && (doc.Name != t.Name || doc.Partitions > t.Partitions) {
			err = fmt.Errorf("it says topic %q with %d partitions, the controller's store %q with %d", doc.Name, doc.Partitions, t.Name, t.Partitions)
		}
		if err != nil {
			in.Found(finding.Finding{File: path, Offset: -1, What: err.Error(), Do: "restart the node, which writes the file anew; if the controller's store is what is wrong, restore the data directory from a backup"})
		}
	}
}

func (in *Inspection) partition(p Stored, states map[hardstate.GroupID]hardstate.State) (r seglog.Report, err error) {
	group := hardstate.PartitionGroup(p.TopicID, p.Partition)
	for try := 1; ; try++ {
		var found []finding.Finding
		votes, known := states[group]
		r, err = replica.Inspect(replica.Inspection{
			FS: vfs.ReadOnly{}, Dir: p.Dir, Votes: votes, Known: known, Progress: in.Progress,
			Found: func(f finding.Finding) { found = append(found, f) },
		})
		if errors.Is(err, fs.ErrNotExist) && !known {
			return r, nil // made and never written to, or gone meanwhile
		}
		if in.Live && try < inspectTries && (err != nil || slices.ContainsFunc(found, func(f finding.Finding) bool { return !f.Note })) {
			states, _ = hardstate.Inspect(vfs.ReadOnly{}, filepath.Join(in.DataDir, "hardstate.wal"), func(finding.Finding) {}, nil)
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
