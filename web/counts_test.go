package web

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/web/stats"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestBreakdown(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	n.rollup.rows = []stats.Row{
		{Key: "DE", Visitors: 120, Pageviews: 300, Hits: 350, Humans: 330, Bots: 20, Events: 10, Clicks: 20},
		{Key: "??", Visitors: 4, Pageviews: 6, Hits: 9, Humans: 6, Bots: 3},
	}
	w := n.do("GET", "/api/v1/sites/WWW.Example.com/counts?by=country&from=2026-03-01&to=2026-03-07", "", by["viewer"])
	want := `{"site":"example.com","timezone":"Europe/Berlin","from":"2026-03-01T00:00:00+01:00","to":"2026-03-08T00:00:00+01:00",` +
		`"by":"country","every":"","link":"","complete_to":"2026-07-01T12:34:56Z","visitors_are":"union","truncated":false,"rows":[` +
		`{"key":"DE","visitors":120,"pageviews":300,"hits":350,"humans":330,"bots":20,"events":10,"clicks":20},` +
		`{"key":"??","visitors":4,"pageviews":6,"hits":9,"humans":6,"bots":3,"events":0,"clicks":0}]}` + "\n"
	if w.Code != 200 || w.Body.String() != want {
		t.Errorf("got  %d %s\nwant %s", w.Code, w.Body, want)
	}
	if q := n.rollup.asked; q.Site != 1 || q.By != "country" || q.Every != "" || q.Limit != 1001 || !q.From.Equal(at("2026-03-01T00:00:00+01:00")) || !q.To.Equal(at("2026-03-08T00:00:00+01:00")) {
		t.Errorf("asked %+v", q)
	}
	if got := n.do("GET", "/api/v1/sites/example.com/stats?by=country&from=2026-03-01&to=2026-03-07", "", by["viewer"]).Body.String(); got != want {
		t.Errorf("by the other name: %s", got)
	}
	w = n.do("GET", "/api/v1/sites/example.com/counts?by=country&from=2026-03-01&limit=1", "", by["viewer"])
	if !strings.Contains(w.Body.String(), `"truncated":true,"rows":[{"key":"DE"`) || strings.Contains(w.Body.String(), "??") {
		t.Errorf("with limit=1: %s", w.Body)
	}
}

