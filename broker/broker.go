package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/broker/meter"
	"github.com/weir-analytics/weir/broker/txn"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/raftfsm/transport"
)

// Controller is what the broker needs of the cluster state. raftfsm.Controller is one.
type Controller interface {
	api.AccessStore           // State is one of its methods
	Changed() <-chan struct{} // closed at the next change of State; taken before State
	Ready() <-chan struct{}   // closed once State is what the cluster agreed on
	CreateTopic(ctx context.Context, spec state.TopicSpec) (state.Topic, error)
	DeleteTopic(ctx context.Context, name string) error
	AddPartitions(ctx context.Context, name string, total int32) error
	SetTopicConfigs(ctx context.Context, name string, configs map[string]string) error
	AllocateProducerIDs(ctx context.Context, n int64) (first int64, err error)
	// OpenPartitions notes that partitions of a coordinator's topic are open from now on, on all nodes that have them.
	OpenPartitions(ctx context.Context, topic [16]byte, partitions []int32) error
	// Leader is the number of the node that takes changes of the state, -1 when it is not known.
	Leader() int32
}

// Broker is the log of one node. Its methods may be called from any goroutine.
type Broker struct {
	cfg       Config
	ctl       Controller
	engines   engineStore
	listeners []wire.Listener
	server    *wire.Server
	groups    *group.Coordinator
	txns      *txn.Coordinator
	meter     *meter.Meter
	metrics   *metrics
	log       *slog.Logger

	view    atomic.Pointer[api.View]
	version uint64 // of the state that view shows; only follow uses it
	changed broadcast
	leaders leaders

	ready     chan struct{}
	readyOnce sync.Once
}

// Open binds the Kafka listeners and opens no partition yet: connections wait until Run has done so.
func Open(cfg Config, ctl Controller) (*Broker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.nodeOf = func(server string) int32 {
		if n, ok := ctl.State().NodeOf(server); ok {
			return n.ID
		}
		return -1
	}
	engines, err := openEngines(cfg)
	if err != nil {
		return nil, err
	}
	b, err := open(cfg, ctl, engines)
	if err != nil {
		return nil, errors.Join(err, engines.Close())
	}
	return b, nil
}

// engineStore opens and removes the engines of partitions.
type engineStore interface {
	open(spec engineSpec) (engine, error)
	// holds says whether the partition was opened before: it is found again then, or is missed.
	holds(spec engineSpec) bool
	// dirOf names the data directory where the partition is, or must be; empty when that can't be said.
	dirOf(spec engineSpec) string
	// sizeOf is the size in bytes of a partition that is not open, as far as that can be found out.
	sizeOf(spec engineSpec) int64
	// nameTopic and removeTopic look after a topic's files. The partitions are closed before they are removed.
	nameTopic(t state.Topic) error
	removeTopic(t state.Topic, partitions []engineSpec) error
	// removePartition deletes the files of one closed partition, and its votes.
	removePartition(spec engineSpec) error
	// sweep finishes removals that a crash cut short.
	sweep(s *state.State)
	// logDirs says how the data directories are.
	logDirs() []logDir
	// watch calls failed when a data directory can't be used any more, until ctx ends.
	watch(ctx context.Context, failed func(dir string, err error)) error
	// Close is called after all engines are closed.
	Close() error
}

// open is Open over any engines. It closes them only when the broker is closed.
func open(cfg Config, ctl Controller, engines engineStore) (*Broker, error) {
	b := &Broker{cfg: cfg, ctl: ctl, engines: engines, log: cfg.Log, ready: make(chan struct{})}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.view.Store(&api.View{NodeID: cfg.NodeID})
	b.metrics = newMetrics(cfg.Registry, b)
	if err := b.openServer(); err != nil {
		return nil, err
	}
	if err := b.listen(); err != nil {
		return nil, err
	}
	return b, nil
}

// listen binds all listeners or none.
func (b *Broker) listen() error {
	for _, l := range b.cfg.Listeners {
		bound, err := net.Listen("tcp", l.Addr)
		if err != nil {
			b.unlisten()
			return fmt.Errorf("listen for Kafka clients on %s (choose another address with --kafka): %w", l.Addr, err)
		}
		b.listeners = append(b.listeners, wire.Listener{Listener: bound, Name: l.Name, TLS: l.TLS, Login: l.Login})
	}
	return nil
}

func (b *Broker) unlisten() {
	for _, l := range b.listeners {
		l.Close()
	}
}

