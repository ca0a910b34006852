package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// LeaveGroup (13): a member leaves.
//
//	v3 several members, static ones by their name; v4 tagged fields; v5 the reason
func (h *Handler) leaveGroupKey() key {
	return key{num: 13, min: 0, max: 5, serve: decoded(h, h.leaveGroup)}
}

func (h *Handler) leaveGroup(ctx context.Context, req *wire.Request, q *kmsg.LeaveGroupRequest) *kmsg.LeaveGroupResponse {
	if err := h.authorize(req, acl.Group, q.Group, acl.Read); err != nil {
		r := kmsg.NewPtrLeaveGroupResponse()
		r.ErrorCode = code(err)
		return r
	}
	return h.groups.LeaveGroup(ctx, q)
}
