package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/auth"
)

// cookieOf returns a way to send the session that an answer gave.
func cookieOf(t *testing.T, w *httptest.ResponseRecorder) func(*http.Request) {
	t.Helper()
	for _, c := range w.Result().Cookies() {
		if c.Name == auth.CookieName && c.Value != "" {
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.MaxAge <= 0 {
				t.Errorf("session cookie %+v, want HttpOnly, SameSite=Lax, Path=/ and an age", c)
			}
			return func(r *http.Request) { r.AddCookie(c); r.Header.Set(auth.RequestHeader, "1") }
		}
	}
	t.Fatalf("no session in the answer %d %s", w.Code, w.Body)
	return nil
}

func TestSetupMakesAdminAndSiteOnce(t *testing.T) {
	n := newNode(t)
	link, ok := n.SetupURL()
	_, token, _ := strings.Cut(link, "/setup#")
	if !ok || len(token) < 24 || !strings.HasPrefix(link, "http://127.0.0.1:") {
		t.Fatalf("set-up link %q", link)
	}
	if got := n.do("GET", "/api/v1/setup", "").Body.String(); got != "{\"needed\":true}\n" {
		t.Errorf("before: %s", got)
	}
	body := func(change ...string) string {
		fields := map[string]string{"token": token, "email": "Ada@example.com", "password": "a long password", "site": "Example.com", "timezone": "Europe/Berlin"}
		for i := 0; i < len(change); i += 2 {
			fields[change[i]] = change[i+1]
		}
		b, _ := json.Marshal(fields)
		return string(b)
	}
	wrong := []struct{ field, value, code string }{
		{"token", "wrong", "setup_token"}, {"token", "", "setup_token"}, {"email", "ada", "invalid"}, {"password", "short", "invalid"},
		{"site", "https://example.com/", "invalid"}, {"colour", "red", "invalid"},
	}
	for _, c := range wrong {
		w := n.do("POST", "/api/v1/setup", body(c.field, c.value))
		if code := errorCode(t, w); code != c.code || !strings.Contains(w.Body.String(), `"field":"`+c.field+`"`) {
			t.Errorf("%s=%q: %d %s, want %s", c.field, c.value, w.Code, w.Body, c.code)
		}
	}
	if len(n.ctl.State().Users)+len(n.ctl.State().Sites) != 0 {
		t.Fatal("a refused set-up left something behind")
	}
	w := n.do("POST", "/api/v1/setup", body())
	want := `{"email":"Ada@example.com","role":"admin","site":{"id":1,"name":"example.com","timezone":"Europe/Berlin","created_at":"2026-07-01T12:34:56Z"}}` + "\n"
	if w.Code != 201 || w.Body.String() != want {
		t.Fatalf("set-up: %d %s, want %s", w.Code, w.Body, want)
	}
	if me := n.do("GET", "/api/v1/me", "", cookieOf(t, w)); me.Body.String() != "{\"email\":\"Ada@example.com\",\"role\":\"admin\"}\n" {
		t.Errorf("me: %d %s", me.Code, me.Body)
	}
	if code := errorCode(t, n.do("POST", "/api/v1/setup", body())); code != "exists" {
		t.Errorf("second set-up: %q, want exists", code)
	}
	if _, ok := n.SetupURL(); ok {
		t.Error("there is still a set-up link")
	}
}

func TestLoginAndLogout(t *testing.T) {
	n := newNode(t)
	callers(t, n)
	w := n.do("POST", "/api/v1/login", `{"email":" ADMIN@example.com","password":"`+password+`"}`)
	if w.Code != 200 || w.Body.String() != "{\"email\":\"admin@example.com\",\"role\":\"admin\"}\n" {
		t.Fatalf("login: %d %s", w.Code, w.Body)
	}
	session := cookieOf(t, w)
	if w := n.do("GET", "/api/v1/me", "", session); w.Code != 200 {
		t.Errorf("with the session: %d", w.Code)
	}
	if w := n.do("POST", "/api/v1/logout", "", session); w.Code != 204 || !strings.Contains(w.Header().Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("logout: %d %q", w.Code, w.Header().Get("Set-Cookie"))
	}
	if code := errorCode(t, n.do("GET", "/api/v1/me", "", session)); code != "unauthenticated" {
		t.Errorf("after logout: %q", code)
	}
	if w := n.do("POST", "/api/v1/logout", ""); w.Code != 204 {
		t.Errorf("logout without a session: %d, want 204", w.Code)
	}
}

