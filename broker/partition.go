package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/raftfsm/hardstate"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// engine is one open replica, as broker/replica has it.
type engine interface {
	Append(ctx context.Context, batch []byte) api.Pending
	AppendVerified(ctx context.Context, batch []byte, since int64) api.Pending
	AppendMarker(ctx context.Context, m replica.Marker) error
	Leader() (nodeID, epoch int32, serving bool)
	LogStart() int64
	HighWatermark() int64
	LastStableOffset() int64
	Read(offset int64, maxBytes int) ([]byte, error)
	ReadBelow(offset int64, maxBytes int, limit int64) ([]byte, error)
	AbortedIn(from, to int64) ([]replica.Aborted, error)
	OpenTxn(producerID int64, epoch int16) bool
	Producers() []replica.ProducerInfo
	NextSequence(producerID int64, epoch int16) int32
	Changed() <-chan struct{}
	OffsetForTime(ms int64) (offset, timestampMs int64, ok bool, err error)
	MaxTimestamp() (offset, timestampMs int64, ok bool, err error)
	EpochEnd(epoch int32) (foundEpoch int32, endOffset int64)
	// Membership, and what a leader does with it, are as in broker/replica.
	Membership() replica.Membership
	AddLearner(server string, at uint64) error
	Promote(server string, at uint64) error
	RemoveMember(server string, at uint64) error
	CaughtUp(server string) bool
	HandOver(server string) error
	// Watch steps in when it leads and stands still.
	Watch(now time.Time)
	SetLogStart(ctx context.Context, offset int64) (int64, error)
	SizeBytes() int64
	Received() replica.Received
	CountStored(from, to int64) (records, bytes int64, err error)
	// Reconfigure applies settings of the topic that may change while it is open.
	Reconfigure(api.TopicConfig) error
	// Err says why it has stopped by itself, nil while it runs.
	Err() error
	// Readable says that it can be read although it has stopped.
	Readable() bool
	// Stop stops it as a failed write does.
	Stop(cause error)
	// Writable tries whether the disk takes writes where the replica lives.
	Writable() error
	// Damage says what the first reader that met damaged records has found, nil while none did.
	Damage() error
	Close() error
}

// engineSpec says which replica to open and how.
type engineSpec struct {
	Topic     state.Topic
	Partition int32
	Config    api.TopicConfig
	Members   []replica.Member // of a group that begins now; nil: this node alone
	Join      bool             // the group is or was elsewhere: it is not begun here
}

// partition is one partition on this node: closed, being opened, open or failed. It implements api.Partition.
type partition struct {
	spec   engineSpec
	nodeID int32
	opener func(engineSpec) (engine, error)
	wanted func(*partition) // called when a client asks for a closed partition
	moved  func()           // called when the partition starts or stops to serve
	log    *slog.Logger
	told   func(hardstate.GroupID) (node int32, said ledElsewhere, ok bool) // what another node says that leads it
	nodeOf func(server string) int32

	replicas atomic.Pointer[[]int32] // nodes that are to have it; the first one should lead
	tending  atomic.Bool             // a step with its members is under way
	ledSince atomic.Int64            // since when this node has led it without a break, Unix ns; 0: it does not

	engine atomic.Pointer[engineBox] // nil until open

	ending sync.Mutex // held while it is closed or leaves

	mu       sync.Mutex // guards what follows
	phase    api.Phase
	started  bool
	closed   bool
	err      error         // why it failed
	settled  chan struct{} // closed when the first opening has ended, well or not
	watchers map[chan<- struct{}]struct{}
	follows  sync.WaitGroup
	stop     chan struct{}
}

// engineBox lets an interface be held by an atomic pointer.
type engineBox struct{ engine }

