package group

import (
	"context"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
)

// firstTopicIDVersion is the version from which OffsetCommit and OffsetFetch name topics by id.
const firstTopicIDVersion = 10

// OffsetCommit stores offsets and answers when they are committed. All partitions of a request share one fate, except those
// refused on their own: an unknown topic or partition, too much metadata.
//
// Version 1 may carry a commit time per offset, 2 to 4 a retention for all, 6 a leader epoch; from 7 on static members are
// fenced; 9 answers GROUP_ID_NOT_FOUND where older ones say ILLEGAL_GENERATION; from 10 on topics go by id, which needs
// Config.Topics.
func (c *Coordinator) OffsetCommit(ctx context.Context, req *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitResponse {
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	items, open := c.checkOffsets(req, resp)
	if len(items) == 0 {
		return resp
	}
	code := c.commitOffsets(ctx, req, items)
	for _, p := range open {
		p.ErrorCode = code
	}
	c.countCommit(code)
	return resp
}

func (c *Coordinator) countCommit(code int16) {
	switch {
	case code == codeNone:
		c.env.metrics.commits.WithLabelValues("ok").Inc()
	case code == codeCoordinatorNotAvailable || code == codeNotCoordinator || code == codeCoordinatorLoadInProgress:
		c.env.metrics.commits.WithLabelValues("failed").Inc()
	default:
		c.env.metrics.commits.WithLabelValues("refused").Inc()
	}
}

// checkOffsets fills resp with all partitions of the request, refused ones with their code, and returns those that may be
// committed with their place in resp.
func (c *Coordinator) checkOffsets(req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse) ([]commitItem, []*kmsg.OffsetCommitResponseTopicPartition) {
	now := c.env.cfg.Now()
	var items []commitItem
	var open []*kmsg.OffsetCommitResponseTopicPartition
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t, rt := &req.Topics[i], &resp.Topics[i]
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		rt.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		name, count, code := c.topic(req.Version, t.Topic, t.TopicID)
		for j := range t.Partitions {
			p, rp := &t.Partitions[j], &rt.Partitions[j]
			rp.Partition = p.Partition
			switch {
			case code != codeNone:
				rp.ErrorCode = code
			case p.Partition < 0 || p.Partition >= count:
				rp.ErrorCode = codeUnknownTopicOrPartition
			case p.Metadata != nil && len(*p.Metadata) > c.env.cfg.MaxMetadata:
				rp.ErrorCode = codeOffsetMetadataTooLarge
			default:
				items = append(items, commitItem{topicPartition{name, p.Partition}, newOffset(req, p, now)})
				open = append(open, rp)
			}
		}
	}
	return items, open
}

// topic finds a topic by name or, in newer versions, by id. The name is a copy.
func (c *Coordinator) topic(version int16, name string, id [16]byte) (string, int32, int16) {
	topics := c.env.cfg.Topics
	byID := version >= firstTopicIDVersion
	switch {
	case byID && topics == nil:
		return "", 0, codeUnknownTopicID
	case byID:
		var ok bool
		if name, ok = topics.TopicByID(id); !ok {
			return "", 0, codeUnknownTopicID
		}
	case topics == nil:
		return strings.Clone(name), 1<<31 - 1, codeNone
	}
	_, count, ok := topics.TopicByName(name)
	if !ok {
		return "", 0, codeUnknownTopicOrPartition
	}
	return strings.Clone(name), count, codeNone
}

func newOffset(req *kmsg.OffsetCommitRequest, p *kmsg.OffsetCommitRequestTopicPartition, now time.Time) *offset {
	o := &offset{at: p.Offset, leaderEpoch: -1, committedMs: now.UnixMilli(), expiresMs: noExpiry}
	if req.Version >= 6 {
		o.leaderEpoch = p.LeaderEpoch
	}
	if p.Metadata != nil {
		o.metadata = strings.Clone(*p.Metadata)
	}
	if req.Version == 1 && p.Timestamp >= 0 {
		o.committedMs = p.Timestamp
	}
	if req.Version >= 2 && req.Version <= 4 && req.RetentionTimeMillis >= 0 {
		o.expiresMs = now.UnixMilli() + req.RetentionTimeMillis
	}
	return o
}

func (c *Coordinator) commitOffsets(ctx context.Context, req *kmsg.OffsetCommitRequest, items []commitItem) int16 {
	s, code := c.shardOf(ctx, req.Group)
	if code != codeNone {
		return code
	}
	w := led.NewWaiter[int16]()
	ok := s.do(func(now time.Time) {
		if s.crowded() {
			w.Answer(codeCoordinatorNotAvailable)
			return
		}
		g := s.group(req.Group)
		if g == nil {
			if req.Generation >= 0 {
				w.Answer(noSuchGroup(req.Version))
				return
			}
			g = s.ensure(strings.Clone(req.Group), now)
		}
		m, code := g.checkCommit(req.MemberID, req.InstanceID, req.Generation)
		if code != codeNone {
			w.Answer(code)
			return
		}
		g.commit(now, m, items, func(err error) { w.Answer(commitCode(err)) })
	})
	code, answered := w.Await(ctx, ok)
	if !answered || !s.Current() {
		return codeNotCoordinator
	}
	return code
}

func noSuchGroup(version int16) int16 {
	if version >= 9 {
		return codeGroupIDNotFound
	}
	return codeIllegalGeneration
}