func TestCookieIsSecureBehindTLS(t *testing.T) {
	n := newNode(t)
	callers(t, n)
	body := `{"email":"admin@example.com","password":"` + password + `"}`
	if got := n.do("POST", "/api/v1/login", body).Header().Get("Set-Cookie"); strings.Contains(got, "Secure") {
		t.Errorf("over plain HTTP: %q, a browser would drop it", got)
	}
	https := func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }
	if got := n.do("POST", "/api/v1/login", body, https).Header().Get("Set-Cookie"); !strings.Contains(got, "; Secure") {
		t.Errorf("behind TLS: %q, want Secure", got)
	}
}

func TestWrongPasswordsCloseLoginForTheAddress(t *testing.T) {
	clock := testNow
	n := newNode(t, func(c *Config) { c.Now = func() time.Time { return clock } })
	callers(t, n)
	login := func(email, password, addr string) *httptest.ResponseRecorder {
		return n.do("POST", "/api/v1/login", `{"email":"`+email+`","password":"`+password+`"}`, func(r *http.Request) { r.RemoteAddr = addr })
	}
	for i := range 10 {
		// Unknown users count like wrong passwords, and neither says which it was.
		email := []string{"admin@example.com", "nobody@example.com"}[i%2]
		if code := errorCode(t, login(email, "wrong password", "[2001:db8::1]:1")); code != "wrong_password" {
			t.Fatalf("try %d: %q, want wrong_password", i+1, code)
		}
	}
	w := login("admin@example.com", password, "[2001:db8::ffff]:1") // same /64
	if errorCode(t, w) != "rate_limited" || w.Header().Get("Retry-After") != "900" {
		t.Errorf("after ten: %d %s, Retry-After %q", w.Code, w.Body, w.Header().Get("Retry-After"))
	}
	if w := login("admin@example.com", password, "[2001:db8:0:1::1]:1"); w.Code != 200 {
		t.Errorf("from another network: %d, want 200", w.Code)
	}
	clock = clock.Add(16 * time.Minute)
	if w := login("admin@example.com", password, "[2001:db8::1]:1"); w.Code != 200 {
		t.Errorf("later: %d, want 200", w.Code)
	}
	if strings.Contains(n.logged.String(), password) || strings.Contains(n.logged.String(), "2001:db8") {
		t.Error("the log holds a password or an address")
	}
}

// Whether the account exists does not matter, so that guessing tells nothing of that either.
func TestWrongPasswordsFromManyAddressesCloseTheAccount(t *testing.T) {
	n := newNode(t)
	callers(t, n)
	login := func(email, password, addr string) string {
		w := n.do("POST", "/api/v1/login", `{"email":"`+email+`","password":"`+password+`"}`, func(r *http.Request) { r.RemoteAddr = addr + ":1" })
		if w.Code == 200 {
			return ""
		}
		return errorCode(t, w)
	}
	if code := login("admin@example.com", password, "192.0.2.1"); code != "" {
		t.Fatalf("at home: %s", code)
	}
	for _, email := range []string{"admin@example.com", "nobody@example.com"} {
		for i := range 50 {
			if code := login(email, "wrong password", fmt.Sprintf("198.51.100.%d", i)); code != "wrong_password" {
				t.Fatalf("%s, try %d: %q", email, i+1, code)
			}
		}
		if code := login(" "+strings.ToUpper(email), password, "198.51.100.200"); code != "rate_limited" {
			t.Errorf("%s after fifty: %q, want rate_limited", email, code)
		}
	}
	if code := login("admin@example.com", password, "192.0.2.1"); code != "" {
		t.Errorf("at home after that: %s", code)
	}
}

