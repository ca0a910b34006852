package acl

import (
	"strings"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// Filter chooses ACLs. What is empty or nil matches everything.
type Filter struct {
	Resource   Resource
	Name       *string
	Pattern    string // literal, prefixed, or Match
	Principal  *string
	Host       *string
	Operation  string
	Permission string
}

// Match as a pattern chooses the ACLs that speak of the resource named, by whatever pattern.
const Match = "match"

// Matches reports whether the filter chooses a.
func (f *Filter) Matches(a state.ACL) bool {
	return (f.Resource == "" || string(f.Resource) == a.Resource) &&
		f.matchesName(a) &&
		(f.Principal == nil || *f.Principal == a.Principal) &&
		(f.Host == nil || *f.Host == a.Host) &&
		(f.Operation == "" || f.Operation == a.Operation) &&
		(f.Permission == "" || f.Permission == a.Permission)
}

func (f *Filter) matchesName(a state.ACL) bool {
	switch {
	case f.Pattern != "" && f.Pattern != Match && f.Pattern != a.Pattern:
		return false
	case f.Name == nil || *f.Name == a.Name:
		return true
	case f.Pattern != Match:
		return false
	case a.Pattern == "prefixed":
		return strings.HasPrefix(*f.Name, a.Name)
	}
	return a.Name == everything
}

// Choose returns those of list that the filter chooses, in order.
func (f *Filter) Choose(list []state.ACL) []state.ACL {
	var chosen []state.ACL
	for _, a := range list {
		if f.Matches(a) {
			chosen = append(chosen, a)
		}
	}
	return chosen
}