func TestSeriesKeepsTheTwoHoursOfTheSameNameApart(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	n.rollup.rows = []stats.Row{
		{Start: at("2025-10-26T00:00:00Z"), Visitors: 7, Hits: 8},
		{Start: at("2025-10-26T01:00:00Z"), Visitors: 5, Hits: 6},
	}
	w := n.do("GET", "/api/v1/sites/example.com/counts?every=hour&from=2025-10-26&to=2025-10-26&zero=1", "", by["token:stats"])
	body := w.Body.String()
	if got := strings.Count(body, `"start":`); w.Code != 200 || got != 25 {
		t.Fatalf("%d rows, want 25: %d %s", got, w.Code, body)
	}
	for _, want := range []string{
		`{"key":"2025-10-26T02:00:00+02:00","start":"2025-10-26T02:00:00+02:00","visitors":7,"pageviews":0,"hits":8,`,
		`{"key":"2025-10-26T02:00:00+01:00","start":"2025-10-26T02:00:00+01:00","visitors":5,"pageviews":0,"hits":6,`,
		`{"key":"2025-10-26T03:00:00+01:00","start":"2025-10-26T03:00:00+01:00","visitors":0,`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
}

func TestOpenRangeGoesFromTheFirstHitToTheEndOfTheBucket(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	ask := func(query string) string {
		return n.do("GET", "/api/v1/sites/example.com/counts?"+query, "", by["viewer"]).Body.String()
	}
	if got := ask(""); !strings.Contains(got, `"from":null,"to":null`) || !strings.Contains(got, `"rows":[]`) {
		t.Errorf("without a hit: %s", got)
	}
	n.rollup.first, n.rollup.last = at("2026-06-30T10:03:27Z"), at("2026-07-01T12:34:50Z")
	cases := []struct{ query, want string }{
		{"", `"from":"2026-06-30T00:00:00+02:00","to":"2026-07-02T00:00:00+02:00"`},
		{"every=hour", `"from":"2026-06-30T12:00:00+02:00","to":"2026-07-01T15:00:00+02:00"`},
		{"every=minute", `"from":"2026-06-30T12:03:00+02:00","to":"2026-07-01T14:35:00+02:00"`},
		{"every=month", `"from":"2026-06-01T00:00:00+02:00","to":"2026-08-01T00:00:00+02:00"`},
		{"to=2026-06-01", `"to":"2026-06-02T00:00:00+02:00"`},
		{"from=2026-08-01", `"from":"2026-08-01T00:00:00+02:00","to":"2026-08-02T00:00:00+02:00"`},
	}
	for _, c := range cases {
		if got := ask(c.query); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
	n.rollup.last = at("2026-07-01T13:00:00Z") // the minute that ends the hour is not the next hour
	if got := ask("every=hour"); !strings.Contains(got, `"to":"2026-07-01T15:00:00+02:00"`) {
		t.Errorf("last minute of an hour: %s", got)
	}
	n.rollup.last = at("2026-07-01T13:01:00Z")
	if got := ask("every=hour"); !strings.Contains(got, `"to":"2026-07-01T16:00:00+02:00"`) {
		t.Errorf("a clock that is ahead: %s", got)
	}
	for query, refused := range map[string]bool{"every=minute&last=10080m": false, "every=minute&from=2025-12-01": false, "every=minute&zero=1&from=2025-12-01": true, "every=minute&from=2020-01-01": true, "every=hour&from=2020-01-01&zero=1": false} {
		got := ask(query)
		if !refused && !strings.Contains(got, `"rows":`) || refused && (!strings.Contains(got, `"field":"every"`) || !strings.Contains(got, "windows by minute; give a shorter range")) {
			t.Errorf("%s: %.300s", query, got)
		}
	}
}

func TestNowAndLinks(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	n.rollup.now = stats.NowCounts{Visitors5m: 12, Hits1m: 9, Visitors30m: 80, Hits30m: 340, CompleteTo: testNow}
	n.rollup.first = testNow
	want := `{"visitors_5m":12,"hits_1m":9,"visitors_30m":80,"hits_30m":340,"complete_to":"2026-07-01T12:34:56Z","first_hit":true}` + "\n"
	if got := n.do("GET", "/api/v1/sites/example.com/now", "", by["viewer"]).Body.String(); got != want {
		t.Errorf("now: %s, want %s", got, want)
	}
	if w := n.do("GET", "/api/v1/sites/example.com/links?last=31d&limit=100", "", by["viewer"]); w.Code != 200 || n.rollup.asked.By != "link" || n.rollup.asked.Limit != 101 {
		t.Errorf("links: %d, asked %+v", w.Code, n.rollup.asked)
	}
	if code := errorCode(t, n.do("GET", "/api/v1/sites/example.com/links?by=os", "", by["viewer"])); code != "invalid" {
		t.Errorf("links by os: %q", code)
	}
}

func TestErrorsOfOtherRooms(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	cases := []struct {
		err    error
		status int
		code   string
	}{
		{raftfsm.ErrUnavailable, 503, "unavailable"}, {raftfsm.ErrOutcomeUnknown, 504, "outcome_unknown"}, {errors.New("disk /secret/dir broke"), 500, "internal"},
	}
	for _, c := range cases {
		n.ctl.err = c.err
		w := n.do("POST", "/api/v1/sites", `{"name":"two.example"}`, by["admin"])
		if code := errorCode(t, w); w.Code != c.status || code != c.code {
			t.Errorf("%v: %d %s, want %d %s", c.err, w.Code, code, c.status, c.code)
		}
		if strings.Contains(w.Body.String(), "/secret") {
			t.Errorf("the answer tells a path: %s", w.Body)
		}
		if retry := w.Header().Get("Retry-After"); (retry != "") != (c.status == 503) {
			t.Errorf("%v: Retry-After %q", c.err, retry)
		}
	}
	n.rollup.set(func(f *fakeRollup) { f.err = errors.New("still loading") })
	if w := n.do("GET", "/api/v1/sites", "", by["admin"]); w.Code != 200 || !strings.Contains(w.Body.String(), `"visitors_now":null,"hits_30m":null,"first_hit":null`) {
		t.Errorf("sites without counts: %d %s", w.Code, w.Body)
	}
	if w := n.do("GET", "/api/v1/sites/example.com/counts?last=1d", "", by["admin"]); w.Code != 500 {
		t.Errorf("counts: %d", w.Code)
	}
}

func TestBodiesAndPathsThatAreWrong(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	plain := func(r *http.Request) { by["admin"](r); r.Header.Set("Content-Type", "text/plain") }
	cases := []struct {
		name, method, path, body string
		sign                     func(*http.Request)
		status                   int
		code                     string
	}{
		{"cut off", "POST", "/sites", `{"name":"a.exa`, by["admin"], 400, "invalid"},
		{"empty", "POST", "/sites", " ", by["admin"], 400, "invalid"},
		{"two documents", "POST", "/sites", `{"name":"a.example"}{}`, by["admin"], 400, "invalid"},
		{"wrong type", "POST", "/sites", `{"name":7}`, by["admin"], 400, "invalid"},
		{"list for object", "POST", "/sites", `[]`, by["admin"], 400, "invalid"},
		{"unknown field", "POST", "/sites", `{"nmae":"a.example"}`, by["admin"], 400, "invalid"},
		{"not JSON", "POST", "/sites", `{"name":"a.example"}`, plain, 415, "unsupported_media_type"},
		{"too large", "POST", "/sites", `{"name":"` + strings.Repeat("a", 70<<10) + `"}`, by["admin"], 413, "too_large"},
		{"taken", "POST", "/sites", `{"name":"example.com"}`, by["admin"], 409, "exists"},
		{"bad name", "POST", "/sites", `{"name":"a b"}`, by["admin"], 400, "invalid"},
		{"no such site", "GET", "/sites/nosuch.example/counts", "", by["admin"], 404, "not_found"},
		{"no such user", "DELETE", "/users/nobody@example.com", "", by["admin"], 404, "not_found"},
		{"last admin", "DELETE", "/users/admin@example.com", "", by["admin"], 400, "invalid"},
		{"no number", "DELETE", "/tokens/abc", "", by["admin"], 400, "invalid"},
		{"bad role", "POST", "/users", `{"email":"b@example.com","role":"king","password":"long enough"}`, by["admin"], 400, "invalid"},
		{"bad scope", "POST", "/tokens", `{"name":"x","scopes":["all"]}`, by["admin"], 400, "invalid"},
		{"no such path", "GET", "/nosuch", "", by["admin"], 404, "not_found"},
		{"wrong method", "PUT", "/sites", "{}", by["admin"], 405, "method_not_allowed"},
	}
	for _, c := range cases {
		w := n.do(c.method, "/api/v1"+c.path, c.body, c.sign)
		if code := errorCode(t, w); w.Code != c.status || code != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.name, w.Code, w.Body, c.status, c.code)
		}
		if c.status == 405 && w.Header().Get("Allow") != "GET, POST" {
			t.Errorf("%s: Allow is %q", c.name, w.Header().Get("Allow"))
		}
	}
	if w := n.do("GET", "/api/v2/query", ""); errorCode(t, w) != "not_found" {
		t.Errorf("another API: %d", w.Code)
	}
}

