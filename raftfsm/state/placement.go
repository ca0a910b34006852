package state

import (
	"cmp"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/weir-analytics/weir/raftfsm/command"
)

// autoReplicas is how many copies a topic with the automatic replication factor has once there are that many nodes. Two nodes make no majority
// without each other, so that with two nodes there is one copy.
const autoReplicas = 3

// Placement is where one partition is to be.
type Placement struct {
	// Replicas are numbers of nodes, none twice. The first one should lead.
	Replicas []int32 `json:"replicas"`
	// Moved says that the nodes are not those of the beginning: a node that has no log of the partition then waits for it, where in the
	// beginning all of them form its group.
	Moved bool `json:"moved,omitempty"`
	// Open is set when a partition of a topic that OpensWhenNeeded is first needed.
	Open bool `json:"open,omitempty"`
}

// OpensWhenNeeded names the topics of coordinators: most of their partitions are never used.
func OpensWhenNeeded(topic string) bool {
	return topic == "__consumer_offsets" || topic == "__transaction_state"
}

// PlacementOf returns where a partition is to be.
func (s *State) PlacementOf(t Topic, partition int32) Placement {
	var p Placement
	if int(partition) < len(t.Placement) {
		p = t.Placement[partition]
	}
	if len(p.Replicas) == 0 {
		p.Replicas = []int32{s.Founder}
	}
	return p
}

// placements checks what a command says of new partitions.
func placements(replicas [][]int32, count int32) ([]Placement, error) {
	if len(replicas) == 0 {
		return make([]Placement, count), nil
	}
	if len(replicas) != int(count) {
		return nil, invalid("replicas", "of %d partitions, there are %d", len(replicas), count)
	}
	list := make([]Placement, count)
	for i, r := range replicas {
		if err := checkReplicas(r); err != nil {
			return nil, err
		}
		list[i].Replicas = r
	}
	return list, nil
}

func checkReplicas(list []int32) error {
	if len(list) == 0 {
		return invalid("replicas", "a partition needs a node")
	}
	for i, id := range list {
		if id < 1 || slices.Contains(list[:i], id) {
			return invalid("replicas", "%v, want numbers of nodes, none twice", list)
		}
	}
	return nil
}

func (s *State) assignReplicas(cmd command.AssignReplicas) (any, error) {
	topics := maps.Clone(s.Topics)
	for _, m := range cmd.Moves {
		name, ok := s.topicByID(m.TopicID)
		t := topics[name]
		if !ok || m.Partition < 0 || m.Partition >= t.Partitions {
			return nil, notFound("partition of topic", hex.EncodeToString(m.TopicID[:]))
		}
		if err := checkReplicas(m.Replicas); err != nil {
			return nil, err
		}
		for _, id := range m.Replicas {
			if _, ok := s.Nodes[id]; !ok {
				return nil, invalid("replicas", "there is no node %d", id)
			}
		}
		before := s.PlacementOf(t, m.Partition)
		same := slices.Equal(slices.Sorted(slices.Values(before.Replicas)), slices.Sorted(slices.Values(m.Replicas)))
		formed := before.Open || !OpensWhenNeeded(name)
		t.place(m.Partition, Placement{Replicas: m.Replicas, Moved: before.Moved || formed && !same, Open: before.Open})
		topics[name] = t
	}
	s.Topics = topics
	return nil, nil
}

// place replaces where a partition is to be, in a copy of the list.
func (t *Topic) place(partition int32, p Placement) {
	list := make([]Placement, t.Partitions)
	copy(list, t.Placement)
	list[partition] = p
	t.Placement = list
}

func (s *State) openPartitions(cmd command.OpenPartitions) (any, error) {
	name, ok := s.topicByID(cmd.TopicID)
	if !ok {
		return nil, notFound("topic", hex.EncodeToString(cmd.TopicID[:]))
	}
	t := s.Topics[name]
	for _, n := range cmd.Partitions {
		if n < 0 || n >= t.Partitions {
			return nil, invalid("partitions", "%d, topic %s has %d", n, name, t.Partitions)
		}
		var p Placement // of the founder, unless something else is said
		if int(n) < len(t.Placement) {
			p = t.Placement[n]
		}
		p.Open = true
		t.place(n, p)
	}
	s.Topics = with(s.Topics, name, t)
	return nil, nil
}

