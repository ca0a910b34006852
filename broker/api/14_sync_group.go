package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// SyncGroup (14): the leader hands in the assignment, every member takes its own. Waits for the leader.
//
//	v3 static members; v4 tagged fields; v5 protocol type and name
func (h *Handler) syncGroupKey() key {
	return key{num: 14, min: 0, max: 5, serve: decoded(h, h.syncGroup)}
}

func (h *Handler) syncGroup(ctx context.Context, req *wire.Request, q *kmsg.SyncGroupRequest) *kmsg.SyncGroupResponse {
	if err := h.authorize(req, acl.Group, q.Group, acl.Read); err != nil {
		r := kmsg.NewPtrSyncGroupResponse()
		r.ErrorCode = code(err)
		return r
	}
	return h.groups.SyncGroup(ctx, q)
}
