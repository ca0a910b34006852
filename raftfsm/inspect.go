package raftfsm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/weir-analytics/weir/internal/boltfile"
	"github.com/weir-analytics/weir/internal/finding"
	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// Inspect reads the controller's files in a data directory through without changing anything, and returns the state that follows from
// them: the newest snapshot with its checksum, and every entry behind it, which must be there, in order, and apply. serverID is whose
// directory it is, empty when that can't be read. An error means that the files could not be looked at: ErrLocked while a node has them open.
func Inspect(dataDir string, found finding.Sink) (agreed *state.State, serverID string, err error) {
	in := &inspector{found: found, state: state.New()}
	id, err := in.identity(filepath.Join(dataDir, identityFile))
	if err != nil {
		return nil, "", err
	}
	err = in.controller(dataDir, id)
	return in.state, id.ServerID, err
}

func (in *inspector) controller(dataDir string, id identity) error {
	dir := filepath.Join(dataDir, "controller")
	if err := in.snapshots(filepath.Join(dir, "snapshots")); err != nil {
		return err
	}
	path := filepath.Join(dir, "raft.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if id.Formed {
			in.tell(path, "the file is missing")
		}
		return nil
	}
	err := boltfile.Check(path)
	if err == nil {
		err = boltfile.Guard(func() error { return in.log(path) })
	}
	if err == nil && !in.stop {
		in.member(filepath.Join(dataDir, identityFile), id)
	}
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%w (%s is locked)", ErrLocked, path)
	case errors.Is(err, boltfile.ErrDamaged), errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		in.tell(path, "%v", err)
		return nil
	}
	return err
}

type inspector struct {
	found   finding.Sink
	state   *state.State
	servers raft.Configuration // newest in snapshot or log
	index   uint64             // of the last entry in state
	stop    bool               // the state does not follow any more
}

func (in *inspector) tell(file, format string, args ...any) {
	in.found(finding.Finding{File: file, Offset: -1, What: fmt.Sprintf(format, args...), Do: finding.Restore})
}

func (in *inspector) identity(path string) (id identity, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return id, fmt.Errorf("read identity: %w", err)
	}
	if err := json.Unmarshal(b, &id); err != nil {
		in.tell(path, "not a JSON document: %v", err)
	} else if id.Version != identityVersion || id.ClusterID == "" || id.ServerID == "" {
		in.tell(path, "version %d, cluster %q, server %q", id.Version, id.ClusterID, id.ServerID)
	}
	return id, nil
}

// member compares who the node is with what the cluster agreed on.
func (in *inspector) member(path string, id identity) {
	if !id.Formed {
		return
	}
	if c := in.state.ClusterID; c != "" && c != id.ClusterID {
		in.tell(path, "it is of cluster %s, the controller's store of cluster %s", id.ClusterID, c)
	}
	if len(in.servers.Servers) > 0 && !isMember(in.servers, id.ServerID) {
		in.tell(path, "server %s is no member of its cluster, members are %v", id.ServerID, in.servers.Servers)
	}
}

// snapshots takes up the newest snapshot that is whole, as raft does at a start.
func (in *inspector) snapshots(dir string) error {
	names, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list snapshots: %w", err)
	}
	var broken []finding.Finding
	for _, e := range names {
		if filepath.Ext(e.Name()) == ".tmp" || !e.IsDir() {
			continue
		}
		s, meta, err := readSnapshot(filepath.Join(dir, e.Name()))
		if errors.Is(err, state.ErrSnapshotUnsupported) {
			return err
		}
		if err != nil {
			broken = append(broken, finding.Finding{File: filepath.Join(dir, e.Name(), "state.bin"), Offset: -1, What: err.Error(), Do: finding.Restore})
		} else if meta.Index >= in.index {
			in.state, in.index, in.servers = s, meta.Index, meta.Configuration
		}
	}
	for _, f := range broken {
		if in.index > 0 { // of a removal that was cut short; what the other one lacks must be in the log
			f.Note, f.Do = true, finding.StartNode
		} else {
			in.stop = true
		}
		in.found(f)
	}
	return nil
}

