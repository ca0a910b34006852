package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// DescribeAcls (29): the permissions that a filter chooses, by resource.
//
//	v1 patterns; v2 tagged fields; v3 a type of resource that is not served here (users)
func (h *Handler) describeACLsKey() key {
	return key{num: 29, min: 0, max: 3, serve: decoded(h, h.describeACLs)}
}

func (h *Handler) describeACLs(_ context.Context, req *wire.Request, q *kmsg.DescribeACLsRequest) *kmsg.DescribeACLsResponse {
	r := kmsg.NewPtrDescribeACLsResponse()
	err := h.authorizeCluster(req, acl.Describe)
	if err == nil {
		err = h.securityDisabled(req.Client.Local)
	}
	var filter acl.Filter
	if err == nil {
		filter, err = aclFilter(q, q.Version)
	}
	if err != nil {
		r.ErrorCode, r.ErrorMessage = code(err), message(err)
		return r
	}
	type resource struct{ kind, name, pattern string }
	at := make(map[resource]int)
	for _, a := range filter.Choose(h.backend.Access().State().ACLs) {
		if q.Version == 0 && a.Pattern != "literal" {
			continue
		}
		of := resource{a.Resource, a.Name, a.Pattern}
		i, ok := at[of]
		if !ok {
			i = len(r.Resources)
			at[of] = i
			described := kmsg.NewDescribeACLsResponseResource()
			described.ResourceType, described.ResourceName = aclResources.number[a.Resource], a.Name
			described.ResourcePatternType = aclPatterns.number[a.Pattern]
			r.Resources = append(r.Resources, described)
		}
		entry := kmsg.NewDescribeACLsResponseResourceACL()
		entry.Principal, entry.Host = a.Principal, a.Host
		entry.Operation, entry.PermissionType = aclOperations.number[a.Operation], aclPermissions.number[a.Permission]
		r.Resources[i].ACLs = append(r.Resources[i].ACLs, entry)
	}
	return r
}
