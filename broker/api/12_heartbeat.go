package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// Heartbeat (12): a member is alive, and learns that its group rebalances.
//
//	v3 static members; v4 tagged fields
func (h *Handler) heartbeatKey() key {
	return key{num: 12, min: 0, max: 4, serve: decoded(h, h.heartbeat)}
}

func (h *Handler) heartbeat(ctx context.Context, req *wire.Request, q *kmsg.HeartbeatRequest) *kmsg.HeartbeatResponse {
	if err := h.authorize(req, acl.Group, q.Group, acl.Read); err != nil {
		r := kmsg.NewPtrHeartbeatResponse()
		r.ErrorCode = code(err)
		return r
	}
	return h.groups.Heartbeat(ctx, q)
}
