package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

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
	hard   *hardstate.Store
	net    transport.Network
	shared *seglog.Shared
	turn   *compact.Turn
	counts *replica.Metrics
	log    *slog.Logger
}

func openEngines(cfg Config) (*engines, error) {
	hard, err := openVotes(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &engines{
		cfg:  cfg,
		hard: hard,
		// A node without peers never dials, so that any name will do.
		net:    transport.NewLocal(raft.ServerAddress(cfg.ServerID)),
		shared: seglog.NewShared(seglog.Limits{}),
		turn:   compact.NewTurn(compact.DefaultRate),
		counts: replica.NewMetrics(cfg.Registry),
		log:    log,
	}, nil
}

// openVotes opens the file with the terms and votes of all partitions. A node that forgot them must not vote again: it could acknowledge
// records that another majority does not have.
func openVotes(dataDir string) (*hardstate.Store, error) {
	const advice = "restore the data directory from a backup of one moment; nothing was changed"
	path := filepath.Join(dataDir, "hardstate.wal")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		logs, err := filepath.Glob(filepath.Join(dataDir, "topics", "*", "*", "*.rix"))
		if err != nil {
			return nil, fmt.Errorf("look for partitions in %s: %w", dataDir, err)
		}
		if len(logs) > 0 {
			return nil, fmt.Errorf("%s, the votes of the partitions, is missing, but there are partitions such as %s: %s", path, filepath.Dir(logs[0]), advice)
		}
	}
	hard, err := hardstate.Open(vfs.OS{}, path)
	if errors.Is(err, hardstate.ErrCorrupt) {
		return nil, fmt.Errorf("open the votes of the partitions: %w: %s", err, advice)
	}
	if err != nil {
		return nil, fmt.Errorf("open the votes of the partitions: %w", err)
	}
	return hard, nil
}

// open opens one replica. It serves a moment later.
func (e *engines) open(spec engineSpec) (engine, error) {
	r, err := replica.Open(e.config(spec))
	if err != nil {
		return nil, err
	}
	return replicaEngine{r}, nil
}

// remove deletes what a closed replica has stored in its directory and in the node's votes.
func (e *engines) remove(spec engineSpec) error { return replica.Remove(e.config(spec)) }

func (e *engines) space() error {
	e.shared.WatchSpace(vfs.OS{}, e.cfg.DataDir, time.Now())
	return e.shared.Space()
}

func (e *engines) config(spec engineSpec) replica.Config {
	return replica.Config{
		Topic: spec.Topic.Name, TopicID: spec.Topic.ID, Partition: spec.Partition, Dir: spec.Dir,
		NodeID: e.cfg.NodeID, ServerID: e.cfg.ServerID,
		HardState: e.hard, Transport: e.net, Shared: e.shared,
		Settings: settings(spec.Config), Log: e.log, Turn: e.turn, Metrics: e.counts,
	}
}

// Close is called after every replica is closed.
func (e *engines) Close() error { return errors.Join(e.hard.Close()) }

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
