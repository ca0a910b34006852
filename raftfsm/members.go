package raftfsm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/peer"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/raftfsm/transport"
)

const (
	// maxVoters is how many nodes decide; all others follow. Three can lose one.
	maxVoters = 3
	// duesEvery is how often the leader looks at who is a member and where partitions are, beside every change of the state.
	duesEvery = time.Second
	// learnedWithin is how fresh the answer must be by which a follower counts as having caught up.
	learnedWithin = 5 * time.Second
	// memberWait bounds one change of the controller's members.
	memberWait = 10 * time.Second
)

// Peers is how other nodes are reached. Its groups and calls work from Open to Close.
func (c *Controller) Peers() transport.Peers { return c.peers }

// PeerAddress is where other nodes are told to reach this one, empty when it has no peer port.
func (c *Controller) PeerAddress() string {
	if c.node == nil {
		return ""
	}
	return c.node.Advertised()
}

// AllowJoins lets nodes join that have a token. It is called once what this node had before it had peers is known to the cluster.
func (c *Controller) AllowJoins(ctx context.Context) error {
	if c.node == nil {
		return nil
	}
	dir := filepath.Join(c.cfg.DataDir, peerDir)
	if c.cfg.Peers.Own == nil {
		a, found, err := peer.Founded(dir)
		if err != nil {
			return fmt.Errorf("read the cluster's authority: %w", err)
		}
		if found {
			_, err := change[any](ctx, c, command.SetAuthority{Cert: a.Cert, Key: a.Key})
			if err != nil && !errors.Is(err, state.ErrExists) {
				return fmt.Errorf("make the cluster's authority known: %w", err)
			}
			if err := peer.HandedOver(dir); err != nil {
				return fmt.Errorf("remove the key of the cluster's authority: %w", err)
			}
		}
	}
	c.node.HandleJoins(c.admit)
	return nil
}

// AddJoinToken makes a token with which nodes may join for so long.
func (c *Controller) AddJoinToken(ctx context.Context, holds time.Duration) (peer.Token, error) {
	if c.node == nil {
		return peer.Token{}, invalid("peer", "this node has no port for other nodes: start it with --peer HOST:PORT")
	}
	t := peer.NewToken(c.keys.CAHash())
	_, err := change[any](ctx, c, command.AddJoinToken{SecretHash: sha256.Sum256(t.Secret[:]), Expires: c.cfg.Now().Add(holds).UTC().Truncate(time.Millisecond)})
	return t, err
}

// RemoveNode ends the membership of a node.
func (c *Controller) RemoveNode(ctx context.Context, id int32) error {
	_, err := change[any](ctx, c, command.RemoveNode{ID: id})
	return err
}

// OpenPartitions notes that partitions of a topic that opens them when they are needed are open.
func (c *Controller) OpenPartitions(ctx context.Context, topic [16]byte, partitions []int32) error {
	_, err := change[any](ctx, c, command.OpenPartitions{TopicID: topic, Partitions: partitions})
	return err
}

// admit takes a node in.
func (c *Controller) admit(ctx context.Context, q peer.JoinRequest) (a peer.JoinAnswer, err error) {
	n, err := change[state.Node](ctx, c, command.JoinNode{SecretHash: sha256.Sum256(q.Secret), NodeID: q.NodeID, ServerID: q.Server, Peer: q.Address})
	if errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOutcomeUnknown) {
		return a, fmt.Errorf("%w: %w", peer.ErrTryAgain, err)
	}
	if err != nil {
		return a, err
	}
	s := c.State()
	a = peer.JoinAnswer{Cluster: c.id.ClusterID, NodeID: n.ID, Addresses: addresses(s)}
	if c.cfg.Peers.Own != nil {
		return a, nil
	}
	if s.Authority == nil {
		return a, fmt.Errorf("the cluster has no authority of its own yet: %w", peer.ErrTryAgain)
	}
	authority := peer.Authority{Cert: s.Authority.Cert, Key: s.Authority.Key}
	a.CA = authority.Cert
	a.Cert, err = authority.Issue(q.Request, q.Server, c.cfg.Now())
	return a, err
}

func addresses(s *state.State) map[string]string {
	all := map[string]string{}
	for _, n := range s.Nodes {
		if n.Peer != "" {
			all[n.ServerID] = n.Peer
		}
	}
	return all
}