func TestSessionsSurviveARestart(t *testing.T) {
	first := newNode(t)
	callers(t, first)
	session := cookieOf(t, first.do("POST", "/api/v1/login", `{"email":"viewer@example.com","password":"`+password+`"}`))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := newNode(t, func(c *Config) {
		c.DataDir = first.cfg.DataDir
		c.Controller = first.ctl
		c.Registry = prometheus.NewRegistry()
	})
	if w := second.do("GET", "/api/v1/me", "", session); w.Code != 200 {
		t.Errorf("after the restart: %d %s", w.Code, w.Body)
	}
	clock := testNow.Add(auth.SessionTime + time.Minute)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third := newNode(t, func(c *Config) {
		c.DataDir, c.Controller, c.Now = first.cfg.DataDir, first.ctl, func() time.Time { return clock }
	})
	if w := third.do("GET", "/api/v1/me", "", session); w.Code != 401 {
		t.Errorf("after its time: %d, want 401", w.Code)
	}
}

func TestSessionIsRenewedWhileInUse(t *testing.T) {
	clock := testNow
	n := newNode(t, func(c *Config) { c.Now = func() time.Time { return clock } })
	callers(t, n)
	session := cookieOf(t, n.do("POST", "/api/v1/login", `{"email":"viewer@example.com","password":"`+password+`"}`))
	for day := range 100 {
		clock = testNow.Add(time.Duration(day) * 24 * time.Hour)
		if w := n.do("GET", "/api/v1/me", "", session); w.Code != 200 {
			t.Fatalf("day %d: %d", day, w.Code)
		}
	}
}

func TestSessionEndsWithTheUserOrThePassword(t *testing.T) {
	ctx := context.Background()
	end := map[string]func(*node) error{
		"deleted":      func(n *node) error { return n.ctl.DeleteUser(ctx, "viewer@example.com") },
		"new password": func(n *node) error { return n.ctl.SetPassword(ctx, "viewer@example.com", cheapHash+"x") },
	}
	for name, do := range end {
		n := newNode(t)
		by := callers(t, n)
		if err := do(n); err != nil {
			t.Fatal(err)
		}
		if w := n.do("GET", "/api/v1/me", "", by["viewer"]); w.Code != 401 {
			t.Errorf("%s: %d, want 401", name, w.Code)
		}
	}
}

func TestRoleIsReadOnEveryCall(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	if w := n.do("GET", "/api/v1/users", "", by["viewer"]); errorCode(t, w) != "forbidden" {
		t.Fatalf("viewer: %d", w.Code)
	}
	n.ctl.mu.Lock()
	user := n.ctl.st.Users["viewer@example.com"]
	user.Role = state.RoleAdmin
	n.ctl.st.Users["viewer@example.com"] = user
	n.ctl.mu.Unlock()
	if w := n.do("GET", "/api/v1/users", "", by["viewer"]); w.Code != 200 {
		t.Errorf("after the change: %d, want 200", w.Code)
	}
}

func TestChangeOfOnesPassword(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	other := withSession(n, "viewer@example.com")
	change := func(old, fresh string) *httptest.ResponseRecorder {
		return n.do("POST", "/api/v1/me/password", `{"old":"`+old+`","new":"`+fresh+`"}`, by["viewer"])
	}
	if code := errorCode(t, change("wrong password", "another password")); code != "wrong_password" {
		t.Errorf("wrong old one: %q", code)
	}
	if code := errorCode(t, change(password, "short")); code != "invalid" {
		t.Errorf("short new one: %q", code)
	}
	w := change(password, "another password")
	if w.Code != 204 {
		t.Fatalf("change: %d %s", w.Code, w.Body)
	}
	if w := n.do("GET", "/api/v1/me", "", cookieOf(t, w)); w.Code != 200 {
		t.Errorf("with the session of the answer: %d", w.Code)
	}
	if w := n.do("GET", "/api/v1/me", "", other); w.Code != 401 {
		t.Errorf("with another session: %d, want 401", w.Code)
	}
	if w := n.do("POST", "/api/v1/login", `{"email":"viewer@example.com","password":"another password"}`); w.Code != 200 {
		t.Errorf("login with the new one: %d %s", w.Code, w.Body)
	}
}
