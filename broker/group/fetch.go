package group

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// OffsetFetch answers committed offsets: -1 for a partition without one, also when there is no such group.
//
// Version 1 reports errors per partition only, 2 brings one for the whole answer and "all topics" (null), 5 the leader epoch,
// 8 several groups in one request, 10 topic ids, which need Config.Topics. The member and its epoch in version 9 belong to
// another group protocol and are not looked at. Version 7 may ask for stable offsets: a partition whose offset an open
// transaction may change is answered UNSTABLE_OFFSET_COMMIT.
func (c *Coordinator) OffsetFetch(ctx context.Context, req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	if req.Version >= 8 {
		resp.Groups = make([]kmsg.OffsetFetchResponseGroup, len(req.Groups))
		for i := range req.Groups {
			resp.Groups[i] = c.fetchGroup(ctx, req.Version, &req.Groups[i], req.RequireStable)
		}
		return resp
	}
	// The older form is the newer one with one group.
	one := kmsg.OffsetFetchRequestGroup{Group: req.Group}
	if req.Topics != nil {
		one.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, len(req.Topics))
	}
	for i, t := range req.Topics {
		one.Topics[i] = kmsg.OffsetFetchRequestGroupTopic{Topic: t.Topic, Partitions: t.Partitions}
	}
	g := c.fetchGroup(ctx, req.Version, &one, req.RequireStable)
	resp.ErrorCode = g.ErrorCode
	if g.ErrorCode != codeNone && req.Version < 2 {
		g.Topics = failedTopics(one.Topics, g.ErrorCode)
	}
	for _, t := range g.Topics {
		rt := kmsg.OffsetFetchResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, kmsg.OffsetFetchResponseTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, ErrorCode: p.ErrorCode,
			})
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// fetchGroup answers for one group. Topics nil means all that have offsets.
func (c *Coordinator) fetchGroup(ctx context.Context, version int16, req *kmsg.OffsetFetchRequestGroup, stable bool) kmsg.OffsetFetchResponseGroup {
	resp := kmsg.OffsetFetchResponseGroup{Group: req.Group}
	resp.ErrorCode = c.ask(ctx, req.Group, func(_ *shard, g *group, _ time.Time) int16 {
		if req.Topics == nil {
			resp.Topics = c.allOffsets(version, g, stable)
			return codeNone
		}
		for i := range req.Topics {
			resp.Topics = append(resp.Topics, c.topicOffsets(version, g, &req.Topics[i], stable))
		}
		return codeNone
	})
	if resp.ErrorCode != codeNone {
		resp.Topics = nil
	}
	return resp
}

func (c *Coordinator) topicOffsets(version int16, g *group, req *kmsg.OffsetFetchRequestGroupTopic, stable bool) kmsg.OffsetFetchResponseGroupTopic {
	resp := kmsg.OffsetFetchResponseGroupTopic{Topic: req.Topic, TopicID: req.TopicID}
	name, code := req.Topic, codeNone
	if version >= firstTopicIDVersion {
		// By name also a topic that has been deleted is answered, by id it can't be known.
		name, _, code = c.topic(version, req.Topic, req.TopicID)
	}
	for _, p := range req.Partitions {
		if g == nil || code != codeNone {
			resp.Partitions = append(resp.Partitions, answerOffset(p, nil, code))
			continue
		}
		resp.Partitions = append(resp.Partitions, g.answer(name, p, stable))
	}
	return resp
}

func (c *Coordinator) allOffsets(version int16, g *group, stable bool) []kmsg.OffsetFetchResponseGroupTopic {
	if g == nil {
		return nil
	}
	var topics []kmsg.OffsetFetchResponseGroupTopic
	for _, tp := range g.targets(func(_ topicPartition, s *slot) bool { return s.committed != nil || (stable && s.unstable()) }) {
		if n := len(topics); n == 0 || topics[n-1].Topic != tp.topic {
			topics = append(topics, kmsg.OffsetFetchResponseGroupTopic{Topic: tp.topic})
		}
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, g.answer(tp.topic, tp.partition, stable))
	}
	if version < firstTopicIDVersion {
		return topics
	}
	return c.withIDs(topics)
}

// withIDs names topics by id and leaves out those that are no longer there.
func (c *Coordinator) withIDs(topics []kmsg.OffsetFetchResponseGroupTopic) []kmsg.OffsetFetchResponseGroupTopic {
	var known []kmsg.OffsetFetchResponseGroupTopic
	for _, t := range topics {
		if c.env.cfg.Topics == nil {
			break
		}
		if id, _, ok := c.env.cfg.Topics.TopicByName(t.Topic); ok {
			t.TopicID = id
			known = append(known, t)
		}
	}
	return known
}

func (g *group) answer(topic string, p int32, stable bool) kmsg.OffsetFetchResponseGroupTopicPartition {
	if stable && g.offsets[topic][p].unstable() {
		return answerOffset(p, nil, codeUnstableOffsetCommit)
	}
	return answerOffset(p, g.committed(topic, p), codeNone)
}

func answerOffset(partition int32, o *offset, code int16) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.OffsetFetchResponseGroupTopicPartition{Partition: partition, Offset: -1, LeaderEpoch: -1, Metadata: new(string), ErrorCode: code}
	if o != nil {
		p.Offset, p.LeaderEpoch = o.at, o.leaderEpoch
		*p.Metadata = o.metadata
	}
	return p
}

func failedTopics(topics []kmsg.OffsetFetchRequestGroupTopic, code int16) []kmsg.OffsetFetchResponseGroupTopic {
	failed := make([]kmsg.OffsetFetchResponseGroupTopic, len(topics))
	for i, t := range topics {
		failed[i].Topic = t.Topic
		for _, p := range t.Partitions {
			failed[i].Partitions = append(failed[i].Partitions, answerOffset(p, nil, code))
		}
	}
	return failed
}
