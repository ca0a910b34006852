package peer

import (
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/transport"
)

// Faults say what happens to messages in memory. The zero value loses nothing.
type Faults struct {
	Lose     float64       // part of the requests that are lost, and of the answers
	MaxDelay time.Duration // of each request and answer, evenly spread from 0
}

// Memory is a network of nodes in one process. Safe for concurrent use.
type Memory struct {
	// Watch is told of each request that arrives, before it is served; for invariants. Set before the first node.
	Watch func(from, to string)

	mu     sync.Mutex
	rng    *rand.Rand
	faults Faults
	nodes  map[raft.ServerID]*memoryNode
	cut    map[[2]raft.ServerID]bool // one way
}

// errLost is what a sender sees of a lost message once it has waited.
var errLost = errors.New("no answer")

// NewMemory returns a network whose chances follow from the seed.
func NewMemory(seed uint64) *Memory {
	return &Memory{rng: rand.New(rand.NewPCG(seed, 0)), nodes: map[raft.ServerID]*memoryNode{}, cut: map[[2]raft.ServerID]bool{}}
}

// SetFaults changes what happens to messages from now on.
func (m *Memory) SetFaults(f Faults) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = f
}

// Cut stops or lets through what one node sends to another.
func (m *Memory) Cut(from, to string, off bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut[[2]raft.ServerID{raft.ServerID(from), raft.ServerID(to)}] = off
}

// Node returns a node's network. A second call with the same name is the node's next start: messages to the one before are lost.
func (m *Memory) Node(name string) transport.Network {
	n := &memoryNode{net: m, done: make(chan struct{})}
	n.groups = newGroups(raft.ServerID(name), n)
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.nodes[n.self]; old != nil {
		close(old.done)
	}
	m.nodes[n.self] = n
	return n
}

// Kill loses what is sent to and from a node until Node is called again.
func (m *Memory) Kill(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.nodes[raft.ServerID(name)]; n != nil {
		close(n.done)
		delete(m.nodes, n.self)
	}
}

type memoryNode struct {
	*groups
	net  *Memory
	done chan struct{}
}

// pass decides about one message: the node that gets it, nil when it is lost, and after which time.
func (m *Memory) pass(from *memoryNode, to raft.ServerID) (*memoryNode, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nodes[to]
	lost := m.rng.Float64() < m.faults.Lose
	var delay time.Duration
	if m.faults.MaxDelay > 0 {
		delay = time.Duration(m.rng.Int64N(int64(m.faults.MaxDelay)))
	}
	if lost || n == nil || m.nodes[from.self] != from || m.cut[[2]raft.ServerID{from.self, to}] {
		return nil, delay
	}
	return n, delay
}

// travel carries a request there and its answer back.
func (n *memoryNode) travel(to raft.ServerID, wait time.Duration, serve func(at *memoryNode, done <-chan struct{}) ([]byte, error)) ([]byte, error) {
	at, there := n.net.pass(n, to)
	time.Sleep(there)
	if at == nil {
		select {
		case <-time.After(min(wait, lostWait)):
		case <-n.done:
		}
		return nil, errLost
	}
	if n.net.Watch != nil {
		n.net.Watch(string(n.self), string(to))
	}
	b, err := serve(at, at.done)
	back, delay := n.net.pass(at, n.self)
	time.Sleep(delay)
	if back != n {
		return nil, errLost
	}
	return b, err
}

// lostWait is how long a sender waits for the answer of a lost message; shorter than real ones, so that a simulation gets on.
const lostWait = 100 * time.Millisecond

// call implements sender. What is sent is copied, as a wire would.
func (n *memoryNode) call(to raft.ServerID, k kind, id transport.GroupID, wait time.Duration, pieces ...[]byte) ([]byte, error) {
	var body []byte
	for _, p := range pieces {
		body = append(body, p...)
	}
	return n.travel(to, wait, func(at *memoryNode, done <-chan struct{}) ([]byte, error) { return at.serve(n.self, k, id, body, done) })
}

// heartbeat implements sender.
func (n *memoryNode) heartbeat(to raft.ServerID, h beat, resp *raft.AppendEntriesResponse) error {
	b, err := n.call(to, kindHeartbeats, transport.GroupID{}, beatWait, appendBeats([]beat{h}))
	if err != nil {
		return err
	}
	list, err := parseBeatAnswers(b, 1)
	if err == nil && !list[0].known {
		err = errNotOpen
	}
	if err != nil {
		return err
	}
	*resp = list[0].resp
	return nil
}

// snapshot implements sender.
func (n *memoryNode) snapshot(to raft.ServerID, id transport.GroupID, q *raft.InstallSnapshotRequest, data io.Reader) ([]byte, error) {
	head := snapshotRequest(id, q)
	return n.travel(to, snapshotWait, func(at *memoryNode, done <-chan struct{}) ([]byte, error) {
		return at.serveSnapshot(n.self, head, data, done)
	})
}
