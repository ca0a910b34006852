package acl

import (
	"slices"
	"strings"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// Resource is a type of resource, in the words of the cluster state.
type Resource string

// The types of resources.
const (
	Topic           Resource = "topic"
	Group           Resource = "group"
	Cluster         Resource = "cluster"
	TransactionalID Resource = "transactional_id"
)

// Operation is what somebody wants to do. The numbers are those of the protocol.
type Operation uint8

// The operations.
const (
	All             Operation = 2
	Read            Operation = 3
	Write           Operation = 4
	Create          Operation = 5
	Delete          Operation = 6
	Alter           Operation = 7
	Describe        Operation = 8
	ClusterAction   Operation = 9
	DescribeConfigs Operation = 10
	AlterConfigs    Operation = 11
	IdempotentWrite Operation = 12
)

var operations = map[string]Operation{
	"all": All, "read": Read, "write": Write, "create": Create, "delete": Delete, "alter": Alter, "describe": Describe,
	"cluster_action": ClusterAction, "describe_configs": DescribeConfigs, "alter_configs": AlterConfigs, "idempotent_write": IdempotentWrite,
}

// Policy is what holds whatever the list says.
type Policy struct {
	SuperUsers  []string // principals that may do everything
	AllowIfNone bool     // what no ACL names is open to everybody
}

// Rules is a list made ready for questions. It is immutable.
type Rules struct {
	policy   Policy
	literal  map[key][]entry // also under the name *
	prefixed map[Resource][]prefix
}

type key struct {
	resource Resource
	name     string
}

type entry struct {
	principal, host string
	operations      uint16 // bits of what it allows or denies
	allow           bool
}

type prefix struct {
	name    string
	entries []entry
}

const (
	everybody  = "User:*"
	everywhere = "*"
	everything = "*"
)

// New makes rules from a list.
func New(list []state.ACL, policy Policy) *Rules {
	r := &Rules{policy: policy, literal: make(map[key][]entry), prefixed: make(map[Resource][]prefix)}
	for _, a := range list {
		e := entry{principal: a.Principal, host: a.Host, allow: a.Permission == "allow"}
		e.operations = covers(operations[a.Operation], e.allow)
		resource := Resource(a.Resource)
		if a.Pattern == "literal" {
			k := key{resource, a.Name}
			r.literal[k] = append(r.literal[k], e)
			continue
		}
		list := r.prefixed[resource]
		if i := slices.IndexFunc(list, func(p prefix) bool { return p.name == a.Name }); i >= 0 {
			list[i].entries = append(list[i].entries, e)
		} else {
			r.prefixed[resource] = append(list, prefix{a.Name, []entry{e}})
		}
	}
	return r
}

// covers returns the bits of the operations that an ACL for op speaks of. Only those that allow speak of more than they name.
func covers(op Operation, allow bool) uint16 {
	bits := uint16(1) << op
	switch {
	case op == All:
		return ^uint16(0)
	case !allow:
	case op == Read || op == Write || op == Delete || op == Alter:
		bits |= 1 << Describe
	case op == AlterConfigs:
		bits |= 1 << DescribeConfigs
	}
	return bits
}

func (e *entry) matches(principal, host string, op Operation) bool {
	return e.operations&(1<<op) != 0 && (e.principal == principal || e.principal == everybody) && (e.host == host || e.host == everywhere)
}

// Allowed reports whether principal, at the address host, may do op on the resource of that name.
func (r *Rules) Allowed(principal, host string, resource Resource, name string, op Operation) bool {
	if r.super(principal) {
		return true
	}
	found, allowed := false, false
	ask := func(entries []entry) (denied bool) {
		found = found || len(entries) > 0
		for i := range entries {
			if e := &entries[i]; e.matches(principal, host, op) {
				if !e.allow {
					return true
				}
				allowed = true
			}
		}
		return false
	}
	if ask(r.literal[key{resource, name}]) || name != everything && ask(r.literal[key{resource, everything}]) {
		return false
	}
	for _, p := range r.prefixed[resource] {
		if strings.HasPrefix(name, p.name) && ask(p.entries) {
			return false
		}
	}
	return allowed || !found && r.policy.AllowIfNone
}

// AllowedSomewhere reports whether there may be a resource of that type on which principal may do op: an ACL that allows it is not taken
// back as a whole by one that denies.
func (r *Rules) AllowedSomewhere(principal, host string, resource Resource, op Operation) bool {
	if r.super(principal) {
		return true
	}
	matching := func(entries []entry, allow bool) bool {
		return slices.ContainsFunc(entries, func(e entry) bool { return e.allow == allow && e.matches(principal, host, op) })
	}
	if matching(r.literal[key{resource, everything}], false) {
		return false
	}
	denied := func(name string) bool {
		return slices.ContainsFunc(r.prefixed[resource], func(p prefix) bool { return strings.HasPrefix(name, p.name) && matching(p.entries, false) })
	}
	for k, entries := range r.literal {
		if k.resource == resource && matching(entries, true) && (k.name == everything || !matching(entries, false) && !denied(k.name)) {
			return true
		}
	}
	for _, p := range r.prefixed[resource] {
		if matching(p.entries, true) && !denied(p.name) {
			return true
		}
	}
	return r.policy.AllowIfNone
}

func (r *Rules) super(principal string) bool { return slices.Contains(r.policy.SuperUsers, principal) }
