package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// OffsetFetch (9): the offsets of a group.
//
//	v1 offsets kept by the broker; v2 null asks for all topics; v5 leader epochs; v6 tagged fields; v7 only stable ones; v8 several
//	groups at once; v9 KIP-848; v10 topic ids
//
// Stable means that no open transaction may change the offset.
func (h *Handler) offsetFetchKey() key {
	return key{num: 9, min: 0, max: 10, serve: decoded(h, h.offsetFetch)}
}

func (h *Handler) offsetFetch(ctx context.Context, req *wire.Request, q *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	r := h.groups.OffsetFetch(ctx, q)
	if q.Version >= 8 {
		for i := range r.Groups {
			h.hideOffsets(req, &q.Groups[i], &r.Groups[i])
		}
		return r
	}
	h.hideOldOffsets(req, q, r)
	return r
}

// hideOffsets takes what may not be seen out of the answer for one group. When all topics were asked for, it is only left out.
func (h *Handler) hideOffsets(req *wire.Request, q *kmsg.OffsetFetchRequestGroup, r *kmsg.OffsetFetchResponseGroup) {
	if err := h.authorize(req, acl.Group, q.Group, acl.Describe); err != nil {
		r.ErrorCode, r.Topics = code(err), nil
		return
	}
	v := h.backend.View()
	all := q.Topics == nil
	r.Topics = slices.DeleteFunc(r.Topics, func(t kmsg.OffsetFetchResponseGroupTopic) bool {
		err := h.denied(req, t.Topic, v.ByID[t.TopicID], acl.Describe)
		if err == nil || all {
			return err != nil
		}
		for i := range t.Partitions {
			p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			p.Partition, p.Offset, p.ErrorCode = t.Partitions[i].Partition, -1, code(err)
			t.Partitions[i] = p
		}
		return false
	})
}

// hideOldOffsets is hideOffsets before version 8. Before version 2 the error of a group is that of each partition.
func (h *Handler) hideOldOffsets(req *wire.Request, q *kmsg.OffsetFetchRequest, r *kmsg.OffsetFetchResponse) {
	group := h.authorize(req, acl.Group, q.Group, acl.Describe)
	if group != nil && q.Version >= 2 {
		r.ErrorCode, r.Topics = code(group), nil
		return
	}
	r.Topics = slices.DeleteFunc(r.Topics, func(t kmsg.OffsetFetchResponseTopic) bool {
		err := group
		if err == nil {
			err = h.authorize(req, acl.Topic, t.Topic, acl.Describe)
		}
		if err == nil || q.Topics == nil {
			return err != nil
		}
		for i := range t.Partitions {
			p := kmsg.NewOffsetFetchResponseTopicPartition()
			p.Partition, p.Offset, p.ErrorCode = t.Partitions[i].Partition, -1, code(err)
			t.Partitions[i] = p
		}
		return false
	})
}