func (s *State) topicByID(id [16]byte) (string, bool) {
	for name, t := range s.Topics {
		if t.ID == id {
			return name, true
		}
	}
	return "", false
}

// load counts what nodes have, to put the next thing where there is least.
type load struct {
	nodes          []int32 // registered members, in order
	replicas, lead map[int32]int
	topic          map[int32]int // lead, in the topic that is placed now: most of another one may never be open
}

func (s *State) load() *load {
	l := &load{replicas: map[int32]int{}, lead: map[int32]int{}, topic: map[int32]int{}}
	for id := range s.Nodes {
		if _, registered := s.Brokers[id]; registered {
			l.nodes = append(l.nodes, id)
		}
	}
	slices.Sort(l.nodes)
	for _, t := range s.Topics {
		for p := range t.Partitions {
			l.add(s.PlacementOf(t, p).Replicas, 1)
		}
	}
	return l
}

func (l *load) add(replicas []int32, by int) {
	for i, id := range replicas {
		l.replicas[id] += by
		if i == 0 {
			l.lead[id] += by
			l.topic[id] += by
		}
	}
}

// place returns count nodes, those of keep first, with the one in front that should lead least.
func (l *load) place(keep []int32, count int) []int32 {
	list := slices.Clone(keep)
	for len(list) < min(count, len(l.nodes)) {
		var rest []int32
		for _, id := range l.nodes {
			if !slices.Contains(list, id) {
				rest = append(rest, id)
			}
		}
		if len(rest) == 0 {
			break
		}
		list = append(list, slices.MinFunc(rest, func(a, b int32) int {
			return cmp.Or(cmp.Compare(l.replicas[a], l.replicas[b]), cmp.Compare(l.lead[a], l.lead[b]), cmp.Compare(a, b))
		}))
	}
	slices.SortStableFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(l.topic[a], l.topic[b]), cmp.Compare(l.lead[a], l.lead[b]))
	})
	l.add(list, 1)
	return list
}

// copies is how many replicas each partition of a topic should have now.
func (l *load) copies(factor int16) int {
	switch {
	case factor > 0:
		return int(factor)
	case len(l.nodes) >= autoReplicas:
		return autoReplicas
	}
	return 1
}

// PlaceNew chooses nodes for so many partitions that are added to a topic with that replication factor. nil leaves them to the founder, as in
// a cluster of one node.
func (s *State) PlaceNew(factor int16, partitions int32) [][]int32 {
	l := s.load()
	if len(l.nodes) == 0 || len(l.nodes) == 1 && l.nodes[0] == s.Founder {
		return nil
	}
	var out [][]int32
	clear(l.topic)
	for range partitions {
		out = append(out, l.place(nil, l.copies(factor)))
	}
	return out
}

// Misplaced returns where partitions are to be that have too few replicas, or some on nodes that are no members any more.
func (s *State) Misplaced() []command.Move {
	l := s.load()
	if len(l.nodes) == 0 || len(s.Nodes) == 1 && l.nodes[0] == s.Founder {
		return nil
	}
	var moves []command.Move
	for _, name := range slices.Sorted(maps.Keys(s.Topics)) {
		t := s.Topics[name]
		clear(l.topic)
		for p := range t.Partitions {
			l.topic[s.PlacementOf(t, p).Replicas[0]]++
		}
		for p := range t.Partitions {
			now := s.PlacementOf(t, p).Replicas
			var keep []int32
			for _, id := range now {
				if _, member := s.Nodes[id]; member {
					keep = append(keep, id)
				}
			}
			want := max(min(l.copies(t.ReplicationFactor), len(l.nodes)), 1)
			if len(keep) == len(now) && len(keep) >= want {
				continue
			}
			l.add(now, -1)
			moves = append(moves, command.Move{TopicID: t.ID, Partition: p, Replicas: l.place(keep, max(want, len(keep)))})
		}
	}
	return moves
}
