package quota

import "github.com/weir-analytics/weir/raftfsm/state"

// Rules are the limits of the cluster made ready for questions. They are immutable.
type Rules struct{ limits map[entity]map[string]float64 }

// entity is a state.QuotaEntity that can be compared.
type entity struct {
	user, client       string
	hasUser, hasClient bool
}

// NewRules makes rules of the cluster's list.
func NewRules(list []state.Quota) *Rules {
	r := &Rules{limits: make(map[entity]map[string]float64, len(list))}
	for _, q := range list {
		var e entity
		if q.Entity.User != nil {
			e.user, e.hasUser = *q.Entity.User, true
		}
		if q.Entity.ClientID != nil {
			e.client, e.hasClient = *q.Entity.ClientID, true
		}
		r.limits[e] = q.Limits
	}
	return r
}

// Limited reports whether a client has a limit of a key.
func (r *Rules) Limited(key string, c Client) bool {
	_, _, ok := r.find(key, c)
	return ok
}

// find returns the limit of a key for a client, and who shares it.
func (r *Rules) find(key string, c Client) (limit float64, shared entity, ok bool) {
	if len(r.limits) == 0 {
		return 0, entity{}, false
	}
	user, client := c.User, c.ID
	for _, e := range []entity{
		{user, client, true, true}, {user, "", true, true}, {user, "", true, false},
		{"", client, true, true}, {"", "", true, true}, {"", "", true, false},
		{"", client, false, true}, {"", "", false, true},
	} {
		if limit, ok := r.limits[e][key]; ok {
			shared := entity{hasUser: e.hasUser, hasClient: e.hasClient}
			if e.hasUser {
				shared.user = user
			}
			if e.hasClient {
				shared.client = client
			}
			return limit, shared, true
		}
	}
	return 0, entity{}, false
}