func TestSitesUsersAndTokens(t *testing.T) {
	n := newNode(t)
	admin := callers(t, n)["admin"]
	steps := []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/sites", `{"name":"Go.Example"}`, 201, `{"id":2,"name":"go.example","timezone":"UTC","created_at":"2026-07-01T12:34:56Z","visitors_now":0,"hits_30m":0,"first_hit":false}`},
		{"GET", "/sites", "", 200, `"name":"example.com"`},
		{"PATCH", "/sites/go.example", `{"timezone":"Asia/Kolkata"}`, 200, `"timezone":"Asia/Kolkata"`},
		{"GET", "/sites/go.example", "", 200, `"timezone":"Asia/Kolkata"`},
		{"PATCH", "/sites/go.example", `{"rules":{"addresses":["192.0.2.0/24"],"query_listed":true}}`, 200, `"timezone":"Asia/Kolkata"`},
		{"GET", "/sites/go.example", "", 200, `"rules":{"addresses":["192.0.2.0/24"],"query_listed":true}`},
		{"PATCH", "/sites/go.example", `{"rules":{"addresses":["localhost"]}}`, 400, `"field":"addresses"`},
		{"PATCH", "/sites/go.example", `{"rules":{"countries":["Germany"]}}`, 400, `"field":"countries"`},
		{"PATCH", "/sites/go.example", `{"rules":{"paths":["admin"]}}`, 400, `"field":"paths"`},
		{"DELETE", "/sites/go.example", "", 204, ""},
		{"GET", "/sites/go.example", "", 404, "not_found"},
		{"POST", "/sites/example.com/links", `{"links":[{"slug":"one","dest":"https://a.example/"},{"slug":"two","domain":"go.example","dest":"https://a.example/2","status":301,"expires_at":"2026-12-31T00:00:00Z"}]}`, 201,
			`{"links":[{"id":"one","slug":"one","domain":"","site":"example.com","dest":"https://a.example/","status":302,"pass_query":false,"pass_path":false,"expires_at":null,"created_at":"2026-07-01T12:34:56Z"},{"id":"go.example/two","slug":"two","domain":"go.example"`},
		{"POST", "/sites/example.com/links", `{"links":[{"slug":"one","dest":"https://b.example/"}]}`, 409, `"exists"`},
		{"POST", "/sites/example.com/links", `{"links":[{"slug":"one","dest":"https://b.example/"}],"replace":true}`, 201, `"dest":"https://b.example/"`},
		{"POST", "/sites/example.com/links", `{"links":[{"slug":"x","dest":"ftp://b.example/"}]}`, 400, `"field":"dest"`},
		{"POST", "/sites/example.com/links", `{"links":[]}`, 400, `"field":"links"`},
		{"GET", "/links?site=example.com", "", 200, `"expires_at":"2026-12-31T00:00:00Z"`},
		{"GET", "/links?site=nosuch.example", "", 404, "not_found"},
		{"DELETE", "/links/two?domain=go.example", "", 204, ""},
		{"DELETE", "/links/two", "", 404, "not_found"},
		{"POST", "/users", `{"email":"bob@example.com","role":"viewer","password":"a long password"}`, 201, `{"email":"bob@example.com","role":"viewer","created_at":"2026-07-01T12:34:56Z"}`},
		{"GET", "/users", "", 200, `{"users":[{"email":"admin@example.com","role":"admin",`},
		{"PUT", "/users/bob@example.com/password", `{"password":"another password"}`, 204, ""},
		{"DELETE", "/users/bob%40example.com", "", 204, ""},
		{"POST", "/tokens", `{"name":"grafana","scopes":["stats"]}`, 201, `{"id":4,"name":"grafana","scopes":["stats"],"created_at":"2026-07-01T12:34:56Z","token":"weir_`},
		{"GET", "/tokens", "", 200, `{"id":4,"name":"grafana","scopes":["stats"],"created_at":"2026-07-01T12:34:56Z"}`},
		{"DELETE", "/tokens/4", "", 204, ""},
		{"GET", "/status", "", 200, `"data_dir":"/var/lib/weir"`},
		{"GET", "/attribution", "", 200, `{"attribution":[{"text":"IP Geolocation by DB-IP","url":"https://db-ip.com","licence":"CC BY 4.0"}]}`},
	}
	for _, s := range steps {
		w := n.do(s.method, "/api/v1"+s.path, s.body, admin)
		if w.Code != s.status || !strings.Contains(w.Body.String(), s.want) {
			t.Errorf("%s %s: %d %s, want %d %s", s.method, s.path, w.Code, w.Body, s.status, s.want)
		}
		if strings.Contains(w.Body.String(), "argon2") || strings.Contains(w.Body.String(), "hash") {
			t.Errorf("%s %s shows a hash: %s", s.method, s.path, w.Body)
		}
	}
	if w := n.do("GET", "/api/v1/status", "", withSession(n, "viewer@example.com")); w.Code != 200 || strings.Contains(w.Body.String(), "data_dir") ||
		strings.Contains(w.Body.String(), "/var/lib") || !strings.Contains(w.Body.String(), `"source":"asn.mmdb"`) {
		t.Errorf("status for a viewer: %d %s", w.Code, w.Body)
	}
}