// openServer puts coordinators, handlers and wire together.
func (b *Broker) openServer() error {
	cfg := b.cfg
	cfg.Group.NodeID, cfg.Group.Log, cfg.Group.Registry = cfg.NodeID, b.log, cfg.Registry
	cfg.Group.Partitions, cfg.Group.Topics = offsetsOf(b), topicNames{b}
	var err error
	if b.groups, err = group.New(cfg.Group); err != nil {
		return fmt.Errorf("consumer groups: %w", err)
	}
	cfg.Txn.NodeID, cfg.Txn.Log, cfg.Txn.Registry = cfg.NodeID, b.log, cfg.Registry
	cfg.Txn.Partitions, cfg.Txn.Topics, cfg.Txn.Markers = stateOf(b), txnTopics{b}, markers{b}
	cfg.Txn.GroupPartition, cfg.Txn.AllocateProducerIDs = b.groupPartition, b.ctl.AllocateProducerIDs
	if b.txns, err = txn.New(cfg.Txn); err != nil {
		return fmt.Errorf("transactions: %w", err)
	}
	b.meter = meter.New(meter.Config{Log: received{b}, Registry: cfg.Registry, Logger: b.log})
	cfg.API.Transactions = verifying{b}
	cfg.API.FixedPartitions, cfg.API.Log, cfg.API.Registry = cfg.FixedPartitions, b.log, cfg.Registry
	handler, err := api.New(cfg.API, backend{b}, b.groups, b.txns)
	if err != nil {
		return fmt.Errorf("kafka requests: %w", err)
	}
	cfg.Wire.Log, cfg.Wire.Registry = b.log, cfg.Registry
	if b.server, err = wire.Open(cfg.Wire, handler); err != nil {
		return fmt.Errorf("kafka connections: %w", err)
	}
	return nil
}

// Run opens the partitions, then serves until ctx ends or something fails for good. Connections stay until Close.
func (b *Broker) Run(ctx context.Context) error {
	select {
	case <-b.ctl.Ready():
	case <-ctx.Done():
		return nil
	}
	b.engines.sweep(b.ctl.State())
	parent := ctx
	g, ctx := errgroup.WithContext(ctx)
	if b.clustered() {
		b.serveOthers()
		b.cfg.Peers.HandleStreams(b.takeStream)
		g.Go(func() error { return b.tell(ctx) })
		g.Go(func() error { return b.tend(ctx) })
	}
	g.Go(func() error { return b.engines.watch(ctx, b.stopDir) })
	g.Go(func() error { return b.follow(ctx) })
	g.Go(func() error { return b.groups.Run(ctx) })
	g.Go(func() error { return b.txns.Run(ctx) })
	g.Go(func() error { return b.meter.Run(ctx) })
	for _, l := range b.listeners {
		g.Go(func() error {
			select {
			case <-b.ready:
				return b.server.Serve(ctx, l)
			case <-ctx.Done():
				return nil
			}
		})
	}
	err := g.Wait()
	if b.clustered() && parent.Err() != nil {
		b.handOver()
	}
	return err
}

// clustered says whether there can be other nodes.
func (b *Broker) clustered() bool {
	_, alone := b.cfg.Peers.(*transport.Local)
	return !alone && b.cfg.Peers != nil
}

// takeStream serves the Kafka protocol to another node, as to this one itself.
func (b *Broker) takeStream(from string, nc net.Conn) {
	if err := b.server.Take(nc); err != nil {
		b.log.Debug("refuse a connection of another node", "peer", from, "err", err)
	}
}

// Ready is closed once every partition that the cluster state names is open or has failed, and clients are served.
func (b *Broker) Ready() <-chan struct{} { return b.ready }

// Addr is where Kafka clients are listened for, at the first listener.
func (b *Broker) Addr() net.Addr { return b.listeners[0].Addr() }

// Addrs is where Kafka clients are listened for, in the order of Config.Listeners.
func (b *Broker) Addrs() []net.Addr {
	var addrs []net.Addr
	for _, l := range b.listeners {
		addrs = append(addrs, l.Addr())
	}
	return addrs
}

// Close answers what is under way, then closes all partitions, which have everything on disk when it returns. It is called after Run
// has returned.
func (b *Broker) Close() error {
	b.unlisten()
	errs := []error{b.server.Close()}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, t := range b.view.Load().Topics {
		for _, p := range t.Partitions {
			wg.Go(func() {
				if err := p.(*partition).close(); err != nil {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
				}
			})
		}
	}
	wg.Wait()
	return errors.Join(append(errs, b.engines.Close())...)
}

// partitionMoved tells all who wait for a view that a partition serves or does not any more.
func (b *Broker) partitionMoved() {
	b.changed.wake()
	b.groups.Wake()
	b.txns.Wake()
}

// broadcast is a channel that is closed and replaced at each change.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