// readSnapshot reads a snapshot of raft's FileSnapshotStore and checks its checksum.
func readSnapshot(dir string) (*state.State, raft.SnapshotMeta, error) {
	var meta struct {
		raft.SnapshotMeta
		CRC []byte
	}
	b, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		return nil, meta.SnapshotMeta, err
	}
	if err := json.Unmarshal(b, &meta); err != nil {
		return nil, meta.SnapshotMeta, fmt.Errorf("meta.json beside it: %w", err)
	}
	if at := fmt.Sprintf("%d-%d-", meta.Term, meta.Index); meta.Version != raft.SnapshotVersionMax || meta.ID != filepath.Base(dir) || !strings.HasPrefix(meta.ID, at) {
		return nil, meta.SnapshotMeta, fmt.Errorf("meta.json beside it is of version %d, snapshot %s, term %d, entry %d", meta.Version, meta.ID, meta.Term, meta.Index)
	}
	if b, err = os.ReadFile(filepath.Join(dir, "state.bin")); err != nil {
		return nil, meta.SnapshotMeta, err
	}
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	sum.Write(b)
	if !bytes.Equal(sum.Sum(nil), meta.CRC) {
		return nil, meta.SnapshotMeta, errors.New("it is not what its checksum in meta.json says")
	}
	s, err := state.ParseSnapshot(b)
	return s, meta.SnapshotMeta, err
}

// log reads the entries behind the snapshot and applies them.
func (in *inspector) log(path string) error {
	db, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{ReadOnly: true, Timeout: lockWait}})
	if err != nil {
		return err
	}
	defer db.Close()
	return in.entries(path, db, in.entry)
}

// logReader is what is read of raft's log and votes.
type logReader interface {
	FirstIndex() (uint64, error)
	LastIndex() (uint64, error)
	GetLog(index uint64, log *raft.Log) error
	GetUint64(key []byte) (uint64, error)
}

// entries reads all entries, which must follow the snapshot and each other, and the term.
func (in *inspector) entries(path string, db logReader, visit func(path string, l raft.Log)) error {
	first, err := db.FirstIndex()
	if err != nil {
		return err
	}
	last, err := db.LastIndex()
	if err != nil || last == 0 {
		return err
	}
	if first > in.index+1 {
		in.tell(path, "its log begins with entry %d where %d is next after the snapshot", first, in.index+1)
		return nil
	}
	term := uint64(0)
	for index := first; index <= last; index++ {
		var l raft.Log
		if err := db.GetLog(index, &l); err != nil || l.Index != index || l.Term < term {
			in.tell(path, "entry %d can't be read (%v): it says entry %d, term %d, after one of term %d", index, err, l.Index, l.Term, term)
			return nil
		}
		term = l.Term
		visit(path, l)
	}
	if current, err := db.GetUint64([]byte("CurrentTerm")); err != nil || current < term {
		in.tell(path, "the log has term %d, its votes are only known up to term %d", term, current)
	}
	return nil
}

// checkReadable refuses files at which raft would panic: it reads them as raft does at a start.
func checkReadable(dir string, db logReader) error {
	var first error
	in := &inspector{state: state.New(), found: func(f finding.Finding) {
		if first == nil && !f.Note {
			first = fmt.Errorf("%s: %s: it is damaged; restore the data directory from a backup. Nothing was changed", f.File, f.What)
		}
	}}
	path := filepath.Join(dir, "raft.db")
	err := in.snapshots(filepath.Join(dir, "snapshots"))
	if err == nil {
		err = boltfile.Guard(func() error {
			return in.entries(path, db, func(_ string, l raft.Log) {
				if l.Type == raft.LogConfiguration {
					raft.DecodeConfiguration(l.Data)
				}
			})
		})
	}
	if errors.Is(err, boltfile.ErrDamaged) {
		err = fmt.Errorf("%s: %w; restore the data directory from a backup. Nothing was changed", path, err)
	}
	return errors.Join(err, first)
}

func (in *inspector) entry(path string, l raft.Log) {
	if l.Type == raft.LogConfiguration && l.Index > in.index {
		in.servers = raft.DecodeConfiguration(l.Data)
	}
	if l.Type != raft.LogCommand {
		return
	}
	cmd, at, err := command.Parse(l.Data)
	if err == nil && l.Index > in.index && !in.stop {
		var next *state.State
		if next, _, err = in.state.Apply(cmd, at); !errors.Is(err, command.ErrUnsupported) {
			in.state, err = next, nil // the cluster refused it too
		}
	}
	if err != nil {
		in.tell(path, "entry %d: %v", l.Index, err)
		in.stop = true
	}
}
