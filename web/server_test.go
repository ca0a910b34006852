package web

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/sock"
	"github.com/weir-analytics/weir/web/stats"
)

// run serves until the test ends or the returned function is called, which waits for Run.
func (n *node) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func (n *node) socketClient() *http.Client {
	path := filepath.Join(n.cfg.DataDir, SocketName)
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
}

func TestAdminSocket(t *testing.T) {
	n := newNode(t)
	path := filepath.Join(n.cfg.DataDir, SocketName)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Fatalf("socket: %v %v, want mode 0600", info.Mode(), err)
	}
	stop := n.run(t)
	resp, err := n.socketClient().Post("http://weir/api/v1/sites", "application/json", strings.NewReader(`{"name":"example.com"}`))
	if err != nil || resp.StatusCode != 201 {
		t.Fatalf("add a site: %v %v", resp, err)
	}
	_ = resp.Body.Close()
	// The same call on the TCP listener is nobody's, whatever it claims.
	resp, err = http.Post("http://"+n.Addr().String()+"/api/v1/sites", "application/json", strings.NewReader(`{"name":"two.example"}`))
	if err != nil || resp.StatusCode != 401 {
		t.Fatalf("over TCP: %v %v, want 401", resp, err)
	}
	_ = resp.Body.Close()
	if _, err := listenSocket(n.cfg.DataDir); err == nil || !strings.Contains(err.Error(), "another weir runs on this data directory") {
		t.Errorf("second socket: %v", err)
	}
	stop()
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(n.cfg.DataDir, "*s*ck*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSocketOfACrashedNodeIsReplaced(t *testing.T) {
	dir := t.TempDir()
	stale, err := net.Listen("unix", filepath.Join(dir, SocketName))
	if err != nil {
		t.Fatal(err)
	}
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = stale.Close()
	l, err := listenSocket(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

func TestSocketInADeepDirectory(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if err := os.Mkdir(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := listenSocket(deep)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := sock.Dial(t.Context(), filepath.Join(deep, SocketName))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if left, _ := os.ReadDir(deep); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWrongSettingsNameTheFlag(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cases := []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Listen = "8080" }, "--http is \"8080\", want HOST:PORT"},
		{func(c *Config) { c.Listen = taken.Addr().String() }, "another program listens there; stop it or choose another port"},
		{func(c *Config) { c.Listen = "127.0.0.1:99999" }, "--http 127.0.0.1:99999"},
		{func(c *Config) { c.MaxConns = 0 }, "--http-max-connections is 0, want 1 to 1000000"},
		{func(c *Config) { c.DataDir = "" }, "--data"},
	}
	for _, c := range cases {
		cfg := newNode(t).cfg
		cfg.DataDir = t.TempDir()
		c.change(&cfg)
		if s, err := Open(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
			if s != nil {
				_ = s.Close()
			}
		}
	}
}

func TestLiveStreamSendsNowAndEndsAtTheStop(t *testing.T) {
	n := newNode(t)
	callers(t, n)
	n.rollup.set(func(f *fakeRollup) { f.now.Hits1m = 1 })
	stop := n.run(t)
	req, _ := http.NewRequest("GET", "http://"+n.Addr().String()+"/api/v1/sites/example.com/live", nil)
	withSession(n, "viewer@example.com")(req)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" || resp.Header.Get("Content-Encoding") != "" {
		t.Fatalf("%d %q", resp.StatusCode, got)
	}
	lines := bufio.NewReader(resp.Body)
	next := func() stats.Now {
		t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				var now stats.Now
				if err := json.Unmarshal([]byte(data), &now); err != nil {
					t.Fatal(err)
				}
				return now
			}
		}
	}
	if got := next(); got.Hits1m != 1 {
		t.Errorf("first event: %+v", got)
	}
	n.rollup.set(func(f *fakeRollup) { f.now.Hits1m = 2 })
	n.rollup.changed <- struct{}{}
	if got := next(); got.Hits1m != 2 {
		t.Errorf("event after a change: %+v", got)
	}
	if n.live.Open() != 1 {
		t.Errorf("%d streams open, want 1", n.live.Open())
	}
	began := time.Now()
	stop()
	if took := time.Since(began); took > stopTimeout/2 {
		t.Errorf("the stop took %s", took)
	}
	if rest, err := io.ReadAll(lines); err != nil {
		t.Errorf("the stream broke instead of ending: %q %v", rest, err)
	}
}