// followAddresses keeps the addresses of peers in step with the state, and in a file for the next start.
func (c *Controller) followAddresses(ctx context.Context) {
	if c.node == nil {
		return
	}
	known, _ := loadBook(c.cfg.DataDir) // read before
	for {
		changed := c.Changed()
		if now := addresses(c.State()); len(now) > 0 && !maps.Equal(now, known) {
			c.node.SetAddresses(now)
			if err := saveBook(c.cfg.DataDir, now); err != nil {
				c.cfg.Log.Error("the addresses of peers are not kept: after a restart this node may not find them", "err", err)
			}
			known = now
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// dues does what the leader owes the cluster: the members of this group, then the places of partitions.
func (c *Controller) dues(ctx context.Context) error {
	if !c.Leading() || c.node == nil {
		return nil
	}
	if err := c.tendMembers(); err != nil {
		return err
	}
	moves := c.State().Misplaced()
	for part := range slices.Chunk(moves, movesAtOnce) {
		if _, err := change[any](ctx, c, command.AssignReplicas{Moves: part}); err != nil {
			return fmt.Errorf("place partitions: %w", err)
		}
		c.cfg.Log.Info("partitions get another place", "partitions", len(part))
	}
	return nil
}

// movesAtOnce bounds one command: it stays far below the size of any.
const movesAtOnce = 500

// tendMembers takes one step towards a group of all nodes of which the first few vote.
func (c *Controller) tendMembers() error {
	future := c.raft.GetConfiguration()
	if err := future.Error(); err != nil {
		return err
	}
	now, at := future.Configuration(), future.Index()
	s := c.State()
	known := map[raft.ServerID]state.Node{}
	for _, n := range s.Nodes {
		known[raft.ServerID(n.ServerID)] = n
	}
	have, voters := map[raft.ServerID]bool{}, 0
	for _, m := range now.Servers {
		have[m.ID] = true
		if m.Suffrage == raft.Voter {
			voters++
		}
	}
	for id := range known { // learners first
		if !have[id] {
			return c.changeMembers("take a node into the controller", c.raft.AddNonvoter(id, raft.ServerAddress(id), at, memberWait))
		}
	}
	for _, m := range now.Servers { // who was removed goes
		if _, member := known[m.ID]; member {
			continue
		}
		if string(m.ID) == c.id.ServerID {
			if len(known) == 0 { // nobody has registered yet
				continue
			}
			return c.raft.LeadershipTransfer().Error()
		}
		return c.changeMembers("take a node out of the controller", c.raft.RemoveServer(m.ID, at, memberWait))
	}
	if len(known) < maxVoters || voters >= maxVoters {
		return nil // two voters are worse than one: either of them gone, nothing is decided
	}
	var ready []raft.Server // in order of their numbers
	for _, n := range slices.SortedFunc(maps.Values(known), func(a, b state.Node) int { return int(a.ID) - int(b.ID) }) {
		i := slices.IndexFunc(now.Servers, func(m raft.Server) bool { return string(m.ID) == n.ServerID })
		_, registered := s.Brokers[n.ID] // else it has not been seen at work yet
		if now.Servers[i].Suffrage != raft.Voter && registered && c.caughtUp(now.Servers[i].ID) {
			ready = append(ready, now.Servers[i])
		}
	}
	if voters+len(ready) < maxVoters {
		return nil
	}
	return c.changeMembers("let a node vote in the controller", c.raft.AddVoter(ready[0].ID, ready[0].Address, at, memberWait))
}

func (c *Controller) caughtUp(id raft.ServerID) bool {
	last, at := c.link.Progress(id)
	return time.Since(at) < learnedWithin && last+8 >= c.raft.LastIndex()
}

func (c *Controller) changeMembers(what string, future raft.IndexFuture) error {
	if err := future.Error(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	c.cfg.Log.Info(what)
	return nil
}

// handOver gives the leadership of the controller to another node, before this one stops. It does nothing when there is none that could take
// it.
func (c *Controller) handOver() {
	if c.node == nil || !c.Leading() || c.alone() {
		return
	}
	if err := c.raft.LeadershipTransfer().Error(); err != nil {
		c.cfg.Log.Debug("the controller is not handed over", "err", err)
	}
}
