package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/admin"
	"github.com/weir-analytics/weir/web/stats"
)

// fakeController applies real commands to a real state, without a log below it.
type fakeController struct {
	mu  sync.Mutex
	st  *state.State
	err error // what every change fails with, when set
}

func newFakeController() *fakeController { return &fakeController{st: state.New()} }

func (c *fakeController) State() *state.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.st
}

func apply[T any](c *fakeController, cmd command.Command) (T, error) {
	var zero T
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return zero, c.err
	}
	next, result, err := c.st.Apply(cmd, testNow)
	if err != nil {
		return zero, err
	}
	c.st = next
	typed, _ := result.(T)
	return typed, nil
}

func (c *fakeController) AddSite(_ context.Context, name, timezone string) (state.Site, error) {
	return apply[state.Site](c, command.AddSite{Name: name, Timezone: timezone})
}

func (c *fakeController) UpdateSite(_ context.Context, name string, to raftfsm.SiteChange) (state.Site, error) {
	return apply[state.Site](c, command.UpdateSite{Name: name, NewName: to.Name, Timezone: to.Timezone, Rules: to.Rules})
}

func (c *fakeController) DeleteSite(_ context.Context, name string) error {
	_, err := apply[any](c, command.DeleteSite{Name: name})
	return err
}

func (c *fakeController) PutLinks(_ context.Context, links []command.Link, replace bool) ([]state.Link, error) {
	return apply[[]state.Link](c, command.PutLinks{Links: links, Replace: replace})
}

func (c *fakeController) DeleteLink(_ context.Context, domain, slug string) error {
	_, err := apply[any](c, command.DeleteLink{Domain: domain, Slug: slug})
	return err
}

func (c *fakeController) AddUser(_ context.Context, email string, role state.Role, hash string) (state.User, error) {
	return apply[state.User](c, command.AddUser{Email: email, Role: string(role), PasswordHash: hash})
}

func (c *fakeController) SetPassword(_ context.Context, email, hash string) error {
	_, err := apply[any](c, command.SetPassword{Email: email, PasswordHash: hash})
	return err
}

func (c *fakeController) DeleteUser(_ context.Context, email string) error {
	_, err := apply[any](c, command.DeleteUser{Email: email})
	return err
}

func (c *fakeController) AddToken(_ context.Context, name string, scopes []state.Scope, hash [32]byte) (state.Token, error) {
	cmd := command.AddToken{Name: name, SecretHash: hash}
	for _, scope := range scopes {
		cmd.Scopes = append(cmd.Scopes, string(scope))
	}
	return apply[state.Token](c, cmd)
}

func (c *fakeController) DeleteToken(_ context.Context, id uint64) error {
	_, err := apply[any](c, command.DeleteToken{ID: id})
	return err
}

func (c *fakeController) CompleteSetup(_ context.Context, s raftfsm.Setup) (state.User, state.Site, error) {
	result, err := apply[state.SetupResult](c, command.CompleteSetup{
		User: command.AddUser{Email: s.Email, Role: string(state.RoleAdmin), PasswordHash: s.PasswordHash},
		Site: command.AddSite{Name: s.Site, Timezone: s.Timezone},
	})
	return result.User, result.Site, err
}

// fakeRollup answers what a test puts in.
type fakeRollup struct {
	mu          sync.Mutex
	asked       stats.Query
	rows        []stats.Row
	now         stats.NowCounts
	first, last time.Time
	err         error
	waited      map[int32]int64
	changed     chan struct{}

	audited     stats.AuditQuery
	auditErr    error
	differences []stats.Difference
}

func (f *fakeRollup) Query(_ context.Context, q stats.Query) (stats.Answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = q
	rows := f.rows
	if q.Limit > 0 && len(rows) > q.Limit {
		rows = rows[:q.Limit]
	}
	return stats.Answer{From: q.From, To: q.To, CompleteTo: testNow, Rows: rows, VisitorsAre: "union"}, f.err
}

func (f *fakeRollup) Now(state.SiteID) (stats.NowCounts, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now, f.err
}

func (f *fakeRollup) Bounds(state.SiteID) (first, last time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first, f.last, !f.first.IsZero()
}

func (f *fakeRollup) Refused(site state.SiteID, from, to time.Time) ([]stats.RefusedCount, time.Time) {
	if site == 0 {
		return []stats.RefusedCount{{Reason: "not-json", Count: 2}}, testNow
	}
	return []stats.RefusedCount{{Reason: "future", Count: int64(to.Sub(from) / time.Minute)}}, testNow
}

