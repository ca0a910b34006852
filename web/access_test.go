package web

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/auth"
)

// cheapHash is "correct horse" by argon2id at the least cost, so that a test that logs in often stays fast.
const cheapHash = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$H9YweMwoZaKj+u6urw6adAxV6iLhNwQ/DYbynE6J72M"

const password = "correct horse"

// callers returns a way to sign a request for each kind of caller, on a node with one user for each role and one token for each scope.
func callers(t *testing.T, n *node) map[string]func(*http.Request) {
	t.Helper()
	ctx := context.Background()
	if _, err := n.ctl.AddSite(ctx, "example.com", "Europe/Berlin"); err != nil {
		t.Fatal(err)
	}
	by := map[string]func(*http.Request){
		"anonymous": func(*http.Request) {},
		"socket":    func(r *http.Request) { *r = *r.WithContext(auth.OnSocket(r.Context())) },
	}
	for _, role := range []state.Role{state.RoleAdmin, state.RoleEditor, state.RoleViewer} {
		if _, err := n.ctl.AddUser(ctx, string(role)+"@example.com", role, cheapHash); err != nil {
			t.Fatal(err)
		}
		by[string(role)] = withSession(n, string(role)+"@example.com")
	}
	for _, scope := range []state.Scope{state.ScopeStats, state.ScopeIngest, state.ScopeAdmin} {
		secret := auth.TokenPrefix + "secret-of-" + string(scope)
		if _, err := n.ctl.AddToken(ctx, string(scope), []state.Scope{scope}, sha256.Sum256([]byte(secret))); err != nil {
			t.Fatal(err)
		}
		by["token:"+string(scope)] = func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }
	}
	return by
}

func withSession(n *node, email string) func(*http.Request) {
	secret := n.sessions.Start(n.ctl.State().Users[email], testNow)
	return func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: auth.CookieName, Value: secret})
		r.Header.Set(auth.RequestHeader, "1")
	}
}

// TestWhoMayDoWhat asks every route as every kind of caller. The table is written out by hand: it is the promise, routes.go keeps it.
func TestWhoMayDoWhat(t *testing.T) {
	const (
		everybody = "anonymous viewer editor admin token:stats token:ingest token:admin socket"
		known     = "viewer editor admin token:stats token:ingest token:admin socket"
		people    = "viewer editor admin"
		readers   = "viewer editor admin token:stats token:admin socket"
		importers = "editor admin token:ingest token:admin socket"
		editors   = "editor admin token:admin socket"
		admins    = "admin token:admin socket"
	)
	want := map[string]string{
		"GET /setup": everybody, "POST /setup": everybody, "POST /login": everybody, "POST /logout": everybody, "GET /attribution": everybody,
		"GET /me": known, "POST /me/password": people,
		"GET /sites": readers, "GET /sites/{site}": readers, "GET /sites/{site}/counts": readers, "GET /sites/{site}/stats": readers,
		"GET /sites/{site}/links": readers, "GET /sites/{site}/audit": editors, "GET /sites/{site}/now": readers, "GET /sites/{site}/refused": readers, "GET /sites/{site}/live": readers, "GET /status": readers,
		"POST /sites": editors, "PATCH /sites/{site}": editors, "DELETE /sites/{site}": editors,
		"POST /sites/{site}/import":   importers,
		"POST /sites/{site}/diagnose": admins, "GET /links": readers, "POST /sites/{site}/links": editors, "DELETE /links/{slug}": editors,
		"GET /users": admins, "POST /users": admins, "PUT /users/{email}/password": admins, "DELETE /users/{email}": admins,
		"GET /tokens": admins, "POST /tokens": admins, "DELETE /tokens/{id}": admins, "POST /kafka": admins, "GET /received": admins,
		"GET /cluster": admins, "POST /cluster/tokens": admins, "DELETE /cluster/nodes/{id}": admins,
	}
	n := newNode(t)
	by := callers(t, n)
	n.stop() // live streams end at once

	fill := strings.NewReplacer("{site}", "nosuch.example", "{email}", "nobody@example.com", "{id}", "99", "{slug}", "nosuch")
	for _, route := range n.routes() {
		name := route.method + " " + route.path
		allowed, ok := want[name]
		if !ok {
			t.Errorf("%s is not in the table of this test", name)
			continue
		}
		delete(want, name)
		for who, sign := range by {
			body := ""
			if route.method != http.MethodGet {
				body = `{"field that no route has": 1}`
			}
			code := errorCode(t, n.do(route.method, "/api/v1"+fill.Replace(route.path), body, sign))
			may := code != "unauthenticated" && code != "forbidden" && code != "csrf"
			if wantMay := strings.Contains(" "+allowed+" ", " "+who+" "); may != wantMay {
				t.Errorf("%s as %s: code %q, want allowed %v", name, who, code, wantMay)
			}
			if who == "anonymous" && !may && code != "unauthenticated" {
				t.Errorf("%s as %s: code %q, want unauthenticated", name, who, code)
			}
			if name == "POST /logout" && strings.Contains(people, who) {
				by[who] = withSession(n, who+"@example.com")
			}
		}
	}
	for name := range want {
		t.Errorf("%s is in the table of this test and not in routes.go", name)
	}
}

