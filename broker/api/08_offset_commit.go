package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// OffsetCommit (8): keep offsets for a group.
//
//	v1 generation and member; v2 retention time (until v4); v6 leader epochs; v7 static members; v8 tagged fields; v9 KIP-848; v10 topic ids
//
// librdkafka looks for versions 1 and 2 before it commits at all.
func (h *Handler) offsetCommitKey() key {
	return key{num: 8, min: 0, max: 10, serve: decoded(h, h.offsetCommit)}
}

func (h *Handler) offsetCommit(ctx context.Context, req *wire.Request, q *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitResponse {
	denied := h.deniedCommits(req, q)
	r := kmsg.NewPtrOffsetCommitResponse()
	if len(q.Topics) > 0 || len(denied) == 0 {
		r = h.groups.OffsetCommit(ctx, q)
	}
	r.Topics = append(r.Topics, denied...)
	return r
}

// deniedCommits takes what may not be committed out of a request, and answers it.
func (h *Handler) deniedCommits(req *wire.Request, q *kmsg.OffsetCommitRequest) []kmsg.OffsetCommitResponseTopic {
	var denied []kmsg.OffsetCommitResponseTopic
	group := h.authorize(req, acl.Group, q.Group, acl.Read)
	v := h.backend.View()
	q.Topics = slices.DeleteFunc(q.Topics, func(t kmsg.OffsetCommitRequestTopic) bool {
		var topic *Topic
		if q.Version >= 10 {
			topic = v.ByID[t.TopicID]
		}
		err := group
		if err == nil {
			err = h.denied(req, t.Topic, topic, acl.Read)
		}
		if err == nil {
			return false
		}
		d := kmsg.NewOffsetCommitResponseTopic()
		d.Topic, d.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			dp := kmsg.NewOffsetCommitResponseTopicPartition()
			dp.Partition, dp.ErrorCode = p.Partition, code(err)
			d.Partitions = append(d.Partitions, dp)
		}
		denied = append(denied, d)
		return true
	})
	return denied
}
