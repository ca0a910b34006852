package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/wire"
)

// ListGroups (16): the groups that this node coordinates.
//
//	v3 tagged fields; v4 by state; v5 by type
func (h *Handler) listGroupsKey() key {
	return key{num: 16, min: 0, max: 5, serve: decoded(h.listGroups)}
}

func (h *Handler) listGroups(ctx context.Context, _ *wire.Request, q *kmsg.ListGroupsRequest) *kmsg.ListGroupsResponse {
	return h.groups.ListGroups(ctx, q)
}
