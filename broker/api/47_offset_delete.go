package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// OffsetDelete (47): forget the offsets of a group for topics that it does not read.
func (h *Handler) offsetDeleteKey() key {
	return key{num: 47, min: 0, max: 0, serve: decoded(h, h.offsetDelete)}
}

func (h *Handler) offsetDelete(ctx context.Context, req *wire.Request, q *kmsg.OffsetDeleteRequest) *kmsg.OffsetDeleteResponse {
	if err := h.authorize(req, acl.Group, q.Group, acl.Delete); err != nil {
		r := kmsg.NewPtrOffsetDeleteResponse()
		r.ErrorCode = code(err)
		return r
	}
	var denied []kmsg.OffsetDeleteResponseTopic
	q.Topics = slices.DeleteFunc(q.Topics, func(t kmsg.OffsetDeleteRequestTopic) bool {
		err := h.authorize(req, acl.Topic, t.Topic, acl.Read)
		if err == nil {
			return false
		}
		d := kmsg.NewOffsetDeleteResponseTopic()
		d.Topic = t.Topic
		for _, p := range t.Partitions {
			dp := kmsg.NewOffsetDeleteResponseTopicPartition()
			dp.Partition, dp.ErrorCode = p.Partition, code(err)
			d.Partitions = append(d.Partitions, dp)
		}
		denied = append(denied, d)
		return true
	})
	r := h.groups.OffsetDelete(ctx, q)
	r.Topics = append(r.Topics, denied...)
	return r
}
