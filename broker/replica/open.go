package replica

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sync/semaphore"

	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/raftlog"
	"github.com/weir-analytics/weir/raftfsm/hardstate"
	"github.com/weir-analytics/weir/raftfsm/transport"
)

const (
	// heartbeat and commit times are long: an idle group must cost next to
	// nothing, and a group of one voter does not wait for them to start.
	heartbeatTimeout = 2 * time.Second
	commitTimeout    = time.Second
	// clusteredTimeout is the same where silence means that a node is gone: after
	// one to two of it another one stands, so that within three seconds the
	// partition takes writes again.
	clusteredTimeout = 800 * time.Millisecond
	// maxAppendEntries bounds the entries of one sync. Measured with one voter
	// against 64: 1.4 times as many entries of 1 KiB, the same bytes of 64 KiB.
	// What is sent to a peer at once is bounded in bytes by the transport.
	maxAppendEntries = 256
	// clusteredEntries is the same where entries are sent to others: that many are
	// read for each request, of which the transport sends what fits.
	clusteredEntries = 64
	// never keeps raft from taking snapshots and deleting entries by itself.
	never = 365 * 24 * time.Hour
)

// Open opens the partition in its directory, or makes a new one, and starts its
// group. It returns before there is a leader: see Leader and Changed.
func Open(cfg Config) (*Replica, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	r := &Replica{
		cfg: cfg, overlay: overlay{}, waiting: map[*Pending]struct{}{},
		room:       semaphore.NewWeighted(cfg.QueueBytes),
		queue:      make(chan *Pending, queueEntries),
		inflight:   make(chan proposal, inflightEntries),
		keeperKick: make(chan struct{}, 1),
		watcher:    make(chan struct{}),
		completed:  make(chan struct{}),
		dead:       make(chan struct{}),
		notices:    make(chan bool, 16),
	}
	r.shutdown = sync.OnceValue(func() raft.Future { return r.running.Load().Shutdown() })
	r.settings.Store(&cfg.Settings)
	r.lead.Store(&leadership{nodeID: -1})
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.logs = &logStore{r: r}
	r.snaps = &snapshots{r: r}
	if err := r.open(); err != nil {
		r.cancel(err)
		return nil, fmt.Errorf("open partition %s-%d: %w", cfg.Topic, cfg.Partition, err)
	}
	return r, nil
}

func (r *Replica) open() (err error) {
	r.log, err = seglog.Open(seglog.Config{
		FS: r.cfg.FS, Dir: r.cfg.Dir, SegmentBytes: r.cfg.SegmentBytes, Shared: r.cfg.Shared, Now: r.cfg.Now,
		OnEvent: func(e seglog.Event) { r.report(Log{e}) },
	})
	if err != nil {
		return err
	}
	r.log.SetSegments(r.cfg.segments())
	defer func() {
		if err != nil {
			err = errors.Join(err, r.log.Close())
		}
	}()
	if err := r.loadState(); err != nil {
		return err
	}
	if err := r.checkHardState(); err != nil {
		return err
	}
	if r.link, err = r.cfg.Transport.Open(transport.GroupID(r.cfg.group())); err != nil {
		return err
	}
	if err := r.start(); err != nil {
		return errors.Join(err, r.link.Close())
	}
	return nil
}

// loadState loads the newest checkpoint that is whole, or the state at the log
// start, from where raft applies entries again.
func (r *Replica) loadState() error {
	b := r.log.Bounds()
	s, err := r.anchorState(b.Anchor)
	if err != nil {
		return err
	}
	list, err := listSaved(r.cfg.FS, r.cfg.Dir, ckptPrefix)
	if err != nil {
		return fmt.Errorf("list checkpoints: %w", err)
	}
	for _, index := range list {
		if index <= s.index {
			break
		}
		c, err := readSaved(r.cfg.FS, r.cfg.Dir, ckptPrefix, index, r.cfg.Now().UnixMilli())
		if errors.Is(err, ErrCorrupt) {
			r.cfg.Log.Warn("damaged checkpoint left out, more of the log is read instead", "err", err)
			continue
		}
		if err != nil {
			return err
		}
		if c.index > b.LastIndex || c.next > b.NextOffset {
			return fmt.Errorf("%w: offsets up to %d were acknowledged, the log ends at %d; restore the partition from a backup",
				ErrLostData, c.next, b.NextOffset)
		}
		s = c
		break
	}
	r.log.SetLogStart(s.logStart)
	if err := r.loadAborted(s); err != nil {
		return err
	}
	r.load(s)
	r.ckptIndex.Store(s.index)
	r.snaps.starting = s
	return nil
}

// loadAborted takes up the index of aborted transactions as the checkpoint has
// it, or makes it anew from the log.
func (r *Replica) loadAborted(s *saved) error {
	unusable, err := r.log.LoadAborted(s.aborted)
	if err != nil || unusable == nil {
		return err
	}
	from, err := r.anchorState(r.log.Bounds().Anchor)
	if err != nil {
		return err
	}
	st := stateOf(from)
	list, err := r.advance(&st, s.index)
	if err != nil {
		return fmt.Errorf("make the index of aborted transactions anew: %w", err)
	}
	r.log.ResetAborted(list)
	r.report(IndexRebuilt{Cause: unusable, Transactions: len(list)})
	return nil
}

