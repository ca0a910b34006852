package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/transport"
)

// Config is what a Node is opened with.
type Config struct {
	ClusterID string
	ServerID  string
	Listener  net.Listener // of TCP; the Node closes it
	Advertise string       // HOST:PORT where peers reach it
	Keys      *Keys
	// Admit answers nodes that want to join; nil: none may.
	Admit func(ctx context.Context, q JoinRequest) (JoinAnswer, error)
	Log   *slog.Logger
}

// Node is this node among its peers. It is safe for concurrent use.
type Node struct {
	*groups
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	served sync.WaitGroup

	mu        sync.Mutex // guards what follows
	addresses map[string]string
	links     map[string]*link
	handlers  map[transport.Service]transport.Handler
	streams   func(from string, nc net.Conn)
	admit     func(ctx context.Context, q JoinRequest) (JoinAnswer, error)
	inbound   map[net.Conn]struct{}
}

var _ transport.Peers = (*Node)(nil)

// Open returns a node that answers nobody before Run. Groups may be opened at once.
func Open(cfg Config) *Node {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	n := &Node{
		cfg: cfg, addresses: map[string]string{}, links: map[string]*link{},
		handlers: map[transport.Service]transport.Handler{}, inbound: map[net.Conn]struct{}{}, admit: cfg.Admit,
	}
	n.groups = newGroups(raft.ServerID(cfg.ServerID), n)
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// Addr is where the node listens.
func (n *Node) Addr() net.Addr { return n.cfg.Listener.Addr() }

// Advertised is where peers are told to reach it.
func (n *Node) Advertised() string { return n.cfg.Advertise }

// HandleJoins sets who answers nodes that want to join.
func (n *Node) HandleJoins(admit func(ctx context.Context, q JoinRequest) (JoinAnswer, error)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.admit = admit
}

// Handle implements transport.Peers.
func (n *Node) Handle(s transport.Service, h transport.Handler) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.handlers[s] = h
}

// HandleStreams implements transport.Peers.
func (n *Node) HandleStreams(take func(from string, nc net.Conn)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.streams = take
}

// SetAddresses implements transport.Peers.
func (n *Node) SetAddresses(addresses map[string]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses = maps.Clone(addresses)
	delete(n.addresses, n.cfg.ServerID)
}

// Known implements transport.Peers.
func (n *Node) Known() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.addresses))
}

// learn notes where a peer says that it is: it may have moved while it could tell nobody.
func (n *Node) learn(server, address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, member := n.addresses[server]; member && address != "" {
		n.addresses[server] = address
	}
}

func (n *Node) link(to string) *link {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.links[to]
	if l == nil {
		l = &link{node: n, to: to}
		l.lanes[0], l.lanes[1] = lane{link: l, use: useControl}, lane{link: l, use: useBulk}
		n.links[to] = l
	}
	return l
}

// dial opens a connection to a peer, each side having shown who it is.
func (n *Node) dial(ctx context.Context, to string, u use) (net.Conn, error) {
	n.mu.Lock()
	address := n.addresses[to]
	n.mu.Unlock()
	if address == "" {
		return nil, fmt.Errorf("no address is known of peer %s", to)
	}
	ctx, cancel := context.WithTimeout(ctx, helloWait)
	defer cancel()
	bare, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	nc := tls.Client(bare, n.cfg.Keys.client(to, address))
	err = nc.HandshakeContext(ctx)
	var h hello
	if err == nil {
		err = nc.SetDeadline(time.Now().Add(helloWait))
	}
	if err == nil {
		err = writeHello(nc, hello{Use: u, Cluster: n.cfg.ClusterID, Server: n.cfg.ServerID, Address: n.cfg.Advertise})
	}
	if err == nil {
		h, err = readHello(nc)
	}
	if err == nil && h.Server != to {
		err = fmt.Errorf("%s is another node, server %s", address, h.Server)
	}
	if err == nil {
		err = nc.SetDeadline(time.Time{})
	}
	if err != nil {
		bare.Close()
		return nil, fmt.Errorf("greet the peer at %s: %w", address, err)
	}
	return nc, nil
}

// Greet opens a connection to every peer that is known, so that those learn where this node is.
func (n *Node) Greet() {
	for _, to := range n.Known() {
		go n.link(to).lanes[0].get()
	}
}

// Call implements transport.Peers.
func (n *Node) Call(ctx context.Context, to string, s transport.Service, body []byte) ([]byte, error) {
	wait := callWait
	if deadline, ok := ctx.Deadline(); ok {
		wait = time.Until(deadline)
	}
	c, err := n.link(to).lane(len(body)).get()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", transport.ErrNotSent, err)
	}
	return c.ask(kindCall, transport.GroupID{}, wait, ctx.Done(), []byte{byte(s)}, body)
}

// callWait bounds calls whose context has no deadline.
const callWait = 30 * time.Second

// Stream implements transport.Peers.
func (n *Node) Stream(ctx context.Context, to string) (net.Conn, error) {
	return n.dial(ctx, to, useStream)
}

// call implements sender.
func (n *Node) call(to raft.ServerID, k kind, id transport.GroupID, wait time.Duration, pieces ...[]byte) ([]byte, error) {
	c, err := n.link(string(to)).lane(sizeOf(pieces)).get()
	if err != nil {
		return nil, err
	}
	return c.ask(k, id, wait, n.ctx.Done(), pieces...)
}

// heartbeat implements sender.
func (n *Node) heartbeat(to raft.ServerID, h beat, resp *raft.AppendEntriesResponse) error {
	return n.link(string(to)).beats.add(n.link(string(to)), h, resp)
}

// snapshot implements sender.
func (n *Node) snapshot(to raft.ServerID, id transport.GroupID, q *raft.InstallSnapshotRequest, data io.Reader) ([]byte, error) {
	nc, err := n.dial(n.ctx, string(to), useSnapshot)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	stop := context.AfterFunc(n.ctx, func() { nc.Close() })
	defer stop()
	head := snapshotRequest(id, q)
	c := newConn(nc)
	if err := c.send(kindCall, 0, id, head); err != nil {
		return nil, err
	}
	if err := copySlowly(nc, io.LimitReader(data, q.Size)); err != nil {
		return nil, fmt.Errorf("send a snapshot: %w", err)
	}
	return readSnapshotAnswer(nc)
}

// Run answers peers until ctx ends.
func (n *Node) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { n.cfg.Listener.Close() })
	defer stop()
	pause := 5 * time.Millisecond
	for {
		nc, err := n.cfg.Listener.Accept()
		switch {
		case err == nil:
			pause = 5 * time.Millisecond
			n.served.Go(func() { n.receive(nc) })
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil
		default: // out of file descriptors, most likely
			n.cfg.Log.Warn("accept a connection of a peer", "err", err, "retry_in", pause)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return nil
			}
			pause = min(2*pause, time.Second)
		}
	}
}

// Close ends all connections. It is called once groups are closed, after Run or instead of it.
func (n *Node) Close() error {
	n.cancel()
	err := n.cfg.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	n.mu.Lock()
	links := slices.Collect(maps.Values(n.links))
	for nc := range n.inbound {
		nc.Close()
	}
	n.mu.Unlock()
	for _, l := range links {
		l.close()
	}
	n.served.Wait()
	return err
}
