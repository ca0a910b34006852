package api

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/quota"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// AlterClientQuotas (49): set and remove limits of users, client ids and both together. A name of null is the default.
//
//	v1 tagged fields
//
// request_percentage, on a system that does not tell a thread's time, is refused.
// Left out on purpose: controller_mutation_rate, quotas of addresses; they are refused.
func (h *Handler) alterQuotasKey() key {
	return key{num: 49, min: 0, max: 1, serve: decoded(h, h.alterQuotas)}
}

func (h *Handler) alterQuotas(ctx context.Context, req *wire.Request, q *kmsg.AlterClientQuotasRequest) *kmsg.AlterClientQuotasResponse {
	denied := h.authorizeCluster(req, acl.AlterConfigs)
	r := kmsg.NewPtrAlterClientQuotasResponse()
	for i := range q.Entries {
		err := denied
		if err == nil {
			err = h.alterQuota(ctx, &q.Entries[i], q.ValidateOnly)
		}
		a := kmsg.NewAlterClientQuotasResponseEntry()
		a.ErrorCode, a.ErrorMessage = code(err), message(err)
		for _, e := range q.Entries[i].Entity {
			a.Entity = append(a.Entity, kmsg.AlterClientQuotasResponseEntryEntity{Type: e.Type, Name: e.Name})
		}
		r.Entries = append(r.Entries, a)
	}
	return r
}

func (h *Handler) alterQuota(ctx context.Context, q *kmsg.AlterClientQuotasRequestEntry, validateOnly bool) error {
	entity, err := quotaEntity(q.Entity)
	if err != nil {
		return err
	}
	set, remove := make(map[string]float64), []string(nil)
	for _, op := range q.Ops {
		if op.Remove {
			remove = append(remove, op.Key)
			continue
		}
		if op.Key == state.QuotaRequest && !quota.CanTime {
			return refuse(kerr.InvalidRequest, state.QuotaRequest+": this node's system does not tell what time a request takes")
		}
		if err := state.CheckQuota(op.Key, op.Value); err != nil {
			return refuse(kerr.InvalidRequest, err.Error())
		}
		set[op.Key] = op.Value
	}
	if validateOnly {
		return nil
	}
	err = h.backend.Access().AlterQuota(ctx, entity, set, remove)
	var invalid state.ErrInvalid
	if errors.As(err, &invalid) {
		return refuse(kerr.InvalidRequest, invalid.Error())
	}
	return err
}

func quotaEntity(parts []kmsg.AlterClientQuotasRequestEntryEntity) (state.QuotaEntity, error) {
	var e state.QuotaEntity
	for _, part := range parts {
		name := part.Name
		switch {
		case name == nil:
			name = new(string)
		case *name == "":
			return e, refuse(kerr.InvalidRequest, "a name is empty; the default is null")
		case !utf8.ValidString(*name):
			return e, refuse(kerr.InvalidRequest, "a name is no UTF-8")
		}
		switch {
		case part.Type == entityUser && e.User == nil:
			e.User = name
		case part.Type == entityClientID && e.ClientID == nil:
			e.ClientID = name
		default:
			return e, refuse(kerr.InvalidRequest, "an entity is a user, a client id, or one of each")
		}
	}
	return e, nil
}