func TestRefusedHits(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	w := n.do("GET", "/api/v1/sites/example.com/refused?last=2h", "", by["viewer"])
	want := `{"site":"example.com","timezone":"Europe/Berlin","from":"2026-07-01T13:00:00+02:00","to":"2026-07-01T15:00:00+02:00","since":"2026-07-01T12:34:56Z",` +
		`"rows":[{"reason":"future","count":120}],"no_site":[{"reason":"not-json","count":2}]}` + "\n"
	if w.Code != 200 || w.Body.String() != want {
		t.Errorf("got  %d %s\nwant %s", w.Code, w.Body, want)
	}
	if w := n.do("GET", "/api/v1/sites/example.com/refused", "", by["viewer"]); w.Code != 200 || !strings.Contains(w.Body.String(), `"from":"2026-04-03T00:00:00+02:00"`) {
		t.Errorf("without a range: %d %s", w.Code, w.Body)
	}
	if w := n.do("GET", "/api/v1/sites/example.com/refused?by=country", "", by["viewer"]); w.Code != 400 || !strings.Contains(w.Body.String(), "from, to, last") {
		t.Errorf("by a report: %d %s", w.Code, w.Body)
	}
}

func TestARangeIsComparedWithAnother(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	n.rollup.rows = []stats.Row{{Key: "DE", Visitors: 120, Hits: 350}, {Key: "FR", Visitors: 4, Hits: 9}}
	w := n.do("GET", "/api/v1/sites/example.com/counts?by=country&from=2026-03-01&to=2026-03-31&compare=previous&limit=1", "", by["viewer"])
	want := `"compare":{"with":"previous","from":"2026-02-01T00:00:00+01:00","to":"2026-03-01T00:00:00+01:00","visitors_are":"union","rows":[{"key":"DE","visitors":120,`
	if w.Code != 200 || !strings.Contains(w.Body.String(), want) || strings.Contains(w.Body.String(), "FR") {
		t.Errorf("got  %d %s\nwant %s", w.Code, w.Body, want)
	}
	if q := n.rollup.asked; q.By != "country" || q.Limit != 0 || !q.From.Equal(at("2026-02-01T00:00:00+01:00")) || !q.To.Equal(at("2026-03-01T00:00:00+01:00")) {
		t.Errorf("asked %+v", q)
	}
	for _, wrong := range []string{"compare=previous", "compare=week&last=2d", "compare=year&last=2d&by=country&every=day", "period=today&last=2d", "period=tomorrow", "week_starts=friday"} {
		if w := n.do("GET", "/api/v1/sites/example.com/counts?"+wrong, "", by["viewer"]); w.Code != 400 {
			t.Errorf("%s: %d %s", wrong, w.Code, w.Body)
		}
	}
}