// checkHardState compares what was voted with what is in the log: a replica
// that lost either must not go on as if it were the same.
func (r *Replica) checkHardState() error {
	st, known := r.cfg.HardState.Known(r.cfg.group())
	b := r.log.Bounds()
	switch {
	case b.LastIndex == 0 && known && st.VoteTerm > 0:
		return fmt.Errorf("%w: it has voted in term %d, but its log is empty; restore the partition from a backup", ErrLostData, st.VoteTerm)
	case uint64(b.LastTerm) > st.Term:
		return fmt.Errorf("%w: its log has term %d, but its votes are only known up to term %d; restore the hard state file",
			ErrLostData, b.LastTerm, st.Term)
	}
	return nil
}

func (r *Replica) raftConfig() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(r.cfg.ServerID)
	c.HeartbeatTimeout, c.ElectionTimeout = r.cfg.heartbeat, r.cfg.heartbeat
	c.LeaderLeaseTimeout, c.CommitTimeout = r.cfg.heartbeat*3/4, min(commitTimeout, r.cfg.heartbeat/2)
	c.MaxAppendEntries = maxAppendEntries
	if r.cfg.Clustered {
		c.MaxAppendEntries = clusteredEntries
	}
	c.BatchApplyCh = true
	c.ShutdownOnRemove = false
	c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = never, math.MaxUint64, math.MaxUint64
	c.NoSnapshotRestoreOnStart = true // the state is loaded already
	c.NoLegacyTelemetry = true
	c.NotifyCh = r.notices
	c.Logger = raftlog.New(r.cfg.Log)
	return c
}

// start bootstraps a new group and starts raft and our goroutines.
func (r *Replica) start() (err error) {
	conf := r.raftConfig()
	stable := stableStore{r.cfg.HardState.Group(r.cfg.group()), r.logs}
	if r.log.Bounds().LastIndex == 0 && !r.cfg.Join {
		if err := r.bootstrap(stable); err != nil {
			return fmt.Errorf("begin a new group: %w", err)
		}
	}
	sole, err := r.soleVoter()
	if err != nil {
		return err
	}
	r.logs.setSole(sole)
	alone, err := r.onlyVoter()
	if err != nil {
		return err
	}
	if r.raft, err = newRaft(conf, machine{r}, r.logs, stable, r.snaps, r.link); err != nil {
		return errors.Join(err, r.Err()) // raft hides the cause
	}
	r.snaps.started()
	r.running.Store(r.raft)
	if err := r.Err(); err != nil { // so early that fail could not do it
		return errors.Join(err, r.shutdown().Error())
	}
	go r.watchLeadership()
	r.wg.Go(r.appendLoop)
	r.wg.Go(r.keepLoop)
	r.wg.Go(r.cleanLoop)
	go r.completeLoop()
	if alone {
		r.link.ElectNow()
	}
	return nil
}

// bootstrap writes the first membership. Unlike the library's it can be done
// again when it was cut short.
func (r *Replica) bootstrap(stable raft.StableStore) error {
	if err := stable.SetUint64([]byte("CurrentTerm"), 1); err != nil {
		return err
	}
	return r.logs.StoreLog(&raft.Log{
		Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(r.firstMembers()),
	})
}

func newRaft(c *raft.Config, fsm machine, logs *logStore, stable stableStore, snaps *snapshots, link transport.Group) (r *raft.Raft, err error) {
	defer func() {
		if p := recover(); p != nil { // raft panics when it can't read an entry
			err = fmt.Errorf("start raft: %v", p)
		}
	}()
	logs.running.Store(false)
	r, err = raft.NewRaft(c, fsm, logs, stable, snaps, link)
	logs.running.Store(true)
	return r, err
}

func (r *Replica) firstMembers() raft.Configuration {
	var c raft.Configuration
	if len(r.cfg.Members) == 0 {
		c.Servers = []raft.Server{{Suffrage: raft.Voter, ID: raft.ServerID(r.cfg.ServerID), Address: r.link.LocalAddr()}}
	}
	for _, m := range r.cfg.Members {
		c.Servers = append(c.Servers, raft.Server{
			Suffrage: raft.Voter, ID: raft.ServerID(m.ServerID), Address: raft.ServerAddress(m.Address),
		})
	}
	return c
}

// soleVoter says whether the newest membership in the log is this node alone.
func (r *Replica) soleVoter() (bool, error) {
	b, index, err := r.log.ConfigAt(r.log.Bounds().LastIndex)
	if err != nil || index == 0 {
		return false, err
	}
	c := raft.DecodeConfiguration(b)
	return len(c.Servers) == 1 && c.Servers[0].ID == raft.ServerID(r.cfg.ServerID) && c.Servers[0].Suffrage == raft.Voter, nil
}

// onlyVoter says whether this node alone decides by the newest membership in the log, whoever else gets the log.
func (r *Replica) onlyVoter() (bool, error) {
	b, index, err := r.log.ConfigAt(r.log.Bounds().LastIndex)
	if err != nil || index == 0 {
		return false, err
	}
	voters, self := 0, false
	for _, s := range raft.DecodeConfiguration(b).Servers {
		if s.Suffrage == raft.Voter {
			voters++
			self = self || s.ID == raft.ServerID(r.cfg.ServerID)
		}
	}
	return self && voters == 1, nil
}

// Remove deletes everything a closed replica has stored: its directory and its
// votes.
func Remove(cfg Config) error {
	if err := cfg.complete(); err != nil {
		return err
	}
	if err := cfg.FS.RemoveAll(cfg.Dir); err != nil {
		return fmt.Errorf("remove partition %s-%d: %w", cfg.Topic, cfg.Partition, err)
	}
	if err := cfg.HardState.Forget(hardstate.PartitionGroup(cfg.TopicID, cfg.Partition)); err != nil {
		return fmt.Errorf("remove partition %s-%d: %w", cfg.Topic, cfg.Partition, err)
	}
	return nil
}