// newPartition returns a partition in phase Opening, which its owner starts, or Closed, which is started when it is needed.
func (b *Broker) newPartition(spec engineSpec, phase api.Phase) *partition {
	return &partition{
		spec: spec, nodeID: b.cfg.NodeID, opener: b.engines.open, moved: b.partitionMoved, log: b.log,
		wanted: func(p *partition) { go b.start(p) }, nodeOf: b.cfg.nodeOf,
		told:  func(id hardstate.GroupID) (int32, ledElsewhere, bool) { return b.leaders.find(id, time.Now()) },
		phase: phase, settled: make(chan struct{}), stop: make(chan struct{}),
		watchers: make(map[chan<- struct{}]struct{}),
	}
}

// start opens the partition unless that was done before, and returns when it is open or failed. Errors are kept in err.
func (p *partition) start() error {
	p.mu.Lock()
	if p.started || p.closed {
		p.mu.Unlock()
		<-p.settled
		return p.failure()
	}
	p.started, p.phase = true, api.Opening
	spec := p.spec
	p.mu.Unlock()
	p.moved()

	err := p.openEngine(spec)
	p.follows.Add(1)
	go p.keepOpen()
	close(p.settled)
	return err
}

// openEngine opens the replica and lets it be used. Errors are kept in err.
func (p *partition) openEngine(spec engineSpec) error {
	e, err := p.opener(spec)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if !p.closed {
			p.phase = api.Failed
		}
		p.err = fmt.Errorf("open partition %d of %s: %w", p.spec.Partition, p.spec.Topic.Name, err)
		return p.err
	}
	if p.spec.Config != spec.Config { // changed while it was being opened
		p.apply(e, p.spec.Config)
	}
	p.err = nil
	if !p.closed {
		p.phase = api.Opening
	}
	p.engine.Store(&engineBox{e})
	return nil
}

func (p *partition) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// trouble is why the partition does not serve, or what of it can't be read.
func (p *partition) trouble() error {
	if err := p.failure(); err != nil {
		return err
	}
	if e := p.engine.Load(); e != nil {
		if err := e.Damage(); err != nil {
			return fmt.Errorf("records of partition %d of %s are damaged: %w", p.spec.Partition, p.spec.Topic.Name, err)
		}
	}
	return nil
}

// follow passes on what changes in the replica: to fetches that wait, and to everyone when it starts or stops to serve. It returns true
// when the replica has stopped by itself and false when the partition is closed.
func (p *partition) follow(e engine) (stopped bool) {
	epoch, serving := int32(-1), false
	for {
		changed := e.Changed()
		err := e.Err()
		_, nowEpoch, nowServing := e.Leader()
		if nowServing != serving || nowEpoch != epoch || err != nil {
			epoch, serving = nowEpoch, nowServing
			p.setServing(serving, err)
			p.moved()
		}
		p.wakeAll()
		if err != nil {
			return true
		}
		select {
		case <-changed:
		case <-p.stop:
			return false
		}
	}
}

func (p *partition) setServing(serving bool, stopped error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
	case stopped != nil:
		p.phase, p.err = api.Failed, fmt.Errorf("partition %d of %s has stopped: %w", p.spec.Partition, p.spec.Topic.Name, stopped)
	case serving:
		p.phase = api.Serving
	case p.phase == api.Serving:
		p.phase = api.Opening
	}
}

func (p *partition) wakeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.watchers {
		select {
		case w <- struct{}{}:
		default: // it has one wake-up waiting, which covers this one
		}
	}
}

// reconfigure applies changed settings of the topic.
func (p *partition) reconfigure(c api.TopicConfig) {
	p.mu.Lock()
	p.spec.Config = c
	p.mu.Unlock()
	if e := p.engine.Load(); e != nil {
		p.apply(e, c)
	}
}

func (p *partition) apply(e engine, c api.TopicConfig) {
	if err := e.Reconfigure(c); err != nil {
		p.log.Error("settings of a topic do not hold until the next start", "topic", p.spec.Topic.Name, "partition", p.spec.Partition, "err", err)
	}
}

