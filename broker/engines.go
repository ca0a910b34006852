package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/compact"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/vfs"
	"github.com/weir-analytics/weir/raftfsm/hardstate"
	"github.com/weir-analytics/weir/raftfsm/transport"
)

// engines opens replicas and holds what those of one node have in common.
type engines struct {
	cfg    Config
	fs     vfs.FS
	dirs   *dirs
	hard   *hardstate.Store
	net    transport.Network
	shared *seglog.Shared
	turn   *compact.Turn
	counts *replica.Metrics
	log    *slog.Logger
}

func openEngines(cfg Config) (*engines, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	var net transport.Network = cfg.Peers
	if cfg.Peers == nil {
		net = transport.NewLocal(raft.ServerAddress(cfg.ServerID))
	}
	fsys := cfg.FS
	if fsys == nil {
		fsys = vfs.OS{}
	}
	all, err := openDirs(cfg, fsys)
	if err != nil {
		return nil, err
	}
	d := &dirs{all: all, log: cfg.Log, places: map[hardstate.GroupID]*dataDir{}}
	if d.hard, err = d.openVotes(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	_ = d.all[0].check() // its marker is there from here on
	for _, err := range d.failed() {
		cfg.Log.Error("a data directory can't be used; its partitions do not open until it can, the others go on", "err", err)
	}
	return &engines{
		cfg: cfg, fs: fsys, dirs: d, hard: d.hard,
		net:    net,
		shared: seglog.NewShared(seglog.Limits{}),
		turn:   compact.NewTurn(compact.DefaultRate),
		counts: replica.NewMetrics(cfg.Registry),
		log:    cfg.Log,
	}, nil
}

// votesFile holds the terms and votes of all partitions of the node, wherever they are: a vote must outlive the disk of its partition, so
// that an empty disk in its place is not taken for a partition that has never voted.
const votesFile = "hardstate.wal"

// openVotes opens the votes. A node that forgot them must not vote again: it could acknowledge records that another majority does not have.
func (d *dirs) openVotes() (*hardstate.Store, error) {
	const advice = "restore the data directory from a backup of one moment; nothing was changed"
	first := d.all[0]
	file := path.Join(first.path, votesFile)
	f, err := first.fs.Open(file)
	switch {
	case err == nil:
		err = f.Close()
	case errors.Is(err, fs.ErrNotExist):
		if log := d.anyLog(); log != "" {
			return nil, fmt.Errorf("%s, the votes of the partitions, is missing, but there are partitions such as %s: %s", file, log, advice)
		}
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the votes of the partitions: %w", err)
	}
	hard, err := hardstate.Open(first.fs, file)
	if errors.Is(err, hardstate.ErrCorrupt) {
		return nil, fmt.Errorf("open the votes of the partitions: %w: %s", err, advice)
	}
	if err != nil {
		return nil, fmt.Errorf("open the votes of the partitions: %w", err)
	}
	return hard, nil
}

// anyLog names a partition that holds a log, if there is one.
func (d *dirs) anyLog() string {
	for _, dir := range d.all {
		root := path.Join(dir.path, "topics")
		topics, _ := dir.fs.List(root)
		for _, topic := range topics {
			partitions, _ := dir.fs.List(path.Join(root, topic))
			for _, n := range partitions {
				at := path.Join(root, topic, n)
				names, _ := dir.fs.List(at)
				if slices.ContainsFunc(names, func(name string) bool { return path.Ext(name) == ".rix" }) {
					return at
				}
			}
		}
	}
	return ""
}

func (s engineSpec) group() hardstate.GroupID {
	return hardstate.PartitionGroup(s.Topic.ID, s.Partition)
}

// open opens one replica in the directory where it lies, or in one that is chosen for it. It serves a moment later.
func (e *engines) open(spec engineSpec) (engine, error) {
	dir, err := e.dirs.place(spec.group())
	if err != nil {
		return nil, err
	}
	if err := dir.nameTopic(spec.Topic); err != nil {
		e.log.Warn("write the topic's name beside its partitions", "topic", spec.Topic.Name, "dir", dir.path, "err", err)
	}
	r, err := replica.Open(e.config(spec, dir))
	if err != nil {
		return nil, err
	}
	return replicaEngine{r}, nil
}

// holds says whether a partition was opened before.
func (e *engines) holds(spec engineSpec) bool {
	if _, known := e.hard.Known(spec.group()); known {
		return true
	}
	dir, err := e.dirs.find(spec.group())
	return dir != nil || err != nil
}

func (e *engines) dirOf(spec engineSpec) string {
	if dir := e.dirs.where(spec.group()); dir != nil {
		return dir.path
	}
	return ""
}

// sizeOf adds up the segments of a partition that is not open, as far as its disk can be read.
func (e *engines) sizeOf(spec engineSpec) (size int64) {
	dir := e.dirs.where(spec.group())
	if dir == nil {
		return 0
	}
	at := dir.partition(spec.group())
	names, _ := dir.fs.List(at)
	for _, name := range names {
		if path.Ext(name) != ".log" {
			continue
		}
		f, err := dir.fs.Open(path.Join(at, name))
		if err != nil {
			continue
		}
		if n, err := f.Size(); err == nil {
			size += n
		}
		_ = f.Close() // nothing was written
	}
	return size
}

func (e *engines) logDirs() []logDir {
	var list []logDir
	for _, dir := range e.dirs.all {
		now := dir.last()
		l := logDir{path: dir.path, total: now.total, usable: now.usable, err: now.err}
		if l.err == nil {
			l.full = dir.space.Err()
		}
		list = append(list, l)
	}
	return list
}

func (e *engines) watch(ctx context.Context, failed func(dir string, err error)) error {
	return e.dirs.watch(ctx, failed)
}

func (e *engines) config(spec engineSpec, dir *dataDir) replica.Config {
	return replica.Config{
		Topic: spec.Topic.Name, TopicID: spec.Topic.ID, Partition: spec.Partition, Dir: dir.partition(spec.group()), FS: e.fs,
		NodeID: e.cfg.NodeID, ServerID: e.cfg.ServerID,
		Members: spec.Members, Join: spec.Join, Clustered: e.clustered(), NodeOf: e.nodeOf(),
		HardState: e.hard, Transport: e.net, Shared: e.shared, Space: dir.space,
		Settings: settings(spec.Config), Log: e.log, Turn: e.turn, Metrics: e.counts,
	}
}

// clustered says whether groups may have members elsewhere.
func (e *engines) clustered() bool {
	_, alone := e.net.(*transport.Local)
	return !alone
}

func (e *engines) nodeOf() func(string) int32 {
	if !e.clustered() {
		return nil
	}
	return e.cfg.nodeOf
}

// removePartition deletes the files of one closed partition wherever they are, and its votes.
func (e *engines) removePartition(spec engineSpec) error {
	dir := e.dirs.where(spec.group())
	if dir == nil {
		return e.hard.Forget(spec.group())
	}
	if err := replica.Remove(e.config(spec, dir)); err != nil {
		return err
	}
	e.dirs.forget(spec.group())
	return nil
}

// Close is called after every replica is closed.
func (e *engines) Close() error { return errors.Join(e.hard.Close(), e.dirs.close()) }

// settings are those of a topic in the words of a replica, which has 0 for "no bound".
func settings(c api.TopicConfig) replica.Settings {
	s := replica.Settings{SegmentBytes: c.SegmentBytes, MaxBatchBytes: c.MaxBatchBytes, RequireKey: c.Compact}
	if c.LogAppendTime {
		s.Timestamps = replica.LogAppendTime
	}
	s.SegmentAge, s.Compact = c.SegmentAge, c.Compact
	s.DirtyRatio, s.MinLag, s.MaxLag, s.DeleteRetention = c.DirtyRatio, c.MinLag, c.MaxLag, c.DeleteRetention
	if c.Delete { // what is only compacted is never too old or too much
		s.RetainFor, s.RetainBytes = c.RetainFor, max(c.RetainBytes, 0)
	}
	return s
}

// replicaEngine is a replica with the types of package api.
type replicaEngine struct{ *replica.Replica }

func (r replicaEngine) Append(ctx context.Context, batch []byte) api.Pending {
	return r.Replica.Append(ctx, batch)
}

func (r replicaEngine) AppendVerified(ctx context.Context, batch []byte, since int64) api.Pending {
	return r.Replica.AppendVerified(ctx, batch, since)
}

func (r replicaEngine) Reconfigure(c api.TopicConfig) error { return r.SetSettings(settings(c)) }
