package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/broker/api"
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
	log    *slog.Logger
}

func openEngines(cfg Config) (*engines, error) {
	hard, err := hardstate.Open(vfs.OS{}, filepath.Join(cfg.DataDir, "hardstate.wal"))
	if err != nil {
		return nil, fmt.Errorf("open the votes of the partitions: %w", err)
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
		log:    log,
	}, nil
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

func (e *engines) config(spec engineSpec) replica.Config {
	return replica.Config{
		Topic: spec.Topic.Name, TopicID: spec.Topic.ID, Partition: spec.Partition, Dir: spec.Dir,
		NodeID: e.cfg.NodeID, ServerID: e.cfg.ServerID,
		HardState: e.hard, Transport: e.net, Shared: e.shared,
		Settings: settings(spec.Config), Log: e.log,
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

func (r replicaEngine) Reconfigure(c api.TopicConfig) error { return r.SetSettings(settings(c)) }