// close closes the replica, which then has everything on disk. Reads and appends answer replica.ErrNotReady from here on.
func (p *partition) close() error {
	p.ending.Lock()
	defer p.ending.Unlock()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	started := p.started
	p.phase = api.Gone
	p.mu.Unlock()
	if !started {
		close(p.settled)
		return nil
	}
	<-p.settled
	close(p.stop)
	p.follows.Wait()
	box := p.engine.Swap(nil)
	p.wakeAll()
	if box == nil {
		return nil
	}
	return box.Close()
}

// leave closes the replica because its group goes on elsewhere, and removes what it has. The partition stays, and may be opened again.
func (p *partition) leave(remove func() error) {
	p.ending.Lock()
	defer p.ending.Unlock()
	p.mu.Lock()
	if p.closed || !p.started {
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	<-p.settled
	close(p.stop)
	p.follows.Wait()
	var err error
	if box := p.engine.Swap(nil); box != nil {
		err = box.Close()
	}
	if err = errors.Join(err, remove()); err != nil {
		p.log.Warn("remove a replica that was moved away", "topic", p.spec.Topic.Name, "partition", p.spec.Partition, "err", err)
	}
	p.mu.Lock()
	p.started, p.phase, p.err = false, api.Opening, nil
	p.settled, p.stop = make(chan struct{}), make(chan struct{})
	p.mu.Unlock()
	p.wakeAll()
	p.moved()
}

// errClosed is the answer of a partition that is not open.
func (p *partition) errClosed() error {
	if err := p.failure(); err != nil {
		return fmt.Errorf("%w: %w", replica.ErrStopped, err)
	}
	return fmt.Errorf("partition %d of %s: %w", p.spec.Partition, p.spec.Topic.Name, replica.ErrNotReady)
}

func (p *partition) Append(ctx context.Context, batch []byte) api.Pending {
	if e := p.engine.Load(); e != nil {
		return e.Append(ctx, batch)
	}
	return refused{p.errClosed()}
}

func (p *partition) AppendVerified(ctx context.Context, batch []byte, since int64) api.Pending {
	if e := p.engine.Load(); e != nil {
		return e.AppendVerified(ctx, batch, since)
	}
	return refused{p.errClosed()}
}

func (p *partition) AppendMarker(ctx context.Context, m replica.Marker) error {
	if e := p.engine.Load(); e != nil {
		return e.AppendMarker(ctx, m)
	}
	return p.errClosed()
}

// refused is the Pending of an append that was not taken.
type refused struct{ err error }

var closedChan = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (r refused) Done() <-chan struct{}             { return closedChan }
func (r refused) Result() (replica.Appended, error) { return replica.Appended{}, r.err }

// Leader names this node for a partition that opens when it is asked for, and for one that takes no writes and can be read.
func (p *partition) Leader() (nodeID, epoch int32, serving bool) {
	nodeID, epoch = -1, -1
	if e := p.engine.Load(); e != nil {
		nodeID, epoch, serving = e.Leader()
		switch {
		case serving:
			return nodeID, epoch, true
		case e.Readable():
			return p.nodeID, epoch, true
		}
	}
	if node, said, ok := p.elsewhere(); ok && node != p.nodeID && (nodeID == -1 || said.Epoch >= epoch) {
		return node, said.Epoch, false
	}
	if nodeID == -1 && p.stored() == api.Closed {
		all, _ := p.Replicas()
		return all[0], -1, false
	}
	return nodeID, epoch, false
}

// Replicas implements api.Partition. Who is in sync is what the leader says; until one does, nobody is known to lag.
func (p *partition) Replicas() (all, inSync []int32) {
	all = *p.replicas.Load()
	if box := p.engine.Load(); box != nil {
		if _, _, serving := box.Leader(); serving && p.nodeOf != nil {
			_, inSync = p.followers(box)
			return all, inSync
		}
	}
	if _, said, ok := p.elsewhere(); ok {
		return all, said.InSync
	}
	return all, all
}

// elsewhere is what another node says that leads the partition.
func (p *partition) elsewhere() (node int32, said ledElsewhere, ok bool) {
	if p.told == nil {
		return -1, said, false
	}
	return p.told(p.spec.group())
}

// followers are the nodes in the group that this node leads, and those that have almost all of its log.
func (p *partition) followers(e engine) (all, inSync []int32) {
	m := e.Membership()
	inSync = []int32{p.nodeID}
	for i, server := range append(m.Voters, m.Learners...) {
		node := p.nodeID
		if p.nodeOf != nil {
			node = p.nodeOf(server)
		}
		if node < 0 {
			continue
		}
		all = append(all, node)
		if node != p.nodeID && i < len(m.Voters) && e.CaughtUp(server) {
			inSync = append(inSync, node)
		}
	}
	return all, inSync
}

func (p *partition) Phase() api.Phase {
	phase := p.stored()
	if phase == api.Opening || phase == api.Failed {
		if leader, _, serving := p.Leader(); !serving && leader >= 0 && leader != p.nodeID {
			return api.Following
		}
	}
	return phase
}

// stored is the phase without a look at who leads.
func (p *partition) stored() api.Phase {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.phase
}

func (p *partition) Open() {
	if p.stored() == api.Closed {
		p.wanted(p)
	}
}

func (p *partition) LogStart() int64 {
	if e := p.engine.Load(); e != nil {
		return e.LogStart()
	}
	return -1
}

func (p *partition) HighWatermark() int64 {
	if e := p.engine.Load(); e != nil {
		return e.HighWatermark()
	}
	return -1
}

func (p *partition) LastStableOffset() int64 {
	if e := p.engine.Load(); e != nil {
		return e.LastStableOffset()
	}
	return -1
}

func (p *partition) Read(offset int64, maxBytes int) ([]byte, error) {
	if e := p.engine.Load(); e != nil {
		return e.Read(offset, maxBytes)
	}
	return nil, p.errClosed()
}

func (p *partition) ReadBelow(offset int64, maxBytes int, limit int64) ([]byte, error) {
	if e := p.engine.Load(); e != nil {
		return e.ReadBelow(offset, maxBytes, limit)
	}
	return nil, p.errClosed()
}

func (p *partition) AbortedIn(from, to int64) ([]replica.Aborted, error) {
	if e := p.engine.Load(); e != nil {
		return e.AbortedIn(from, to)
	}
	return nil, p.errClosed()
}

func (p *partition) OpenTxn(producerID int64, epoch int16) bool {
	if e := p.engine.Load(); e != nil {
		return e.OpenTxn(producerID, epoch)
	}
	return false
}

func (p *partition) Producers() []replica.ProducerInfo {
	if e := p.engine.Load(); e != nil {
		return e.Producers()
	}
	return nil
}

func (p *partition) NextSequence(producerID int64, epoch int16) int32 {
	if e := p.engine.Load(); e != nil {
		return e.NextSequence(producerID, epoch)
	}
	return 0
}

func (p *partition) OffsetForTime(ms int64) (int64, int64, bool, error) {
	if e := p.engine.Load(); e != nil {
		return e.OffsetForTime(ms)
	}
	return -1, -1, false, p.errClosed()
}

func (p *partition) MaxTimestamp() (int64, int64, bool, error) {
	if e := p.engine.Load(); e != nil {
		return e.MaxTimestamp()
	}
	return -1, -1, false, p.errClosed()
}

func (p *partition) EpochEnd(epoch int32) (int32, int64) {
	if e := p.engine.Load(); e != nil {
		return e.EpochEnd(epoch)
	}
	return -1, -1
}

func (p *partition) SetLogStart(ctx context.Context, offset int64) (int64, error) {
	if e := p.engine.Load(); e != nil {
		return e.SetLogStart(ctx, offset)
	}
	return -1, p.errClosed()
}

func (p *partition) SizeBytes() int64 {
	if e := p.engine.Load(); e != nil {
		return e.SizeBytes()
	}
	return 0
}

func (p *partition) Watch(wake chan<- struct{}) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers[wake] = struct{}{}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watchers, wake)
	}
}