func (f *fakeRollup) Audit(_ context.Context, q stats.AuditQuery, progress func(done, all int64)) (stats.AuditResult, error) {
	f.audited = q
	for i := range int64(3) {
		progress(i, 3)
	}
	if f.auditErr != nil {
		return stats.AuditResult{}, f.auditErr
	}
	return stats.AuditResult{From: q.From, To: q.To, Events: 3, Offsets: map[int32]int64{0: 3}, Rows: 5, Differences: f.differences}, nil
}

func (f *fakeRollup) Watch(state.SiteID) (<-chan struct{}, func()) { return f.changed, func() {} }

func (f *fakeRollup) WaitFor(_ context.Context, offsets map[int32]int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waited = offsets
	return nil
}

func (f *fakeRollup) set(change func(*fakeRollup)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// fakeImporter counts lines; those with "bad" in them are rejected.
type fakeImporter struct{ got admin.ImportRequest }

func (f *fakeImporter) Import(_ context.Context, in admin.ImportRequest, progress func(admin.ImportCounts)) (admin.ImportResult, error) {
	f.got = in
	var result admin.ImportResult
	body, err := io.ReadAll(in.Body)
	for line := range strings.Lines(string(body)) {
		result.Lines++
		if strings.Contains(line, "fail") {
			return result, errors.New("read the log after line 1: gzip: invalid checksum")
		}
		if strings.Contains(line, "bad") {
			result.Rejected++
			result.Reasons = map[string]int64{"not a log line": result.Rejected}
			result.Examples = append(result.Examples, admin.ImportExample{Line: result.Lines, Error: "not a log line"})
		} else {
			result.Accepted++
			result.Humans++
		}
		progress(result.ImportCounts)
	}
	result.Offsets = map[int32]int64{0: result.Accepted}
	return result, err
}

// testNow is an afternoon in summer: Berlin is two hours ahead of UTC.
var testNow = time.Date(2026, 7, 1, 12, 34, 56, 0, time.UTC)

// node is a server with fakes around it.
type node struct {
	*Server
	ctl      *fakeController
	rollup   *fakeRollup
	importer *fakeImporter
	handler  http.Handler
	logged   *strings.Builder
}

func newNode(t *testing.T, change ...func(*Config)) *node {
	t.Helper()
	n := &node{ctl: newFakeController(), rollup: &fakeRollup{changed: make(chan struct{}, 1)}, importer: &fakeImporter{}, logged: &strings.Builder{}}
	cfg := Default()
	cfg.TrackerFile = func(path string) string {
		return map[string]string{"/js/weir.js": "js/weir.js", "/js/plausible.js": "js/weir.js", "/js/weir.404.js": "js/weir.all.js", "/js/script.js": "js/weir.js"}[path]
	}
	cfg.Listen, cfg.DataDir = "127.0.0.1:0", t.TempDir()
	cfg.Controller, cfg.Rollup, cfg.Importer = n.ctl, n.rollup, n.importer
	cfg.Collect = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "collect "+r.Method+" "+r.URL.Path)
	})
	cfg.HitSchema = []byte("syntax = \"proto3\";\n")
	cfg.Assets = fstest.MapFS{
		"index.html":           {Data: []byte("<!doctype html><title>weir</title>")},
		"assets/app-abc123.js": {Data: []byte(strings.Repeat("console.log('weir');\n", 200))},
		"js/weir.js":           {Data: []byte("// tracker\n")},
		"js/weir.all.js":       {Data: []byte("// with options\n")},
		"favicon.svg":          {Data: []byte("<svg xmlns='http://www.w3.org/2000/svg'/>")},
	}
	cfg.Registry = prometheus.NewRegistry()
	cfg.Now = func() time.Time { return testNow }
	cfg.Log = slog.New(slog.NewTextHandler(n.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	cfg.Status = func() Status {
		return Status{Version: "1.2.3", DataDir: "/var/lib/weir", GeoIPASN: GeoIP{Source: "/var/lib/geo/asn.mmdb"}, Listeners: map[string]string{"http": ":8080"}}
	}
	cfg.Received = func(_ context.Context, q ReceivedQuery) (any, error) { return q, nil }
	cfg.Attribution = func() []Attribution {
		return []Attribution{{Text: "IP Geolocation by DB-IP", URL: "https://db-ip.com", Licence: "CC BY 4.0"}}
	}
	for _, f := range change {
		f(&cfg)
	}
	server, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n.Server, n.handler = server, server.handler()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return n
}

// do sends one request to the handler. change may alter it first.
func (n *node) do(method, target, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.RemoteAddr = "203.0.113.7:4711"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	n.handler.ServeHTTP(w, r)
	return w
}
