package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/wire"
)

// DeleteGroups (42): forget empty groups with their offsets.
//
//	v2 tagged fields
func (h *Handler) deleteGroupsKey() key {
	return key{num: 42, min: 0, max: 2, serve: decoded(h.deleteGroups)}
}

func (h *Handler) deleteGroups(ctx context.Context, _ *wire.Request, q *kmsg.DeleteGroupsRequest) *kmsg.DeleteGroupsResponse {
	return h.groups.DeleteGroups(ctx, q)
}
