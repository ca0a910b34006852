package transport

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// ErrNoPeers is returned for every call to a peer by a network without any.
var ErrNoPeers = errors.New("this node has no peers")

// GroupID names a raft group on the wire.
type GroupID [20]byte

// Network gives each raft group of the node its link. Safe for concurrent use.
type Network interface {
	// Open returns the link of a group. A group has at most one open link.
	Open(id GroupID) (Group, error)
}

// Group is the link of one raft group. Close is called by raft when the group
// stops; after that the group may be opened again.
type Group interface {
	raft.Transport
	raft.WithPreVote
	raft.WithClose
	// ElectNow makes the local replica stand for election at once instead of
	// waiting for its timeout. Only right when it is the only voter. It
	// returns when raft has taken note or the link is closed.
	ElectNow()
	// Progress returns the last index that a peer's log was known to have when it last answered to entries, and when that was; the zero
	// time when it has not answered yet. The library tells nobody.
	Progress(id raft.ServerID) (lastIndex uint64, at time.Time)
	// Reaches says whether a peer has the group open: to a replica that is not there yet the library goes slower and slower.
	Reaches(id raft.ServerID) error
	// Withhold stops the heartbeats of the group, so that its followers elect another leader, for a leader whose disk does not answer: the
	// library goes on with heartbeats then.
	Withhold()
}

// Local is the network of a node without peers.
type Local struct {
	addr raft.ServerAddress

	mu   sync.Mutex
	open map[GroupID]bool
}

// NewLocal returns a network on which the node has the given address.
func NewLocal(addr raft.ServerAddress) *Local {
	return &Local{addr: addr, open: map[GroupID]bool{}}
}

// Open implements Network.
func (l *Local) Open(id GroupID) (Group, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[id] {
		return nil, fmt.Errorf("raft group %x is open already", id)
	}
	l.open[id] = true
	return &localGroup{net: l, id: id, rpc: make(chan raft.RPC), closed: make(chan struct{})}, nil
}

type localGroup struct {
	net    *Local
	id     GroupID
	rpc    chan raft.RPC
	once   sync.Once
	closed chan struct{}
}

// ElectNow implements Group.
func (g *localGroup) ElectNow() {
	answer := make(chan raft.RPCResponse, 1)
	select {
	case g.rpc <- raft.RPC{Command: &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}, RespChan: answer}:
	case <-g.closed:
	}
}

// Close implements raft.WithClose.
func (g *localGroup) Close() error {
	g.once.Do(func() {
		close(g.closed)
		g.net.mu.Lock()
		defer g.net.mu.Unlock()
		delete(g.net.open, g.id)
	})
	return nil
}

// Consumer implements raft.Transport.
func (g *localGroup) Consumer() <-chan raft.RPC { return g.rpc }

// LocalAddr implements raft.Transport.
func (g *localGroup) LocalAddr() raft.ServerAddress { return g.net.addr }

// AppendEntriesPipeline implements raft.Transport.
func (g *localGroup) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// AppendEntries implements raft.Transport.
func (g *localGroup) AppendEntries(raft.ServerID, raft.ServerAddress, *raft.AppendEntriesRequest, *raft.AppendEntriesResponse) error {
	return ErrNoPeers
}

// RequestVote implements raft.Transport.
func (g *localGroup) RequestVote(raft.ServerID, raft.ServerAddress, *raft.RequestVoteRequest, *raft.RequestVoteResponse) error {
	return ErrNoPeers
}

// RequestPreVote implements raft.WithPreVote.
func (g *localGroup) RequestPreVote(raft.ServerID, raft.ServerAddress, *raft.RequestPreVoteRequest, *raft.RequestPreVoteResponse) error {
	return ErrNoPeers
}

// InstallSnapshot implements raft.Transport.
func (g *localGroup) InstallSnapshot(raft.ServerID, raft.ServerAddress, *raft.InstallSnapshotRequest, *raft.InstallSnapshotResponse, io.Reader) error {
	return ErrNoPeers
}

// TimeoutNow implements raft.Transport.
func (g *localGroup) TimeoutNow(raft.ServerID, raft.ServerAddress, *raft.TimeoutNowRequest, *raft.TimeoutNowResponse) error {
	return ErrNoPeers
}

// EncodePeer implements raft.Transport.
func (g *localGroup) EncodePeer(_ raft.ServerID, addr raft.ServerAddress) []byte { return []byte(addr) }

// DecodePeer implements raft.Transport.
func (g *localGroup) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

// Progress implements Group.
func (g *localGroup) Progress(raft.ServerID) (uint64, time.Time) { return 0, time.Time{} }

// Reaches implements Group.
func (g *localGroup) Reaches(raft.ServerID) error { return ErrNoPeers }

// Withhold implements Group.
func (g *localGroup) Withhold() {}

// SetHeartbeatHandler implements raft.Transport; nobody sends heartbeats.
func (g *localGroup) SetHeartbeatHandler(func(raft.RPC)) {}
