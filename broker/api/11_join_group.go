package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/broker/wire"
)

// JoinGroup (11): become a member. Waits for the others.
//
//	v1 rebalance timeout; v4 the member id is given first and the join repeated; v5 static members; v6 tagged fields; v7 protocol type;
//	v8 the reason; v9 the leader may skip the assignment
func (h *Handler) joinGroupKey() key {
	return key{num: 11, min: 0, max: 9, serve: decoded(h, h.joinGroup)}
}

func (h *Handler) joinGroup(ctx context.Context, req *wire.Request, q *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
	if err := h.authorize(req, acl.Group, q.Group, acl.Read); err != nil {
		r := kmsg.NewPtrJoinGroupResponse()
		r.ErrorCode = code(err)
		return r
	}
	return h.groups.JoinGroup(ctx, group.Caller{ClientID: req.Client.ID, ClientHost: "/" + req.Client.Host}, q)
}
