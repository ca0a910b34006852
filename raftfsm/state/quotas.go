package state

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/weir-analytics/weir/raftfsm/command"
)

// Keys of quotas, in Kafka's words.
const (
	QuotaProduce = "producer_byte_rate" // bytes a second
	QuotaFetch   = "consumer_byte_rate" // bytes a second
	QuotaRequest = "request_percentage" // of one core, time spent on requests
)

// Quota is the limits of one entity.
type Quota struct {
	Entity QuotaEntity        `json:"entity"`
	Limits map[string]float64 `json:"limits"` // by key, never empty
}

// QuotaEntity is who has a limit. A part that is nil does not matter; "" is everybody who has no limit of their own.
type QuotaEntity struct {
	User     *string `json:"user,omitempty"`
	ClientID *string `json:"client_id,omitempty"`
}

// Compare orders entities.
func (e QuotaEntity) Compare(o QuotaEntity) int {
	return cmp.Or(comparePart(e.User, o.User), comparePart(e.ClientID, o.ClientID))
}

func comparePart(a, b *string) int {
	switch {
	case a == nil || b == nil:
		return cmp.Compare(btoi(a != nil), btoi(b != nil))
	}
	return cmp.Compare(*a, *b)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

const (
	maxQuotas     = 10_000 // a guess
	maxEntityName = 512    // bytes, a guess
)

// CheckQuota says what is wrong with one limit.
func CheckQuota(key string, value float64) error {
	switch {
	case key != QuotaProduce && key != QuotaFetch && key != QuotaRequest:
		return invalid("key", "%q is no quota here: %s, %s or %s", key, QuotaProduce, QuotaFetch, QuotaRequest)
	case !(value > 0) || math.IsInf(value, 0):
		return invalid("value", "%s of %v, more than 0 is allowed", key, value)
	case key == QuotaRequest:
	case value != math.Trunc(value) || value > math.MaxInt64:
		return invalid("value", "%s of %v, want whole bytes a second", key, value)
	}
	return nil
}

func (s *State) alterQuota(cmd command.AlterQuota) (any, error) {
	entity := QuotaEntity{User: cmd.User, ClientID: cmd.ClientID}
	if entity == (QuotaEntity{}) {
		return nil, invalid("entity", "name a user, a client id or both")
	}
	for _, part := range []*string{entity.User, entity.ClientID} {
		if part != nil && len(*part) > maxEntityName {
			return nil, invalid("entity", "a name of %d bytes, at most %d are allowed", len(*part), maxEntityName)
		}
	}
	for key, value := range cmd.Set {
		if err := CheckQuota(key, value); err != nil {
			return nil, err
		}
	}
	at, found := slices.BinarySearchFunc(s.Quotas, entity, func(q Quota, e QuotaEntity) int { return q.Entity.Compare(e) })
	limits := map[string]float64{}
	if found {
		limits = maps.Clone(s.Quotas[at].Limits)
	}
	for _, key := range cmd.Remove {
		delete(limits, key)
	}
	maps.Copy(limits, cmd.Set)
	quotas := slices.Clone(s.Quotas)
	switch {
	case len(limits) == 0 && found:
		quotas = slices.Delete(quotas, at, at+1)
	case len(limits) == 0:
	case found:
		quotas[at].Limits = limits
	case len(quotas) >= maxQuotas:
		return nil, invalid("entity", "there are %d quotas already, the most that are allowed", maxQuotas)
	default:
		quotas = slices.Insert(quotas, at, Quota{Entity: entity, Limits: limits})
	}
	s.Quotas = quotas
	return nil, nil
}
