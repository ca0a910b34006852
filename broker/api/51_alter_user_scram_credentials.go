package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// AlterUserScramCredentials (51): give users other passwords, or take them away.
//
// The client salts the password; what is kept is made of that and does not lead back to it. One answer for each user, who may be named once
// for each mechanism. A user's changes are made together or the first error is answered.
func (h *Handler) alterCredentialsKey() key {
	return key{num: 51, min: 0, max: 0, serve: decoded(h, h.alterCredentials)}
}

func (h *Handler) alterCredentials(ctx context.Context, req *wire.Request, q *kmsg.AlterUserSCRAMCredentialsRequest) *kmsg.AlterUserSCRAMCredentialsResponse {
	denied := h.authorizeCluster(req, acl.Alter)
	var users []string // in order of the request
	changes := make(map[string][]func() error)
	failed := make(map[string]error)
	seen := make(map[[2]string]bool)
	add := func(user string, number int8, err error, change func() error) {
		if _, known := changes[user]; !known {
			users = append(users, user)
		}
		mechanism, ok := scramMechanisms[number]
		switch {
		case denied != nil:
			err = denied
		case !ok:
			err = refuse(kerr.UnsupportedSaslMechanism, fmt.Sprintf("there is no mechanism %d", number))
		case seen[[2]string{user, mechanism}]:
			err = refuse(kerr.DuplicateResource, "the user is named more than once for a mechanism in this request")
		}
		seen[[2]string{user, mechanism}] = true
		changes[user] = append(changes[user], change)
		if err != nil && failed[user] == nil {
			failed[user] = err
		}
	}
	store := h.backend.Access()
	for _, d := range q.Deletions {
		mechanism := scramMechanisms[d.Mechanism]
		var err error
		if store.State().Credentials[d.Name].Of(mechanism) == nil {
			err = refuse(kerr.ResourceNotFound, "there is no such credential")
		}
		add(d.Name, d.Mechanism, err, func() error { return store.DeleteCredential(ctx, d.Name, mechanism) })
	}
	for _, u := range q.Upsertions {
		mechanism := scramMechanisms[u.Mechanism]
		stored, server := keysOf(mechanism, u.SaltedPassword)
		keys := state.Credential{Salt: slices.Clone(u.Salt), Iterations: u.Iterations, StoredKey: stored, ServerKey: server}
		add(u.Name, u.Mechanism, checkUpsert(&u), func() error { return store.SetCredential(ctx, u.Name, mechanism, keys) })
	}
	r := kmsg.NewPtrAlterUserSCRAMCredentialsResponse()
	for _, user := range users {
		a := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
		a.User = user
		err := failed[user]
		for _, change := range changes[user] {
			if err == nil {
				err = acceptable(change())
			}
		}
		a.ErrorCode, a.ErrorMessage = code(err), message(err)
		r.Results = append(r.Results, a)
	}
	return r
}

func checkUpsert(u *kmsg.AlterUserSCRAMCredentialsRequestUpsertion) error {
	switch {
	case u.Name == "":
		return refuse(kerr.UnacceptableCredential, "the user has no name")
	case u.Name == "*" || "User:"+u.Name == wire.Anonymous:
		return refuse(kerr.UnacceptableCredential, "User:"+u.Name+" means others in ACLs: choose another name")
	case !utf8.ValidString(u.Name) || strings.ContainsFunc(u.Name, unicode.IsControl):
		return refuse(kerr.UnacceptableCredential, "a name is UTF-8 without control characters")
	case u.Iterations < state.MinIterations || u.Iterations > state.MaxIterations:
		return refuse(kerr.UnacceptableCredential, fmt.Sprintf("%d iterations, %d to %d are allowed", u.Iterations, state.MinIterations, state.MaxIterations))
	case len(u.SaltedPassword) == 0: // of another length it fits no password, which Kafka leaves to the client
		return refuse(kerr.UnacceptableCredential, "no salted password")
	}
	return nil
}

// acceptable words what the cluster refuses in a credential.
func acceptable(err error) error {
	var invalid state.ErrInvalid
	switch {
	case errors.As(err, &invalid):
		return refuse(kerr.UnacceptableCredential, invalid.Error())
	case errors.Is(err, state.ErrNotFound):
		return refuse(kerr.ResourceNotFound, "there is no such credential")
	}
	return err
}
