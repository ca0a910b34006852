package group

import "github.com/twmb/franz-go/pkg/kmsg"

// consumerProtocol is the protocol type under which members say, in a layout that is known, which topics they read.
const consumerProtocol = "consumer"

// subscriptions returns the topics that any member reads; ok is false when that can't be known.
func (g *group) subscriptions() (topics map[string]bool, ok bool) {
	if g.protocolType != consumerProtocol {
		return nil, false
	}
	topics = map[string]bool{}
	for _, m := range g.order {
		var s kmsg.ConsumerMemberMetadata
		if err := s.ReadFrom(m.metadata(g.protocol)); err != nil {
			return nil, false
		}
		for _, t := range s.Topics {
			topics[t] = true
		}
	}
	return topics, true
}

// subscribed says whether a member reads the topic, or might.
func (g *group) subscribed(topic string) bool {
	topics, ok := g.subscriptions()
	if !ok {
		return g.protocolType == consumerProtocol && len(g.members) > 0
	}
	return topics[topic]
}
