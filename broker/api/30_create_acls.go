package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// CreateAcls (30): add permissions. One that is there already is no error.
//
//	v1 patterns; v2 tagged fields; v3 a type of resource that is not served here (users)
//
// The good ones of a request are agreed on together.
func (h *Handler) createACLsKey() key {
	return key{num: 30, min: 0, max: 3, serve: decoded(h, h.createACLs)}
}

func (h *Handler) createACLs(ctx context.Context, req *wire.Request, q *kmsg.CreateACLsRequest) *kmsg.CreateACLsResponse {
	denied := h.authorizeCluster(req, acl.Alter)
	if denied == nil {
		denied = h.securityDisabled(req.Client.Local)
	}
	errs := make([]error, len(q.Creations))
	var good []state.ACL
	for i := range q.Creations {
		if errs[i] = denied; denied != nil {
			continue
		}
		a, err := aclOf(&q.Creations[i], q.Version)
		if errs[i] = err; err == nil {
			good = append(good, a)
		}
	}
	var failed error
	if len(good) > 0 {
		failed = h.backend.Access().CreateACLs(ctx, good)
	}
	r := kmsg.NewPtrCreateACLsResponse()
	for _, err := range errs {
		if err == nil {
			err = failed
		}
		a := kmsg.NewCreateACLsResponseResult()
		a.ErrorCode, a.ErrorMessage = code(err), message(err)
		r.Results = append(r.Results, a)
	}
	return r
}
