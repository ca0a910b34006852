package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// DeleteAcls (31): remove the permissions that filters choose, and say which those were.
//
//	v1 patterns; v2 tagged fields; v3 a type of resource that is not served here (users)
func (h *Handler) deleteACLsKey() key {
	return key{num: 31, min: 0, max: 3, serve: decoded(h, h.deleteACLs)}
}

func (h *Handler) deleteACLs(ctx context.Context, req *wire.Request, q *kmsg.DeleteACLsRequest) *kmsg.DeleteACLsResponse {
	denied := h.authorizeCluster(req, acl.Alter)
	if denied == nil {
		denied = h.securityDisabled(req.Client.Local)
	}
	r := kmsg.NewPtrDeleteACLsResponse()
	for i := range q.Filters {
		var gone []state.ACL
		err := denied
		if err == nil {
			gone, err = h.deleteChosen(ctx, &q.Filters[i], q.Version)
		}
		a := kmsg.NewDeleteACLsResponseResult()
		a.ErrorCode, a.ErrorMessage = code(err), message(err)
		for _, g := range gone {
			m := kmsg.NewDeleteACLsResponseResultMatchingACL()
			m.ResourceType, m.ResourceName, m.ResourcePatternType = aclResources.number[g.Resource], g.Name, aclPatterns.number[g.Pattern]
			m.Principal, m.Host = g.Principal, g.Host
			m.Operation, m.PermissionType = aclOperations.number[g.Operation], aclPermissions.number[g.Permission]
			a.MatchingACLs = append(a.MatchingACLs, m)
		}
		r.Results = append(r.Results, a)
	}
	return r
}

func (h *Handler) deleteChosen(ctx context.Context, q *kmsg.DeleteACLsRequestFilter, version int16) ([]state.ACL, error) {
	filter, err := aclFilter(&kmsg.DescribeACLsRequest{
		ResourceType: q.ResourceType, ResourceName: q.ResourceName, ResourcePatternType: q.ResourcePatternType,
		Principal: q.Principal, Host: q.Host, Operation: q.Operation, PermissionType: q.PermissionType,
	}, version)
	if err != nil {
		return nil, err
	}
	chosen := filter.Choose(h.backend.Access().State().ACLs)
	if len(chosen) == 0 {
		return nil, nil
	}
	return h.backend.Access().DeleteACLs(ctx, chosen)
}