// errorCode returns the code of an error answer and checks its shape; "" for an answer that is no error.
func errorCode(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	if w.Code < 400 {
		return ""
	}
	var doc struct {
		Error struct{ Code, Message, Field string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc.Error.Code == "" || doc.Error.Message == "" {
		t.Fatalf("status %d with body %q, want the shape of an error (%v)", w.Code, w.Body, err)
	}
	return doc.Error.Code
}

func TestCookieCallsThatChangeSomethingNeedTheHeader(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	without := func(r *http.Request) { by["admin"](r); r.Header.Del(auth.RequestHeader) }
	for _, target := range []string{"POST /sites", "PATCH /sites/example.com", "DELETE /sites/example.com", "POST /logout", "POST /sites/example.com/import", "POST /tokens"} {
		method, path, _ := strings.Cut(target, " ")
		if w := n.do(method, "/api/v1"+path, "{}", without); errorCode(t, w) != "csrf" {
			t.Errorf("%s without the header: %d %s, want csrf", target, w.Code, w.Body)
		}
	}
	if w := n.do("GET", "/api/v1/sites", "", without); w.Code != 200 {
		t.Errorf("GET without the header: %d, want 200", w.Code)
	}
	if w := n.do("POST", "/api/v1/sites", `{"name":"two.example"}`, by["token:admin"]); w.Code != 201 {
		t.Errorf("POST with a token and without the header: %d %s, want 201", w.Code, w.Body)
	}
}

func TestBadTokenIsRefusedEvenWhereNobodyAsks(t *testing.T) {
	n := newNode(t)
	for _, header := range []string{"Bearer weir_wrong", "Bearer", "Basic YTpi", "Bearer eyJhbGciOi"} {
		w := n.do("GET", "/api/v1/setup", "", func(r *http.Request) { r.Header.Set("Authorization", header) })
		if code := errorCode(t, w); code != "unauthenticated" || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%q: %d %s, want unauthenticated", header, w.Code, code)
		}
	}
}

func TestMetricsAreForCallersOnThisMachineAndReaders(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	local := func(r *http.Request) { r.RemoteAddr = "127.0.0.1:1000" }
	proxied := func(r *http.Request) { local(r); r.Header.Set("X-Forwarded-For", "198.51.100.1") }
	cases := []struct {
		who  string
		sign func(*http.Request)
		want int
	}{
		{"local", local, 200}, {"behind a proxy", proxied, 401}, {"elsewhere", by["anonymous"], 401}, {"viewer", by["viewer"], 200},
		{"token with stats", by["token:stats"], 200}, {"token with ingest", by["token:ingest"], 403}, {"socket", by["socket"], 200},
	}
	for _, c := range cases {
		if w := n.do("GET", "/metrics", "", c.sign); w.Code != c.want {
			t.Errorf("%s: %d, want %d", c.who, w.Code, c.want)
		}
	}
}

func TestStreamsAskAgainWhoMayRead(t *testing.T) {
	ctx := context.Background()
	n := newNode(t)
	by := callers(t, n)
	held := map[string]auth.Identity{}
	for who, sign := range by {
		r := httptest.NewRequest("GET", "/", nil)
		sign(r)
		n.auth.Require(auth.Public, func(_ http.ResponseWriter, r *http.Request) { held[who] = auth.FromContext(r.Context()) })(httptest.NewRecorder(), r)
	}
	for who, id := range held {
		if got, want := n.auth.Still(id, auth.Read), who != "anonymous" && who != "token:ingest"; got != want {
			t.Errorf("%s may read: %v, want %v", who, got, want)
		}
	}
	if err := n.ctl.DeleteUser(ctx, "viewer@example.com"); err != nil {
		t.Fatal(err)
	}
	if err := n.ctl.DeleteToken(ctx, 1); err != nil {
		t.Fatal(err)
	}
	n.do("POST", "/api/v1/logout", "", by["editor"])
	for _, who := range []string{"viewer", "editor", "token:stats"} {
		if n.auth.Still(held[who], auth.Read) {
			t.Errorf("%s may still read", who)
		}
	}
	if !n.auth.Still(held["admin"], auth.Read) || !n.auth.Still(held["socket"], auth.Read) {
		t.Error("the others may not")
	}
}
