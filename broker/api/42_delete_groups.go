package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// DeleteGroups (42): forget empty groups with their offsets.
//
//	v2 tagged fields
func (h *Handler) deleteGroupsKey() key {
	return key{num: 42, min: 0, max: 2, serve: decoded(h, h.deleteGroups)}
}

func (h *Handler) deleteGroups(ctx context.Context, req *wire.Request, q *kmsg.DeleteGroupsRequest) *kmsg.DeleteGroupsResponse {
	var denied []kmsg.DeleteGroupsResponseGroup
	q.Groups = slices.DeleteFunc(q.Groups, func(name string) bool {
		err := h.authorize(req, acl.Group, name, acl.Delete)
		if err != nil {
			g := kmsg.NewDeleteGroupsResponseGroup()
			g.Group, g.ErrorCode = name, code(err)
			denied = append(denied, g)
		}
		return err != nil
	})
	r := h.groups.DeleteGroups(ctx, q)
	r.Groups = append(r.Groups, denied...)
	return r
}
