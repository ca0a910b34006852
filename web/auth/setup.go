package auth

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"time"

	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/reply"
)

// setupToken proves that whoever completes the set-up can read the log of the node. It is drawn at each start and has no use once a user exists.
type setupToken struct {
	text string
	hash [sha256.Size]byte
}

func drawSetupToken() setupToken {
	raw := make([]byte, 24)
	_, _ = rand.Read(raw) // never fails
	text := base64.RawURLEncoding.EncodeToString(raw)
	return setupToken{text: text, hash: sha256.Sum256([]byte(text))}
}

func (t setupToken) matches(given string) bool {
	hash := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(hash[:], t.hash[:]) == 1
}

// SetupToken returns the one-time token, and false once a user exists and it is worth nothing.
func (a *Auth) SetupToken() (string, bool) {
	if len(a.ctl.State().Users) > 0 {
		return "", false
	}
	return a.setup.text, true
}

// NeedsSetup answers GET /setup.
func (a *Auth) NeedsSetup(w http.ResponseWriter, _ *http.Request) {
	reply.JSON(w, http.StatusOK, struct {
		Needed bool `json:"needed"`
	}{len(a.ctl.State().Users) == 0})
}

// CompleteSetup answers POST /setup: the first administrator and the first site, in one command, and a session.
func (a *Auth) CompleteSetup(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Token    string `json:"token"`
		Email    string `json:"email"`
		Password string `json:"password"`
		Site     string `json:"site"`
		Timezone string `json:"timezone"`
	}
	if err := reply.Decode(r, &in); err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	user, site, err := a.completeSetup(r, in.Token, in.Email, in.Password, in.Site, in.Timezone)
	if err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	setCookie(w, r, a.sessions.Start(user, a.now()), SessionTime)
	reply.JSON(w, http.StatusCreated, struct {
		Email string     `json:"email"`
		Role  state.Role `json:"role"`
		Site  firstSite  `json:"site"`
	}{user.Email, user.Role, firstSite{site.ID, site.Name, site.Timezone, site.CreatedAt}})
}

// firstSite is the site as the API shows it, without counts: there are none yet.
type firstSite struct {
	ID        state.SiteID `json:"id"`
	Name      string       `json:"name"`
	Timezone  string       `json:"timezone"`
	CreatedAt time.Time    `json:"created_at"`
}

func (a *Auth) completeSetup(r *http.Request, token, email, password, site, timezone string) (state.User, state.Site, error) {
	var noUser state.User
	var noSite state.Site
	if len(a.ctl.State().Users) > 0 {
		return noUser, noSite, state.ErrSetupDone
	}
	addr, now := a.client(r), a.now()
	if wait := a.throttle.Wait(addr, now); wait > 0 {
		return noUser, noSite, tooManyTries(wait)
	}
	if !FromContext(r.Context()).Socket && !a.setup.matches(token) {
		a.throttle.Failed(addr, now)
		return noUser, noSite, &reply.Error{Status: http.StatusForbidden, Code: "setup_token", Field: "token",
			Message: "the set-up token is wrong; open the set-up link that the node printed at its last start"}
	}
	if err := CheckPassword("password", password); err != nil {
		return noUser, noSite, err
	}
	hash, err := a.hasher.Hash(r.Context(), password)
	if err != nil {
		return noUser, noSite, err
	}
	user, made, err := a.ctl.CompleteSetup(r.Context(), raftfsm.Setup{Email: email, PasswordHash: hash, Site: site, Timezone: cmp.Or(timezone, "UTC")})
	if invalid, ok := errors.AsType[state.ErrInvalid](err); ok && invalid.Field == "name" {
		return noUser, noSite, reply.Invalid("site", "site: %s", invalid.Reason)
	}
	return user, made, err
}
