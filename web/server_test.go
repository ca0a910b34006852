package web

import (
	"bufio"
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
