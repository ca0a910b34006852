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

// DescribeClientQuotas (48): the limits of the entities that a filter chooses.
//
//	v1 tagged fields
//
// Left out on purpose: quotas of addresses.
func (h *Handler) describeQuotasKey() key {
	return key{num: 48, min: 0, max: 1, serve: decoded(h, h.describeQuotas)}
}

// The parts of an entity, in the protocol's words.
const (
	entityUser     = "user"
	entityClientID = "client-id"
)

// How a part of a filter matches.
const (
	matchExact   = 0
	matchDefault = 1
	matchAny     = 2
)

func (h *Handler) describeQuotas(_ context.Context, req *wire.Request, q *kmsg.DescribeClientQuotasRequest) *kmsg.DescribeClientQuotasResponse {
	r := kmsg.NewPtrDescribeClientQuotasResponse()
	err := h.authorizeCluster(req, acl.DescribeConfigs)
	if err == nil {
		err = checkQuotaFilter(q)
	}
	if err != nil {
		r.ErrorCode, r.ErrorMessage = code(err), message(err)
		return r
	}
	r.Entries = []kmsg.DescribeClientQuotasResponseEntry{}
	for _, quota := range h.backend.Access().State().Quotas {
		if !quotaChosen(quota.Entity, q) {
			continue
		}
		e := kmsg.NewDescribeClientQuotasResponseEntry()
		for _, part := range quotaParts(quota.Entity) {
			if part.name != nil {
				name := part.name
				if *name == "" {
					name = nil
				}
				e.Entity = append(e.Entity, kmsg.DescribeClientQuotasResponseEntryEntity{Type: part.kind, Name: name})
			}
		}
		for _, key := range slices.Sorted(maps.Keys(quota.Limits)) {
			e.Values = append(e.Values, kmsg.DescribeClientQuotasResponseEntryValue{Key: key, Value: quota.Limits[key]})
		}
		r.Entries = append(r.Entries, e)
	}
	return r
}

type quotaPart struct {
	kind string
	name *string // nil: not part of the entity; "": the default
}

func quotaParts(e state.QuotaEntity) []quotaPart {
	return []quotaPart{{entityUser, e.User}, {entityClientID, e.ClientID}}
}

func checkQuotaFilter(q *kmsg.DescribeClientQuotasRequest) error {
	seen := make(map[string]bool)
	for _, c := range q.Components {
		switch {
		case c.EntityType != entityUser && c.EntityType != entityClientID:
			return refuse(kerr.UnsupportedVersion, "quotas are of users and client ids here")
		case seen[c.EntityType]:
			return refuse(kerr.InvalidRequest, c.EntityType+" is named more than once in this filter")
		case c.MatchType < matchExact || c.MatchType > matchAny || c.MatchType == matchExact && c.Match == nil:
			return refuse(kerr.InvalidRequest, "there is no such way to match")
		}
		seen[c.EntityType] = true
	}
	return nil
}

// quotaChosen reports whether all parts of the filter match; strict ones match no further parts.
func quotaChosen(e state.QuotaEntity, q *kmsg.DescribeClientQuotasRequest) bool {
	for _, part := range quotaParts(e) {
		at := slices.IndexFunc(q.Components, func(c kmsg.DescribeClientQuotasRequestComponent) bool { return c.EntityType == part.kind })
		switch {
		case at < 0 && q.Strict && part.name != nil:
			return false
		case at < 0:
		case part.name == nil:
			return false
		case q.Components[at].MatchType == matchExact && *part.name != *q.Components[at].Match,
			q.Components[at].MatchType == matchDefault && *part.name != "":
			return false
		}
	}
	return true
}
