package raftfsm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/internal/raftlog"
	"github.com/weir-analytics/weir/raftfsm/peer"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/raftfsm/transport"
)

// groupID is the controller's on the network between nodes. The ids of partitions are made from topic ids, none of which is zero.
var groupID transport.GroupID

// snapshotsKept is 1, because an older snapshot would keep erased salts. FileSnapshotStore removes the old one after the new one is synced.
const snapshotsKept = 1

// Controller is one node's member of the controller group. Its methods may be called from any goroutine.
type Controller struct {
	cfg     Config
	id      identity
	fsm     *fsm
	store   *store
	peers   transport.Peers
	node    *peer.Node // nil without peers
	keys    *peer.Keys
	link    transport.Group
	raft    *raft.Raft
	metrics *metrics

	ready  chan struct{} // closed by Run once this node has applied all that was committed, and the first salts are agreed on
	closed chan struct{} // closed by Close
	once   sync.Once
	err    error // of Close

	// The peer port answers until Close, after Run has ended: partitions are handed over meanwhile.
	running sync.Once
	life    context.Context
	endLife context.CancelFunc

	saltsMu sync.Mutex // one change of salts at a time, so that two proposers do not draw different keys for a day in vain
}

// Open opens the controller's data in cfg.DataDir, forming a cluster of this one node when the directory is empty. The state that was
// agreed on is complete once Ready is closed, which takes Run.
func Open(cfg Config) (*Controller, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	id, err := loadIdentity(cfg.DataDir, cfg)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cfg.DataDir, "controller")
	if id.Formed {
		if _, err := os.Stat(filepath.Join(dir, "raft.db")); err != nil {
			return nil, fmt.Errorf("%w (%w): restore %s from a backup", ErrDataLost, err, dir)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the controller's directory: %w", err)
	}
	st, err := openStore(filepath.Join(dir, "raft.db"), cfg.Log)
	if err != nil {
		return nil, err
	}
	c := &Controller{cfg: cfg, id: id, fsm: newFSM(), store: st, ready: make(chan struct{}), closed: make(chan struct{})}
	c.life, c.endLife = context.WithCancel(context.Background())
	c.metrics = newMetrics(cfg.Registerer, c)
	err = errors.Join(syncDir(dir), syncDir(cfg.DataDir))
	if err == nil {
		err = c.openPeers()
	}
	if err == nil {
		err = c.openRaft(dir)
	}
	if err != nil {
		c.metrics.unregister()
		if c.node != nil {
			err = errors.Join(err, c.node.Close())
		}
		return nil, errors.Join(err, st.Close())
	}
	return c, nil
}

func (c *Controller) openRaft(dir string) error {
	snaps, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsKept, raftlog.New(c.cfg.Log))
	if err != nil {
		return fmt.Errorf("open the controller's snapshots: %w", err)
	}
	if c.link, err = c.peers.Open(groupID); err != nil {
		return fmt.Errorf("open the controller's link: %w", err)
	}
	if err := checkReadable(dir, c.store); err != nil {
		return fmt.Errorf("read the controller's files: %w", err)
	}
	existing, err := raft.HasExistingState(c.store, c.store, snaps)
	switch {
	case err != nil:
		return fmt.Errorf("read the controller's log: %w", err)
	case !existing && c.id.Formed:
		return fmt.Errorf("%w: %s is empty; restore it from a backup", ErrDataLost, dir)
	case !existing && !c.id.Joined: // who has joined waits for the others
		self := raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(c.id.ServerID), Address: c.link.LocalAddr()}
		if err := raft.BootstrapCluster(c.raftConfig(), c.store, c.store, snaps, c.link, raft.Configuration{Servers: []raft.Server{self}}); err != nil {
			return fmt.Errorf("form the cluster: %w", err)
		}
	}
	if c.raft, err = raft.NewRaft(c.raftConfig(), c.fsm, c.store, c.store, snaps, c.link); err != nil {
		return fmt.Errorf("start the controller group: %w", err)
	}
	if members := c.raft.GetConfiguration(); existing && c.id.Formed && !c.id.Joined && members.Error() == nil && !isMember(members.Configuration(), c.id.ServerID) {
		err := fmt.Errorf("%w: %s says server %s, which is no member of the cluster in %s: it is damaged, or of another directory; restore it from a copy",
			ErrIdentity, identityFile, c.id.ServerID, dir)
		return errors.Join(err, c.raft.Shutdown().Error())
	}
	return nil
}

func isMember(members raft.Configuration, id string) bool {
	return slices.ContainsFunc(members.Servers, func(s raft.Server) bool { return string(s.ID) == id })
}

func (c *Controller) raftConfig() *raft.Config {
	rc := raft.DefaultConfig()
	rc.LocalID = raft.ServerID(c.id.ServerID)
	rc.HeartbeatTimeout, rc.ElectionTimeout, rc.LeaderLeaseTimeout = c.cfg.ElectionTimeout, c.cfg.ElectionTimeout, c.cfg.ElectionTimeout
	rc.SnapshotThreshold, rc.SnapshotInterval = c.cfg.SnapshotEvery, time.Minute
	rc.TrailingLogs = 0 // a follower that is behind gets the snapshot: it is small, and trailing entries would keep erased salts
	rc.NoLegacyTelemetry = true
	rc.Logger = raftlog.New(c.cfg.Log)
	return rc
}

