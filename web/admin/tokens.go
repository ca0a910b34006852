package admin

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/auth"
	"github.com/weir-analytics/weir/web/reply"
)

// tokenDocument is a token on the wire. The secret is there once, in the answer that makes it.
type tokenDocument struct {
	ID        uint64        `json:"id"`
	Name      string        `json:"name"`
	Scopes    []state.Scope `json:"scopes"`
	CreatedAt time.Time     `json:"created_at"`
	Secret    string        `json:"token,omitempty"`
}

// ListTokens answers GET /tokens, oldest first.
func (a *Admin) ListTokens(w http.ResponseWriter, _ *http.Request) {
	tokens := []tokenDocument{}
	for _, t := range a.ctl.State().Tokens {
		tokens = append(tokens, tokenDocument{ID: t.ID, Name: t.Name, Scopes: t.Scopes, CreatedAt: t.CreatedAt})
	}
	slices.SortFunc(tokens, func(a, b tokenDocument) int { return cmp.Compare(a.ID, b.ID) })
	reply.JSON(w, http.StatusOK, struct {
		Tokens []tokenDocument `json:"tokens"`
	}{tokens})
}

// AddToken answers POST /tokens.
func (a *Admin) AddToken(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name   string        `json:"name"`
		Scopes []state.Scope `json:"scopes"`
	}
	err := reply.Decode(r, &in)
	if err == nil {
		secret, hash := auth.NewToken()
		var t state.Token
		if t, err = a.ctl.AddToken(r.Context(), in.Name, in.Scopes, hash); err == nil {
			reply.JSON(w, http.StatusCreated, tokenDocument{ID: t.ID, Name: t.Name, Scopes: t.Scopes, CreatedAt: t.CreatedAt, Secret: secret})
			return
		}
	}
	reply.Fail(w, r, a.log, err)
}

// DeleteToken answers DELETE /tokens/{id}.
func (a *Admin) DeleteToken(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		err = reply.Invalid("id", "%.80q is not the number of a token", chi.URLParam(r, "id"))
	} else {
		err = a.ctl.DeleteToken(r.Context(), id)
	}
	if err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	reply.NoContent(w)
}
