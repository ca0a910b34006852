package state

import "github.com/weir-analytics/weir/raftfsm/command"

func (s *State) initCluster(cmd command.InitCluster) (any, error) {
	if s.ClusterID != "" {
		return nil, exists("cluster", s.ClusterID)
	}
	if cmd.ClusterID == "" {
		return nil, invalid("cluster_id", "it is empty")
	}
	s.ClusterID, s.RouteKey, s.ImportKey = cmd.ClusterID, cmd.RouteKey, cmd.ImportKey
	return nil, nil
}

func (s *State) registerBroker(cmd command.RegisterBroker) (any, error) {
	if cmd.ID < 0 {
		return nil, invalid("node_id", "%d is negative", cmd.ID)
	}
	if cmd.Host == "" || cmd.Port < 1 || cmd.Port > 65535 {
		return nil, invalid("advertise", "%q port %d is no address that clients can dial", cmd.Host, cmd.Port)
	}
	for _, l := range cmd.Listeners {
		if l.Name == "" || l.Host == "" || l.Port < 1 || l.Port > 65535 {
			return nil, invalid("advertise", "listener %q at %q port %d is no address that clients can dial", l.Name, l.Host, l.Port)
		}
	}
	broker := Broker{ID: cmd.ID, ServerID: cmd.ServerID, Host: cmd.Host, Port: cmd.Port, Listeners: cmd.Listeners, Peer: cmd.Peer}
	for _, other := range s.Brokers {
		if other.ID != cmd.ID && other.Host == cmd.Host && other.Port == cmd.Port {
			return nil, invalid("advertise", "node %d is at %s port %d too: tell each node where its clients reach it with --kafka-advertise", other.ID, cmd.Host, cmd.Port)
		}
	}
	s.Brokers = with(s.Brokers, cmd.ID, broker)
	s.noteNode(broker)
	return broker, nil
}

// maxProducerIDs bounds one allocation. A broker takes 1000 at a time; the rest is slack.
const maxProducerIDs = 1 << 20

func (s *State) allocateProducerIDs(cmd command.AllocateProducerIDs) (any, error) {
	if cmd.Count < 1 || cmd.Count > maxProducerIDs {
		return nil, invalid("count", "%d producer ids, 1 to %d are allowed", cmd.Count, maxProducerIDs)
	}
	first := s.NextProducerID
	s.NextProducerID += cmd.Count
	return first, nil
}
