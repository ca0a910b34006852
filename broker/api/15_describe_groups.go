package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// DescribeGroups (15): state and members of groups.
//
//	v3 authorized operations; v4 static members; v5 tagged fields; v6 error text
func (h *Handler) describeGroupsKey() key {
	return key{num: 15, min: 0, max: 6, serve: decoded(h, h.describeGroups)}
}

func (h *Handler) describeGroups(ctx context.Context, req *wire.Request, q *kmsg.DescribeGroupsRequest) *kmsg.DescribeGroupsResponse {
	var denied []kmsg.DescribeGroupsResponseGroup
	q.Groups = slices.DeleteFunc(q.Groups, func(name string) bool {
		err := h.authorize(req, acl.Group, name, acl.Describe)
		if err != nil {
			g := kmsg.NewDescribeGroupsResponseGroup()
			g.Group, g.ErrorCode = name, code(err)
			denied = append(denied, g)
		}
		return err != nil
	})
	for _, name := range q.Groups {
		_, _ = h.groupReady(ctx, name) // the coordinator says itself what is not ready
	}
	r := h.groups.DescribeGroups(ctx, q)
	for i := range r.Groups {
		if q.IncludeAuthorizedOperations && r.Groups[i].ErrorCode == 0 {
			r.Groups[i].AuthorizedOperations = h.operations(req, acl.Group, r.Groups[i].Group, groupOperations)
		}
	}
	r.Groups = append(r.Groups, denied...)
	return r
}