func TestImport(t *testing.T) {
	n := newNode(t)
	callers(t, n)
	n.run(t)
	resp, err := n.socketClient().Post("http://weir/api/v1/sites/example.com/import?wait=1&file=access.log", "text/plain", strings.NewReader("one\nbad\nthree\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	want := `{"done":true,"lines":3,"accepted":2,"rejected":1,"humans":2,"bots":0,"reasons":{"not a log line":1},"examples":[{"line":2,"error":"not a log line"}]}` + "\n"
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || string(got) != want || resp.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%d %s %v, want %s", resp.StatusCode, got, err, want)
	}
	if n.importer.got.Site.ID != 1 || n.rollup.waited[0] != 2 {
		t.Errorf("importer got %+v, waited for %v", n.importer.got, n.rollup.waited)
	}
}

// slowImporter shows progress after each byte, so that a test can talk to it.
type slowImporter struct {
	fakeImporter
	begun chan struct{}
}

func (s *slowImporter) Import(ctx context.Context, in ImportRequest, progress func(ImportCounts)) (result ImportResult, err error) {
	close(s.begun)
	for buf := make([]byte, 1); err == nil; {
		if _, err = in.Body.Read(buf); err == nil {
			result.Lines++
			progress(result.ImportCounts)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return result, errors.Join(err, context.Cause(ctx))
}

func TestImportEndsCleanlyAtTheStop(t *testing.T) {
	importer := &slowImporter{begun: make(chan struct{})}
	n := newNode(t, func(c *Config) { c.Importer = importer })
	callers(t, n)
	stop := n.run(t)
	body, feed := io.Pipe()
	answer := make(chan string, 1)
	go func() {
		resp, err := n.socketClient().Post("http://weir/api/v1/sites/example.com/import", "text/plain", body)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		answer <- string(b)
	}()
	_, _ = feed.Write([]byte("abc")) // returns when the client has taken it
	<-importer.begun
	began := time.Now()
	stop()
	if took := time.Since(began); took > stopTimeout/2 {
		t.Errorf("the stop took %s", took)
	}
	defer feed.Close() // the client reads the answer while its body is not at an end
	if got := <-answer; !strings.Contains(got, `"code":"unavailable"`) || !strings.Contains(got, "send the same file again later") {
		t.Errorf("answer: %s", got)
	}
}

func TestFailedImportSaysSo(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	w := n.do("POST", "/api/v1/sites/example.com/import", "one\nfail\n", by["token:ingest"])
	if w.Code != 500 || errorCode(t, w) != "import_stopped" || !strings.Contains(w.Body.String(), "gzip: invalid checksum") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := n.do("POST", "/api/v1/sites/example.com/import?wait=yes", "one\n", by["token:ingest"]); errorCode(t, w) != "invalid" {
		t.Errorf("wait=yes: %d %s", w.Code, w.Body)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	broker := make(chan struct{})
	n := newNode(t, func(c *Config) { c.Checks = []Check{ReadyWhen("broker", broker, "partitions are still being opened")} })
	if w := n.do("GET", "/healthz", ""); w.Code != 200 || w.Body.String() != "ok\n" {
		t.Errorf("healthz: %d %s", w.Code, w.Body)
	}
	want := `{"ready":false,"checks":[{"name":"web","ready":true},{"name":"broker","ready":false,"reason":"partitions are still being opened"}]}` + "\n"
	if w := n.do("GET", "/readyz", ""); w.Code != 503 || w.Body.String() != want {
		t.Errorf("readyz: %d %s", w.Code, w.Body)
	}
	close(broker)
	if w := n.do("GET", "/readyz", ""); w.Code != 200 {
		t.Errorf("readyz: %d %s", w.Code, w.Body)
	}
	n.stop()
	if w := n.do("GET", "/readyz", ""); w.Code != 503 || !strings.Contains(w.Body.String(), "the node is stopping") {
		t.Errorf("readyz at the stop: %d %s", w.Code, w.Body)
	}
	if w := n.do("HEAD", "/healthz", ""); w.Code != 200 {
		t.Errorf("HEAD: %d", w.Code)
	}
}

func TestCollectRoutesGoToIngest(t *testing.T) {
	n := newNode(t)
	for _, target := range []string{"POST /api/event", "OPTIONS /api/event", "POST /api/clicks", "GET /p.gif", "HEAD /p.gif"} {
		method, path, _ := strings.Cut(target, " ")
		w := n.do(method, path, "")
		if got := w.Body.String(); got != "collect "+target {
			t.Errorf("%s: %d %q", target, w.Code, got)
		}
		if w.Header().Get("Cross-Origin-Resource-Policy") != "" || w.Header().Get("Content-Security-Policy") != "" {
			t.Errorf("%s has headers that keep other sites out", target)
		}
	}
	if w := n.do("GET", "/schema/hit.proto", ""); w.Code != 200 || !strings.HasPrefix(w.Body.String(), "syntax") {
		t.Errorf("schema: %d %s", w.Code, w.Body)
	}
}

func TestPanicIsAnsweredAndLogged(t *testing.T) {
	n := newNode(t, func(c *Config) {
		c.Collect = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })
	})
	if w := n.do("POST", "/api/event", "{}"); w.Code != 500 || errorCode(t, w) != "internal" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(n.logged.String(), "boom") {
		t.Error("the log does not say why")
	}
}

func TestDashboardFiles(t *testing.T) {
	n := newNode(t)
	gz := func(r *http.Request) { r.Header.Set("Accept-Encoding", "br, gzip") }
	cases := []struct {
		path   string
		sign   func(*http.Request)
		status int
		cache  string
		body   string // a part of it
	}{
		{"/", nil, 200, cacheValidate, "<title>weir"},
		{"/setup", nil, 200, cacheValidate, "<title>weir"},
		{"/s/shop.example.com", nil, 200, cacheValidate, "<title>weir"},
		{"/s/example.js/l/abc.png", nil, 200, cacheValidate, "<title>weir"},
		{"/index.html", nil, 200, cacheValidate, "<title>weir"},
		{"/assets/app-abc123.js", nil, 200, cacheForEver, "console.log"},
		{"/assets/app-abc123.js", gz, 200, cacheForEver, "\x1f\x8b"},
		{"/favicon.svg", nil, 200, cacheAnHour, "<svg"},
		{"/js/weir.js", nil, 200, cacheAnHour, "// tracker"},
		{"/js/script.js", nil, 200, cacheAnHour, "// tracker"},
		{"/assets/gone.js", nil, 404, "", "no such file"},
		{"/favicon.ico", nil, 404, "", "no such file"},
		{"/../../etc/passwd", nil, 200, cacheValidate, "<title>weir"},
	}
	for _, c := range cases {
		sign := c.sign
		if sign == nil {
			sign = func(*http.Request) {}
		}
		w := n.do("GET", c.path, "", sign)
		if w.Code != c.status || w.Header().Get("Cache-Control") != c.cache || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s: %d %q %.40q, want %d %q %q", c.path, w.Code, w.Header().Get("Cache-Control"), w.Body, c.status, c.cache, c.body)
		}
		if got := w.Header().Get("Content-Security-Policy"); !strings.Contains(got, "default-src 'self'") || strings.Contains(got, "unsafe") {
			t.Errorf("%s: policy %q", c.path, got)
		}
		if etag := w.Header().Get("ETag"); c.status == 200 {
			again := n.do("GET", c.path, "", func(r *http.Request) { sign(r); r.Header.Set("If-None-Match", etag) })
			if again.Code != 304 {
				t.Errorf("%s again: %d, want 304", c.path, again.Code)
			}
		}
	}
	if w := n.do("GET", "/js/weir.js", ""); w.Header().Get("Cross-Origin-Resource-Policy") != "cross-origin" || w.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the tracker is kept from other sites: %v", w.Header())
	}
	bare := newNode(t, func(c *Config) { c.Assets = nil })
	if w := bare.do("GET", "/", ""); w.Code != 404 || !strings.Contains(w.Body.String(), "make build") {
		t.Errorf("without the build: %d %s", w.Code, w.Body)
	}
}