// Run carries out the duties of this node until ctx ends or the controller cannot go on. It returns nil when ctx ended.
func (c *Controller) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { c.followAddresses(ctx) })
	if c.node != nil {
		c.running.Do(func() { go c.node.Run(c.life) })
		c.node.Greet()
	}
	if err := c.becomeReady(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("start the controller: %w", err)
	}
	close(c.ready)
	wg.Go(func() { c.lookAfterMembers(ctx) })
	tick := time.NewTicker(saltsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			c.handOver()
			return nil
		case <-c.closed:
			return nil
		case err := <-c.fsm.failed:
			return err
		case <-c.fsm.erased:
			if err := c.forget(ctx); err != nil && ctx.Err() == nil {
				c.cfg.Log.Warn("erased salts are in files of the controller still", "err", err)
			}
		case <-tick.C:
			if !c.Leading() {
				continue
			}
			if err := c.agreeSalts(ctx); err != nil && ctx.Err() == nil {
				c.cfg.Log.Warn("the salts of the coming days are not agreed on yet", "err", err)
			}
		}
	}
}

// lookAfterMembers does what this node owes the cluster while it leads.
func (c *Controller) lookAfterMembers(ctx context.Context) {
	if c.node == nil {
		return
	}
	said := ""
	for {
		changed := c.Changed()
		err := c.dues(ctx)
		if err != nil && ctx.Err() == nil && c.Leading() && err.Error() != said {
			said = err.Error()
			c.cfg.Log.Warn("the members of the cluster are not as they should be; it is tried again", "err", err)
		}
		select {
		case <-changed:
		case <-time.After(duesEvery):
		case <-ctx.Done():
			return
		}
	}
}

// becomeReady waits until this node leads or follows and has applied everything that was committed. The first node of all then makes the
// cluster's first command and salts.
func (c *Controller) becomeReady(ctx context.Context) error {
	if err := c.takePart(ctx); err != nil {
		return err
	}
	if !c.id.Joined && c.Leading() {
		if err := c.initCluster(ctx); err != nil {
			return err
		}
	}
	if !c.id.Formed {
		id := c.id
		id.Formed = true
		if err := saveIdentity(c.cfg.DataDir, id); err != nil {
			return err
		}
	}
	if !c.Leading() {
		return nil
	}
	return c.agreeSalts(ctx)
}

func (c *Controller) takePart(ctx context.Context) error {
	if c.alone() {
		c.link.ElectNow()
	}
	for {
		var err error
		if c.raft.State() == raft.Leader {
			err = c.wait(ctx, c.raft.Barrier(0))
		} else if c.leader() != "" {
			err = c.catchUp(ctx)
		} else {
			err = errNoLeader
		}
		if err == nil || ctx.Err() != nil || errors.Is(err, raft.ErrRaftShutdown) {
			return err
		}
		select {
		case <-c.raft.LeaderCh():
		case <-time.After(c.cfg.ElectionTimeout / 4): // LeaderCh drops what nobody takes
		case err := <-c.fsm.failed:
			return err
		case <-c.closed:
			return ErrUnavailable
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// alone reports whether this node is the only voter, so that there is nobody to wait for.
func (c *Controller) alone() bool {
	future := c.raft.GetConfiguration()
	if future.Error() != nil {
		return false
	}
	members := future.Configuration().Servers
	voters := slices.DeleteFunc(slices.Clone(members), func(m raft.Server) bool { return m.Suffrage != raft.Voter })
	return len(voters) == 1 && string(voters[0].ID) == c.id.ServerID
}

// Close stops the group and releases the files. It may be called more than once.
func (c *Controller) Close() error {
	c.once.Do(func() {
		close(c.closed)
		done := make(chan error, 1)
		go func() { done <- c.raft.Shutdown().Error() }()
		select {
		case c.err = <-done:
		case <-time.After(5 * time.Second):
			c.err = errors.New("the controller group did not stop within 5 s: its disk does not answer")
		}
		if c.node != nil {
			c.endLife()
			c.err = errors.Join(c.err, c.node.Close())
		}
		c.err = errors.Join(c.err, c.store.Close())
		c.metrics.unregister()
	})
	return c.err
}

// State returns the newest state. It is never nil and must not be changed. Before Ready it may be older than what was agreed on.
func (c *Controller) State() *state.State { return c.fsm.current.Load() }

// Changed returns a channel that is closed at the next change of State. Take it before reading State, or a change is missed.
func (c *Controller) Changed() <-chan struct{} { return c.fsm.watch() }

// Ready returns a channel that is closed once changes are accepted.
func (c *Controller) Ready() <-chan struct{} { return c.ready }

// ClusterID returns the id of the cluster. It is known from Open on.
func (c *Controller) ClusterID() string { return c.id.ClusterID }

// ServerID returns the id of this node's data directory.
func (c *Controller) ServerID() string { return c.id.ServerID }

// NodeID returns the number of this node.
func (c *Controller) NodeID() int32 { return c.id.NodeID }

// Leading reports whether this node leads the controller group.
func (c *Controller) Leading() bool { return c.raft.State() == raft.Leader }
