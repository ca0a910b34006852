package peer

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/transport"
)

// errClosed is returned for what was under way when a group or a node was closed.
var errClosed = errors.New("the link of the raft group is closed")

// errWithheld is what the leader of a group that was told to withhold its heartbeats gets.
var errWithheld = errors.New("heartbeats are withheld, so that another node takes over")

const (
	// appendBytes bounds what one request to append carries, but for one entry that is larger. A guess: some 10 ms of a disk.
	appendBytes = 2 << 20
	// voteWait bounds a request for a vote, appendWait one that the peer's disk has to answer.
	voteWait   = 2 * time.Second
	appendWait = 10 * time.Second
)

// sender carries messages of groups to a peer and brings its answer.
type sender interface {
	call(to raft.ServerID, k kind, id transport.GroupID, wait time.Duration, pieces ...[]byte) ([]byte, error)
	heartbeat(to raft.ServerID, h beat, resp *raft.AppendEntriesResponse) error
	snapshot(to raft.ServerID, id transport.GroupID, q *raft.InstallSnapshotRequest, data io.Reader) ([]byte, error)
}

// groups are the open raft groups of a node, whose server id is also its address: where that is the network knows.
type groups struct {
	self raft.ServerID
	out  sender

	mu   sync.Mutex
	open map[transport.GroupID]*group
}

func newGroups(self raft.ServerID, out sender) *groups {
	return &groups{self: self, out: out, open: map[transport.GroupID]*group{}}
}

// Open implements transport.Network.
func (n *groups) Open(id transport.GroupID) (transport.Group, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open[id] != nil {
		return nil, fmt.Errorf("raft group %x is open already", id)
	}
	g := &group{net: n, id: id, rpc: make(chan raft.RPC), closed: make(chan struct{}), progress: map[raft.ServerID]progress{}}
	n.open[id] = g
	return g, nil
}

func (n *groups) find(id transport.GroupID) *group {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open[id]
}

// group is the link of one raft group.
type group struct {
	net      *groups
	id       transport.GroupID
	rpc      chan raft.RPC
	once     sync.Once
	closed   chan struct{}
	withheld atomic.Bool
	beats    atomic.Pointer[func(raft.RPC)]

	mu       sync.Mutex
	progress map[raft.ServerID]progress
}

// progress is what a peer's log had when it answered.
type progress struct {
	last uint64
	at   time.Time
}

var _ transport.Group = (*group)(nil)

// AppendEntries implements raft.Transport. A request that is too large is cut: raft goes on from what it finds in args afterwards.
func (g *group) AppendEntries(id raft.ServerID, _ raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if g.withheld.Load() {
		return errWithheld
	}
	if isHeartbeat(args) {
		return g.net.out.heartbeat(id, beat{g.id, args.Term}, resp)
	}
	cut(args)
	b, err := g.net.out.call(id, kindAppend, g.id, appendWait, appendEntriesRequest(args)...)
	if err != nil {
		return err
	}
	if err := parseAppendEntriesResponse(b, resp); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.progress[id] = progress{resp.LastLog, time.Now()}
	return nil
}

// isHeartbeat tells raft's heartbeats as its own transport does.
func isHeartbeat(q *raft.AppendEntriesRequest) bool {
	return len(q.Entries) == 0 && q.PrevLogEntry == 0 && q.PrevLogTerm == 0 && q.LeaderCommitIndex == 0
}

func cut(q *raft.AppendEntriesRequest) {
	size := 0
	for i, e := range q.Entries {
		if size += len(e.Data); size > appendBytes && i > 0 {
			q.Entries = q.Entries[:i]
			return
		}
	}
}

// RequestVote implements raft.Transport.
func (g *group) RequestVote(id raft.ServerID, _ raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	b, err := g.net.out.call(id, kindVote, g.id, voteWait, voteRequest(args))
	if err == nil {
		resp.Term, resp.Granted, err = parseGranted(b)
		resp.RPCHeader = header(id)
	}
	return err
}

// RequestPreVote implements raft.WithPreVote.
func (g *group) RequestPreVote(id raft.ServerID, _ raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	b, err := g.net.out.call(id, kindPreVote, g.id, voteWait, preVoteRequest(args))
	if err == nil {
		resp.Term, resp.Granted, err = parseGranted(b)
		resp.RPCHeader = header(id)
	}
	return err
}

// InstallSnapshot implements raft.Transport.
func (g *group) InstallSnapshot(id raft.ServerID, _ raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	b, err := g.net.out.snapshot(id, g.id, args, data)
	if err == nil {
		resp.Term, resp.Success, err = parseGranted(b)
	}
	return err
}

// TimeoutNow implements raft.Transport.
func (g *group) TimeoutNow(id raft.ServerID, _ raft.ServerAddress, _ *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	_, err := g.net.out.call(id, kindTimeoutNow, g.id, voteWait)
	return err
}

// AppendEntriesPipeline implements raft.Transport.
func (g *group) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// Consumer implements raft.Transport.
func (g *group) Consumer() <-chan raft.RPC { return g.rpc }

// LocalAddr implements raft.Transport.
func (g *group) LocalAddr() raft.ServerAddress { return raft.ServerAddress(g.net.self) }

// EncodePeer implements raft.Transport.
func (g *group) EncodePeer(_ raft.ServerID, addr raft.ServerAddress) []byte { return []byte(addr) }

// DecodePeer implements raft.Transport.
func (g *group) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

// SetHeartbeatHandler implements raft.Transport.
func (g *group) SetHeartbeatHandler(handle func(raft.RPC)) { g.beats.Store(&handle) }

// Progress implements transport.Group.
func (g *group) Progress(id raft.ServerID) (uint64, time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.progress[id]
	return p.last, p.at
}

// Reaches implements transport.Group.
func (g *group) Reaches(id raft.ServerID) error {
	_, err := g.net.out.call(id, kindProbe, g.id, voteWait)
	return err
}

// Withhold implements transport.Group.
func (g *group) Withhold() { g.withheld.Store(true) }

// ElectNow implements transport.Group.
func (g *group) ElectNow() {
	answer := make(chan raft.RPCResponse, 1)
	select {
	case g.rpc <- raft.RPC{Command: &raft.TimeoutNowRequest{RPCHeader: header(g.net.self)}, RespChan: answer}:
	case <-g.closed:
	}
}

// Close implements raft.WithClose.
func (g *group) Close() error {
	g.once.Do(func() {
		close(g.closed)
		g.net.mu.Lock()
		defer g.net.mu.Unlock()
		delete(g.net.open, g.id)
	})
	return nil
}

func header(id raft.ServerID) raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(id), Addr: []byte(id)}
}

// deliver hands a request to the local replica and waits for its answer.
func (g *group) deliver(cmd any, data io.Reader, done <-chan struct{}) (any, error) {
	answer := make(chan raft.RPCResponse, 1)
	select {
	case g.rpc <- raft.RPC{Command: cmd, Reader: data, RespChan: answer}:
	case <-g.closed:
		return nil, errClosed
	case <-done:
		return nil, errClosed
	}
	select {
	case r := <-answer:
		return r.Response, r.Error
	case <-g.closed:
		return nil, errClosed
	case <-done:
		return nil, errClosed
	}
}