func TestLargeAnswersAreCompressed(t *testing.T) {
	n := newNode(t)
	by := callers(t, n)
	for range 50 {
		n.rollup.rows = append(n.rollup.rows, stats.Row{Key: "DE", Hits: 5})
	}
	w := n.do("GET", "/api/v1/sites/example.com/counts?by=country&last=1d", "", func(r *http.Request) { by["viewer"](r); r.Header.Set("Accept-Encoding", "gzip") })
	if w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("headers %v", w.Header())
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(z); err != nil || strings.Count(string(body), `"DE"`) != 50 {
		t.Errorf("%v %s", err, body)
	}
}

func TestSecretsAreNotLogged(t *testing.T) {
	n := newNode(t)
	link, _ := n.SetupURL()
	_, setup, _ := strings.Cut(link, "#")
	by := callers(t, n)
	made := n.do("POST", "/api/v1/tokens", `{"name":"x","scopes":["stats"]}`, by["admin"])
	var token struct{ Token string }
	_ = json.Unmarshal(made.Body.Bytes(), &token)
	login := n.do("POST", "/api/v1/login", `{"email":"admin@example.com","password":"`+password+`"}`)
	n.ctl.err = errors.New("disk broke")
	n.do("POST", "/api/v1/users", `{"email":"c@example.com","role":"viewer","password":"`+password+`"}`, cookieOf(t, login))
	for name, secret := range map[string]string{"set-up token": setup, "API token": token.Token, "session": login.Result().Cookies()[0].Value, "password": password} {
		if secret == "" || strings.Contains(n.logged.String(), secret) {
			t.Errorf("the %s %q is in the log:\n%s", name, secret, n.logged)
		}
	}
	if !strings.Contains(n.logged.String(), "disk broke") {
		t.Error("the failure itself is not logged")
	}
}
