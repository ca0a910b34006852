package broker

import (
	"cmp"
	"slices"

	"github.com/weir-analytics/weir/broker/api"
)

// ClusterStatus is how the nodes and the partitions are, as this node sees them.
type ClusterStatus struct {
	ClusterID  string       `json:"cluster_id"`
	Controller int32        `json:"controller"` // node that takes changes, -1 when it is not known
	Nodes      []NodeStatus `json:"nodes"`
	Partitions int          `json:"partitions"` // those that are open
	Leaderless int          `json:"leaderless"` // no node is known to lead them
	Lagging    int          `json:"lagging"`    // fewer nodes are in step than are to have them
}

// NodeStatus is one node.
type NodeStatus struct {
	ID       int32  `json:"id"`
	Peer     string `json:"peer"`  // where other nodes reach it
	Kafka    string `json:"kafka"` // where clients reach it; empty: it has not been seen at work yet
	Replicas int    `json:"replicas"`
	Leads    int    `json:"leads"`
	Lagging  int    `json:"lagging"` // of its replicas
}

// Cluster says how the cluster is.
func (b *Broker) Cluster() ClusterStatus {
	s := b.ctl.State()
	out := ClusterStatus{ClusterID: s.ClusterID, Controller: b.ctl.Leader(), Nodes: []NodeStatus{}}
	at := map[int32]*NodeStatus{}
	for _, n := range s.Nodes {
		at[n.ID] = &NodeStatus{ID: n.ID, Peer: n.Peer}
		if br, ok := s.Brokers[n.ID]; ok {
			at[n.ID].Kafka = hostPort(br.Host, br.Port)
		}
	}
	for _, p := range b.partitions() {
		if p.Phase() == api.Closed {
			continue
		}
		out.Partitions++
		leader, _, _ := p.Leader()
		all, inSync := p.Replicas()
		if leader < 0 {
			out.Leaderless++
		}
		lagging := false
		for _, id := range all {
			n := at[id]
			if n == nil {
				lagging = true
				continue
			}
			n.Replicas++
			if !slices.Contains(inSync, id) {
				n.Lagging++
				lagging = true
			}
			if id == leader {
				n.Leads++
			}
		}
		if lagging {
			out.Lagging++
		}
	}
	for _, n := range at {
		out.Nodes = append(out.Nodes, *n)
	}
	slices.SortFunc(out.Nodes, func(a, b NodeStatus) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
