package api

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// DescribeUserScramCredentials (50): which users can log in by which mechanism. Null asks for all. Salts and keys are not told.
func (h *Handler) describeCredentialsKey() key {
	return key{num: 50, min: 0, max: 0, serve: decoded(h, h.describeCredentials)}
}

// scramMechanisms are the protocol's numbers.
var scramMechanisms = map[int8]string{1: state.ScramSHA256, 2: state.ScramSHA512}

func (h *Handler) describeCredentials(_ context.Context, req *wire.Request, q *kmsg.DescribeUserSCRAMCredentialsRequest) *kmsg.DescribeUserSCRAMCredentialsResponse {
	r := kmsg.NewPtrDescribeUserSCRAMCredentialsResponse()
	if err := h.authorizeCluster(req, acl.Describe); err != nil {
		r.ErrorCode, r.ErrorMessage = code(err), message(err)
		return r
	}
	all := h.backend.Access().State().Credentials
	asked := make(map[string]int)
	for _, u := range q.Users {
		asked[u.Name]++
	}
	if q.Users == nil {
		for name := range all {
			asked[name] = 1
		}
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		a := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
		a.User = name
		var err error
		switch credentials, ok := all[name]; {
		case asked[name] > 1:
			err = refuse(kerr.DuplicateResource, "the user is named more than once in this request")
		case !ok:
			err = refuse(kerr.ResourceNotFound, "there is no such user")
		default:
			a.CredentialInfos = describeKeys(credentials)
		}
		a.ErrorCode, a.ErrorMessage = code(err), message(err)
		r.Results = append(r.Results, a)
	}
	return r
}

func describeKeys(c state.Credentials) []kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo {
	var list []kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo
	for number := range int8(len(scramMechanisms)) {
		if keys := c.Of(scramMechanisms[number+1]); keys != nil {
			info := kmsg.NewDescribeUserSCRAMCredentialsResponseResultCredentialInfo()
			info.Mechanism, info.Iterations = number+1, keys.Iterations
			list = append(list, info)
		}
	}
	return list
}
