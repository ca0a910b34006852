package state

import (
	"strings"
	"time"

	"github.com/weir-analytics/weir/raftfsm/command"
)

const (
	maxTopicName  = 249  // bytes, as in Kafka: leaves room for "-partition" in a directory name
	maxPartitions = 4096 // per topic; a guess far above what one cluster carries (see docs/architecture.md)
)

func (s *State) createTopic(cmd command.CreateTopic, now time.Time) (any, error) {
	if err := checkTopicName(cmd.Name); err != nil {
		return nil, err
	}
	if _, ok := s.Topics[cmd.Name]; ok {
		return nil, exists("topic", cmd.Name)
	}
	if cmd.Partitions < 1 || cmd.Partitions > maxPartitions {
		return nil, invalid("partitions", "%d, 1 to %d are allowed", cmd.Partitions, maxPartitions)
	}
	if cmd.ReplicationFactor != -1 && cmd.ReplicationFactor < 1 {
		return nil, invalid("replication_factor", "%d, allowed are -1 (automatic) or at least 1", cmd.ReplicationFactor)
	}
	if cmd.ID == ([16]byte{}) {
		return nil, invalid("id", "a topic needs an id")
	}
	placement, err := placements(cmd.Replicas, cmd.Partitions)
	if err != nil {
		return nil, err
	}
	if cmd.Replicas == nil {
		placement = nil
	}
	topic := Topic{
		Placement: placement,
		Name:      cmd.Name, ID: cmd.ID, Partitions: cmd.Partitions, ReplicationFactor: cmd.ReplicationFactor,
		Configs: cmd.Configs, Internal: cmd.Internal, CreatedAt: now,
	}
	s.Topics = with(s.Topics, cmd.Name, topic)
	return topic, nil
}

func (s *State) deleteTopic(cmd command.DeleteTopic) (any, error) {
	if _, ok := s.Topics[cmd.Name]; !ok {
		return nil, notFound("topic", cmd.Name)
	}
	s.Topics = without(s.Topics, cmd.Name)
	return nil, nil
}

func (s *State) setTopicConfigs(cmd command.SetTopicConfigs) (any, error) {
	topic, ok := s.Topics[cmd.Name]
	if !ok {
		return nil, notFound("topic", cmd.Name)
	}
	topic.Configs = cmd.Configs
	s.Topics = with(s.Topics, cmd.Name, topic)
	return topic, nil
}

func (s *State) addPartitions(cmd command.AddPartitions) (any, error) {
	topic, ok := s.Topics[cmd.Name]
	if !ok {
		return nil, notFound("topic", cmd.Name)
	}
	if cmd.Total <= topic.Partitions || cmd.Total > maxPartitions {
		return nil, invalid("partitions", "%d, the topic has %d and %d are the most: partitions are only added", cmd.Total, topic.Partitions, maxPartitions)
	}
	added, err := placements(cmd.Replicas, cmd.Total-topic.Partitions)
	if err != nil {
		return nil, err
	}
	if cmd.Replicas != nil || len(topic.Placement) > 0 {
		list := make([]Placement, topic.Partitions, cmd.Total)
		copy(list, topic.Placement)
		topic.Placement = append(list, added...)
	}
	topic.Partitions = cmd.Total
	s.Topics = with(s.Topics, cmd.Name, topic)
	return topic, nil
}

func checkTopicName(name string) error {
	const allowed = "letters, digits, '.', '_' and '-' are allowed"
	switch {
	case name == "" || name == "." || name == "..":
		return invalid("name", "%q is no topic name: %s", name, allowed)
	case len(name) > maxTopicName:
		return invalid("name", "%d bytes, at most %d are allowed", len(name), maxTopicName)
	}
	bad := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}
	if i := strings.IndexFunc(name, bad); i >= 0 {
		return invalid("name", "%q is no topic name: %s", name, allowed)
	}
	return nil
}
