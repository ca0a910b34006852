package auth

import (
	"net/http"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/reply"
)

// Login answers POST /login.
func (a *Auth) Login(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Email    string `json:"email"`
		Password string `json:"password"`
	}
	if err := reply.Decode(r, &in); err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	user, err := a.checkPassword(r, in.Email, in.Password)
	if err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	if old := FromContext(r.Context()); old.Email != "" {
		a.sessions.end(old.session)
	}
	setCookie(w, r, a.sessions.Start(user, a.now()), SessionTime)
	reply.JSON(w, http.StatusOK, person{user.Email, user.Role})
}

type person struct {
	Email string     `json:"email"`
	Role  state.Role `json:"role"`
}

// checkPassword returns the user whose password it is. Every failure counts against the address and
// the account, and unknown users take as long as known ones.
func (a *Auth) checkPassword(r *http.Request, email, password string) (state.User, error) {
	addr, now := a.client(r), a.now()
	if wait := a.throttle.Wait(addr, now); wait > 0 {
		return state.User{}, tooManyTries(wait)
	}
	account := state.UserKey(email)
	if wait := a.accounts.Wait(account, addr, now); wait > 0 {
		return state.User{}, reply.RateLimited(wait, "too many failed tries for this account, try again in %s", wait.Round(time.Second))
	}
	if len(password) > maxPasswordBytes {
		password = "" // never right, and not worth hashing
	}
	user := a.ctl.State().Users[account]
	ok, err := a.hasher.Verify(r.Context(), user.PasswordHash, password)
	if err != nil {
		return state.User{}, err
	}
	if !ok {
		a.throttle.Failed(addr, now)
		a.accounts.Failed(account, addr, now)
		return state.User{}, &reply.Error{Status: http.StatusUnauthorized, Code: "wrong_password", Message: "e-mail address or password is wrong"}
	}
	a.throttle.Succeeded(addr)
	a.accounts.Succeeded(account, addr, now)
	return user, nil
}

func tooManyTries(wait time.Duration) error {
	return reply.RateLimited(wait, "too many failed tries from your address, try again in %s", wait.Round(time.Second))
}

// Logout answers POST /logout. It succeeds without a session too.
func (a *Auth) Logout(w http.ResponseWriter, r *http.Request) {
	if id := FromContext(r.Context()); id.Email != "" {
		a.sessions.end(id.session)
	}
	clearCookie(w, r)
	reply.NoContent(w)
}

// Me answers GET /me.
func (a *Auth) Me(w http.ResponseWriter, r *http.Request) {
	id := FromContext(r.Context())
	reply.JSON(w, http.StatusOK, struct {
		Email  string        `json:"email,omitempty"`
		Role   state.Role    `json:"role,omitempty"`
		Token  string        `json:"token,omitempty"`
		Scopes []state.Scope `json:"scopes,omitempty"`
	}{id.Email, id.Role, id.Token, id.Scopes})
}

// ChangePassword answers POST /me/password. The caller gets a fresh session; all others of this person end, as their proof no longer holds.
func (a *Auth) ChangePassword(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Old string `json:"old"`
		New string `json:"new"`
	}
	if err := reply.Decode(r, &in); err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	if err := a.changePassword(r, in.Old, in.New); err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	id := FromContext(r.Context())
	a.sessions.end(id.session)
	setCookie(w, r, a.sessions.Start(a.ctl.State().Users[state.UserKey(id.Email)], a.now()), SessionTime)
	reply.NoContent(w)
}

func (a *Auth) changePassword(r *http.Request, old, fresh string) error {
	id := FromContext(r.Context())
	if err := CheckPassword("new", fresh); err != nil {
		return err
	}
	if _, err := a.checkPassword(r, id.Email, old); err != nil {
		return err
	}
	hash, err := a.hasher.Hash(r.Context(), fresh)
	if err != nil {
		return err
	}
	return a.ctl.SetPassword(r.Context(), id.Email, hash)
}
