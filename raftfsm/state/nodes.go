package state

import (
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/weir-analytics/weir/raftfsm/command"
)

// Node is a member of the cluster.
type Node struct {
	ID       int32  `json:"id"`
	ServerID string `json:"server_id"` // of its data
	Peer     string `json:"peer"`      // HOST:PORT for other nodes; empty while the cluster is of one node without a peer port
}

// Authority is what vouches for the nodes, in PEM. Key is a secret.
type Authority struct {
	Cert []byte `json:"cert"`
	Key  []byte `json:"key"`
}

// NodeOf returns the member with that server id.
func (s *State) NodeOf(server string) (Node, bool) {
	for _, n := range s.Nodes {
		if n.ServerID == server {
			return n, true
		}
	}
	return Node{}, false
}

// noteNode keeps the member that a broker is. The first broker of all is the founder.
func (s *State) noteNode(b Broker) {
	if s.Founder == 0 {
		s.Founder = b.ID
	}
	if old, known := s.Nodes[b.ID]; known && old.ServerID != b.ServerID || !known && b.ID != s.Founder {
		return
	}
	s.Nodes = with(s.Nodes, b.ID, Node{ID: b.ID, ServerID: b.ServerID, Peer: b.Peer})
}

func (s *State) setAuthority(cmd command.SetAuthority) (any, error) {
	if s.Authority != nil {
		return nil, exists("authority of cluster", s.ClusterID)
	}
	if len(cmd.Cert) == 0 || len(cmd.Key) == 0 {
		return nil, invalid("authority", "certificate or key is missing")
	}
	s.Authority = &Authority{Cert: cmd.Cert, Key: cmd.Key}
	return nil, nil
}

// maxJoinTokens bounds those that hold at the same time. A guess; one is enough for any number of nodes.
const maxJoinTokens = 100

func (s *State) addJoinToken(cmd command.AddJoinToken, now time.Time) (any, error) {
	if !cmd.Expires.After(now) {
		return nil, invalid("expires", "%s is over", cmd.Expires.Format(time.RFC3339))
	}
	tokens := maps.Clone(s.JoinTokens)
	maps.DeleteFunc(tokens, func(_ string, expires time.Time) bool { return !expires.After(now) })
	if len(tokens) >= maxJoinTokens {
		return nil, invalid("expires", "%d tokens hold at the same time, which is the most", maxJoinTokens)
	}
	s.JoinTokens = with(tokens, hex.EncodeToString(cmd.SecretHash[:]), cmd.Expires)
	return nil, nil
}

func (s *State) joinNode(cmd command.JoinNode, now time.Time) (any, error) {
	if expires := s.JoinTokens[hex.EncodeToString(cmd.SecretHash[:])]; !expires.After(now) {
		return nil, invalid("token", "it is not known or over; make another with: weir cluster token")
	}
	if cmd.ServerID == "" || cmd.Peer == "" {
		return nil, invalid("peer", "a node needs a server id and an address where the others reach it")
	}
	if known, ok := s.NodeOf(cmd.ServerID); ok { // it asks again, since it did not hear the answer
		if cmd.NodeID != 0 && cmd.NodeID != known.ID {
			return nil, invalid("node_id", "%d, this data is node %d already", cmd.NodeID, known.ID)
		}
		known.Peer = cmd.Peer
		s.Nodes = with(s.Nodes, known.ID, known)
		return known, nil
	}
	for _, n := range s.Nodes {
		if n.Peer == cmd.Peer {
			return nil, invalid("peer", "node %d is at %s, with other data: restore its data directory, or end its membership with: weir cluster remove %d", n.ID, n.Peer, n.ID)
		}
	}
	id := cmd.NodeID
	if id == 0 {
		id = 1
		for s.usedNode(id) {
			id++
		}
	}
	if n, used := s.Nodes[id]; used {
		return nil, invalid("node_id", "node %d is a member with other data, at %s: restore its data directory, choose another number, or end its membership with: weir cluster remove %d", id, n.Peer, id)
	}
	if id < 1 || s.usedNode(id) {
		return nil, invalid("node_id", "%d was used before; choose another number", id)
	}
	node := Node{ID: id, ServerID: cmd.ServerID, Peer: cmd.Peer}
	s.Nodes = with(s.Nodes, id, node)
	return node, nil
}

func (s *State) usedNode(id int32) bool {
	_, member := s.Nodes[id]
	_, broker := s.Brokers[id]
	return member || broker || slices.Contains(s.RetiredNodes, id)
}

func (s *State) removeNode(cmd command.RemoveNode) (any, error) {
	if _, ok := s.Nodes[cmd.ID]; !ok {
		return nil, notFound("node", strconv.Itoa(int(cmd.ID)))
	}
	if len(s.Nodes) == 1 {
		return nil, invalid("node", "node %d is the only one", cmd.ID)
	}
	s.Nodes, s.Brokers = without(s.Nodes, cmd.ID), without(s.Brokers, cmd.ID)
	s.RetiredNodes = append(slices.Clone(s.RetiredNodes), cmd.ID)
	slices.Sort(s.RetiredNodes)
	return nil, nil
}
