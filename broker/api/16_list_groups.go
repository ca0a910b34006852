package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// ListGroups (16): the groups that this node coordinates.
//
//	v3 tagged fields; v4 by state; v5 by type
func (h *Handler) listGroupsKey() key {
	return key{num: 16, min: 0, max: 5, serve: decoded(h, h.listGroups)}
}

func (h *Handler) listGroups(ctx context.Context, req *wire.Request, q *kmsg.ListGroupsRequest) *kmsg.ListGroupsResponse {
	r := h.groups.ListGroups(ctx, q)
	if !h.may(req, acl.Cluster, state.ClusterResource, acl.Describe) {
		r.Groups = slices.DeleteFunc(r.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return !h.may(req, acl.Group, g.Group, acl.Describe) })
	}
	return r
}
