package auth

import (
	"context"
	"slices"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// Need is what a route asks of its caller.
type Need string

// The needs, from the least to the most.
const (
	Public Need = "public" // anybody
	Known  Need = "known"  // anybody who says who they are
	Person Need = "person" // somebody with a session
	Read   Need = "read"   // read counts
	Import Need = "import" // send history
	Edit   Need = "edit"   // change sites
	Admin  Need = "admin"  // users, tokens, the node
)

// Identity is who calls. The zero value is an anonymous caller.
type Identity struct {
	Socket bool // on the admin socket

	Email string     // of the person, when there is a session
	Role  state.Role // of the person

	Token  string // name of the API token, when there is one
	Scopes []state.Scope

	session sessionKey
	tokenID uint64
}

// Known reports whether the caller said who it is.
func (id Identity) Known() bool { return id.Socket || id.Email != "" || id.Token != "" }

// May reports whether the caller meets a need. This is the whole of the authorisation rules.
func (id Identity) May(need Need) bool {
	if id.Socket {
		return need != Person
	}
	switch need {
	case Public:
		return true
	case Known:
		return id.Known()
	case Person:
		return id.Email != ""
	case Read:
		return id.role(state.RoleViewer, state.RoleEditor, state.RoleAdmin) || id.scope(state.ScopeStats, state.ScopeAdmin)
	case Import:
		return id.role(state.RoleEditor, state.RoleAdmin) || id.scope(state.ScopeIngest, state.ScopeAdmin)
	case Edit:
		return id.role(state.RoleEditor, state.RoleAdmin) || id.scope(state.ScopeAdmin)
	case Admin:
		return id.role(state.RoleAdmin) || id.scope(state.ScopeAdmin)
	default:
		panic("BUG: unknown need " + string(need))
	}
}

func (id Identity) role(allowed ...state.Role) bool {
	return id.Email != "" && slices.Contains(allowed, id.Role)
}

func (id Identity) scope(allowed ...state.Scope) bool {
	return id.Token != "" && slices.ContainsFunc(id.Scopes, func(s state.Scope) bool { return slices.Contains(allowed, s) })
}

type contextKey int

const (
	identityKey contextKey = iota
	socketKey
)

// OnSocket marks the connections of the admin socket. The mark is what makes a caller the administrator, so nothing but the server's own
// listener for that socket may set it.
func OnSocket(ctx context.Context) context.Context { return context.WithValue(ctx, socketKey, true) }

// FromContext returns the caller of the request that ctx belongs to.
func FromContext(ctx context.Context) Identity {
	id, _ := ctx.Value(identityKey).(Identity)
	return id
}
