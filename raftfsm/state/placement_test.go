package state

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weir-analytics/weir/raftfsm/command"
)

// applied applies commands to a state.
func applied(t *testing.T, s *State, cmds ...command.Command) *State {
	t.Helper()
	for _, cmd := range cmds {
		next, _, err := s.Apply(cmd, time.UnixMilli(1))
		if err != nil {
			t.Fatalf("%T: %v", cmd, err)
		}
		s = next
	}
	return s
}

func joins(id int32) []command.Command {
	server := fmt.Sprint("s", id)
	return []command.Command{
		command.JoinNode{SecretHash: [32]byte{1}, ServerID: server, Peer: fmt.Sprint("10.0.0.", id, ":9094")},
		command.RegisterBroker{ID: id, ServerID: server, Host: fmt.Sprint("10.0.0.", id), Port: 9092, Peer: fmt.Sprint("10.0.0.", id, ":9094")},
	}
}

// founded is a cluster of one node with topics of the kinds there are.
func founded(t *testing.T) *State {
	return applied(t, New(),
		command.RegisterBroker{ID: 1, ServerID: "s1", Host: "10.0.0.1", Port: 9092, Peer: "10.0.0.1:9094"},
		command.AddJoinToken{SecretHash: [32]byte{1}, Expires: time.UnixMilli(100)},
		command.CreateTopic{Name: "__consumer_offsets", ID: [16]byte{1}, Partitions: 50, ReplicationFactor: -1},
		command.CreateTopic{Name: "auto", ID: [16]byte{2}, Partitions: 8, ReplicationFactor: -1},
		command.CreateTopic{Name: "one", ID: [16]byte{3}, Partitions: 2, ReplicationFactor: 1},
		command.OpenPartitions{TopicID: [16]byte{1}, Partitions: []int32{7}},
	)
}

func TestThreeNodesGetThreeCopiesAndTwoKeepOne(t *testing.T) {
	s := founded(t)
	if moves := s.Misplaced(); len(moves) > 0 {
		t.Errorf("one node: %v", moves)
	}
	s = applied(t, s, joins(2)...)
	if moves := s.Misplaced(); len(moves) > 0 {
		t.Errorf("two nodes: %v", moves)
	}
	s = applied(t, s, joins(3)...)
	s = applied(t, s, command.AssignReplicas{Moves: s.Misplaced()})
	if moves := s.Misplaced(); len(moves) > 0 {
		t.Errorf("placed, and still: %v", moves)
	}
	leads := map[int32]int{}
	for p := range int32(8) {
		at := s.PlacementOf(s.Topics["auto"], p)
		if len(at.Replicas) != 3 || !at.Moved {
			t.Errorf("partition %d: %+v", p, at)
		}
		leads[at.Replicas[0]]++
	}
	if leads[1] > 3 || leads[2] > 3 || leads[3] > 3 {
		t.Errorf("leaders of one topic: %v", leads)
	}
	if at := s.PlacementOf(s.Topics["one"], 0); !slices.Equal(at.Replicas, []int32{1}) || at.Moved {
		t.Errorf("one copy was asked for: %+v", at)
	}
	offsets := s.Topics["__consumer_offsets"]
	if open, closed := s.PlacementOf(offsets, 7), s.PlacementOf(offsets, 8); !open.Moved || closed.Moved {
		t.Errorf("a partition that has a group %+v, one that never had %+v", open, closed)
	}
	// A node goes for ever: nothing stays on it, and its number is not given again.
	s = applied(t, applied(t, s, joins(4)...), command.RemoveNode{ID: 2})
	s = applied(t, s, command.AssignReplicas{Moves: s.Misplaced()})
	for _, topic := range s.Topics {
		for p := range topic.Partitions {
			if at := s.PlacementOf(topic, p); slices.Contains(at.Replicas, 2) {
				t.Fatalf("partition %d of %s: %+v", p, topic.Name, at)
			}
		}
	}
	_, _, err := s.Apply(command.JoinNode{SecretHash: [32]byte{1}, NodeID: 2, ServerID: "new", Peer: "10.0.0.9:9094"}, time.UnixMilli(1))
	var inv ErrInvalid
	if !errors.As(err, &inv) || inv.Field != "node_id" {
		t.Errorf("the number of a removed node: %v", err)
	}
}

func TestANodeJoinsOnlyWithATokenThatHolds(t *testing.T) {
	s := founded(t)
	for name, c := range map[string]struct {
		cmd   command.JoinNode
		at    int64
		field string
	}{
		"unknown token":      {command.JoinNode{SecretHash: [32]byte{2}, ServerID: "x", Peer: "h:1"}, 1, "token"},
		"token that is over": {command.JoinNode{SecretHash: [32]byte{1}, ServerID: "x", Peer: "h:1"}, 100, "token"},
		"known number":       {command.JoinNode{SecretHash: [32]byte{1}, NodeID: 1, ServerID: "x", Peer: "h:1"}, 1, "node_id"},
		"known address":      {command.JoinNode{SecretHash: [32]byte{1}, ServerID: "x", Peer: "10.0.0.1:9094"}, 1, "peer"},
	} {
		_, _, err := s.Apply(c.cmd, time.UnixMilli(c.at))
		var inv ErrInvalid
		if !errors.As(err, &inv) || inv.Field != c.field {
			t.Errorf("%s: got %v, want a refusal of %s", name, err, c.field)
		}
	}
	s = applied(t, s, joins(2)...)
	s = applied(t, s, joins(2)...) // it asks again
	if len(s.Nodes) != 2 {
		t.Errorf("%d nodes", len(s.Nodes))
	}
}
