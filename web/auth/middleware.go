package auth

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/reply"
)

// CookieName is the name of the session cookie.
const CookieName = "weir_session"

// RequestHeader must accompany calls that change something and carry the cookie. Another site's page cannot send it: a header of its own
// makes the browser ask first, and the API never allows another origin.
const RequestHeader = "X-Weir-Request"

// Controller is what auth needs of the cluster state. All methods may be called from several goroutines.
type Controller interface {
	// State returns an immutable snapshot.
	State() *state.State
	// SetPassword returns once the change is committed and visible in State.
	SetPassword(ctx context.Context, email, passwordHash string) error
	// CompleteSetup adds the first administrator and the first site in one step, refused with state.ErrSetupDone once any user exists.
	CompleteSetup(ctx context.Context, s raftfsm.Setup) (state.User, state.Site, error)
}

// Auth identifies callers and answers the routes about sessions and set-up.
type Auth struct {
	ctl      Controller
	sessions *Sessions
	hasher   *Hasher
	throttle *Throttle
	accounts *accounts
	tokens   tokenIndex
	setup    setupToken
	client   func(*http.Request) netip.Addr
	now      func() time.Time
	log      *slog.Logger
}

// Config is what New needs.
type Config struct {
	Controller Controller
	Sessions   *Sessions
	Hasher     *Hasher
	Client     func(*http.Request) netip.Addr // address of the caller, for throttling
	Now        func() time.Time
	Log        *slog.Logger
}

// New returns an Auth. It draws the one-time set-up token of this start.
func New(cfg Config) *Auth {
	return &Auth{ctl: cfg.Controller, sessions: cfg.Sessions, hasher: cfg.Hasher, throttle: NewThrottle(), accounts: newAccounts(), setup: drawSetupToken(),
		client: cfg.Client, now: cfg.Now, log: cfg.Log}
}

// Require wraps the handler of a route: the caller must meet need. The handler finds the caller with FromContext.
func (a *Auth) Require(need Need, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id, byCookie, err := a.identify(w, r)
		if err == nil && byCookie && !safeMethod(r.Method) && r.Header.Get(RequestHeader) != "1" {
			err = &reply.Error{Status: http.StatusForbidden, Code: "csrf", Message: "send the header " + RequestHeader + ": 1 with calls that use the cookie"}
		}
		if err == nil && !id.May(need) {
			err = refusal(id, need)
		}
		if err != nil {
			reply.Fail(w, r, a.log, err)
			return
		}
		next(w, r.WithContext(context.WithValue(r.Context(), identityKey, id)))
	}
}

// Still reports whether the caller still meets need; long streams ask now and then, because people get removed while they watch.
func (a *Auth) Still(id Identity, need Need) bool {
	st := a.ctl.State()
	switch {
	case id.Socket:
		return true
	case id.Email != "":
		user, ok := st.Users[state.UserKey(id.Email)]
		id.Role = user.Role
		return ok && a.sessions.alive(id.session, st.Users, a.now()) && id.May(need)
	default:
		token, ok := st.Tokens[id.tokenID]
		id.Scopes = token.Scopes
		return ok && id.May(need)
	}
}

// identify finds out who calls. A token that is sent must be good, even where nobody asks for one; a cookie that is over is no cookie.
func (a *Auth) identify(w http.ResponseWriter, r *http.Request) (id Identity, byCookie bool, err error) {
	if onSocket, _ := r.Context().Value(socketKey).(bool); onSocket {
		return Identity{Socket: true, Role: state.RoleAdmin}, false, nil
	}
	st := a.ctl.State()
	if header := r.Header.Get("Authorization"); header != "" {
		id, err := a.byToken(st, header)
		return id, false, err
	}
	cookie, err := r.Cookie(CookieName)
	if err != nil {
		return Identity{}, false, nil
	}
	now := a.now()
	key, user, ok := a.sessions.find(cookie.Value, st.Users, now)
	if !ok {
		return Identity{}, false, nil
	}
	if a.sessions.renew(key, now) {
		setCookie(w, r, cookie.Value, SessionTime)
	}
	return Identity{Email: user.Email, Role: user.Role, session: key}, true, nil
}

func (a *Auth) byToken(st *state.State, header string) (Identity, error) {
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return Identity{}, reply.Unauthenticated("send the token as \"Authorization: Bearer weir_...\"")
	}
	token, ok := a.tokens.find(st, strings.TrimSpace(secret))
	if !ok {
		return Identity{}, reply.Unauthenticated("this token is unknown or was deleted; make one with weir token add NAME --scope SCOPE")
	}
	return Identity{Token: token.Name, Scopes: token.Scopes, tokenID: token.ID}, nil
}

// refusal says what is missing: being known, or being allowed.
func refusal(id Identity, need Need) error {
	switch {
	case need == Person && id.Known():
		return reply.Forbidden("this is for people who are logged in, not for tokens or the admin socket")
	case !id.Known():
		return reply.Unauthenticated("log in, or send a token as \"Authorization: Bearer weir_...\"")
	case id.Token != "":
		return reply.Forbidden("the token %q lacks the scope for this (it needs %s)", id.Token, scopesFor(need))
	default:
		return reply.Forbidden("the role %s may not do this (it needs %s)", id.Role, rolesFor(need))
	}
}

func scopesFor(need Need) string {
	switch need {
	case Read:
		return "stats or admin"
	case Import:
		return "ingest or admin"
	default:
		return "admin"
	}
}

func rolesFor(need Need) string {
	if need == Admin {
		return "admin"
	}
	return "editor or admin"
}

func safeMethod(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// setCookie hands the session to the browser. It is marked Secure when the browser came by TLS; a forged forwarding header can only hurt
// the one who sends it.
func setCookie(w http.ResponseWriter, r *http.Request, token string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: CookieName, Value: token, Path: "/", MaxAge: int(age / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	})
}

func clearCookie(w http.ResponseWriter, r *http.Request) {
	setCookie(w, r, "", -time.Second)
}
