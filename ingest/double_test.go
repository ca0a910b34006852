package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// memoryLog is an Appender that keeps records and can be told to fail or to wait.
type memoryLog struct {
	mu      sync.Mutex
	parts   map[int32][]hit.Hit
	batches int
	fail    func(partition int32, attempt int) error // nil: never
	tries   int
	gate    chan struct{} // nil: open; else each append takes one token
}

func (l *memoryLog) Append(ctx context.Context, topic string, partition int32, records []Record) (int64, error) {
	if l.gate != nil {
		select {
		case <-l.gate:
		case <-ctx.Done():
			return 0, ErrNotWritten
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tries++
	if l.fail != nil {
		if err := l.fail(partition, l.tries); err != nil {
			return 0, err
		}
	}
	base := int64(len(l.parts[partition]))
	for _, r := range records {
		var h hit.Hit
		if err := hit.Parse(r.Value, &h); err != nil {
			panic(err)
		}
		l.parts[partition] = append(l.parts[partition], h)
	}
	l.batches++
	return base, nil
}

// hits returns all hits, by time received and then by what they are.
func (l *memoryLog) hits() []hit.Hit {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []hit.Hit
	for _, part := range l.parts {
		all = append(all, part...)
	}
	sort.SliceStable(all, func(a, b int) bool { return all[a].TimeMs < all[b].TimeMs })
	return all
}

type fixedSites struct{ s *state.State }

func (f fixedSites) State() *state.State { return f.s }

const ingestToken = "weir_test-token"

func testState(names ...string) *state.State {
	s := &state.State{
		Topics: map[string]state.Topic{"events": {Name: "events", Partitions: 8}},
		Sites:  map[state.SiteID]state.Site{},
		Tokens: map[uint64]state.Token{
			1: {ID: 1, Scopes: []state.Scope{state.ScopeIngest}, SecretHash: sha256.Sum256([]byte(ingestToken))},
			2: {ID: 2, Scopes: []state.Scope{state.ScopeStats}, SecretHash: sha256.Sum256([]byte("weir_stats-only"))},
		},
		RouteKey:  [16]byte{1, 2, 3},
		ImportKey: [32]byte{4, 5, 6},
	}
	for i, name := range names {
		id := state.SiteID(i + 1)
		s.Sites[id] = state.Site{ID: id, Name: name, Timezone: "Europe/Berlin"}
	}
	s.Reindex()
	return s
}

// fixture is an Ingest that runs on a memoryLog.
type fixture struct {
	*Ingest
	log     *memoryLog
	handler http.Handler
	stop    func()
}

var testNow = time.Date(2026, 2, 3, 12, 0, 0, 0, time.UTC)

func start(t testing.TB, change func(*Config), names ...string) *fixture {
	t.Helper()
	if len(names) == 0 {
		names = []string{"shop.example.com", "s.example.com"}
	}
	log := &memoryLog{parts: map[int32][]hit.Hit{}}
	cfg := Default()
	cfg.Sites = fixedSites{testState(names...)}
	cfg.Appender = log
	cfg.Now = func() time.Time { return testNow }
	cfg.Log = slog.New(slog.DiscardHandler)
	cfg.Registry = prometheus.NewRegistry()
	cfg.AppendTimeout = 300 * time.Millisecond
	if dir := corpusDir(); dir != "" {
		cfg.GeoIP = filepath.Join(dir, "geoip", "mmdb", "GeoIP2-Country-Test.mmdb")
	}
	if change != nil {
		change(&cfg)
	}
	i, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := i.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	f := &fixture{Ingest: i, log: log, handler: i.Handler()}
	f.stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(f.stop)
	return f
}

// lostOf returns how many hits of a site are counted as lost for a reason.
func (f *fixture) lostOf(site state.SiteID, why reason) (n uint64) {
	for key, cell := range f.drops.cells {
		if key.site == site && key.reason == why {
			n += cell.count
		}
	}
	return n
}

// send sends a request from this machine.
func (f *fixture) send(method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:40000"
	r.Header.Set("User-Agent", chrome)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i+1] == "" {
			r.Header.Del(header[i])
		} else if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return w
}

const chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36"

// corpusDir returns the folder of test inputs, "" when it is not here.
func corpusDir() string {
	for _, dir := range []string{os.Getenv("WEIR_CORPUS"), "../../shared/corpus"} {
		if _, err := os.Stat(filepath.Join(dir, "README.md")); dir != "" && err == nil {
			return dir
		}
	}
	return ""
}

func corpus(t testing.TB) string {
	t.Helper()
	dir := corpusDir()
	if dir == "" {
		t.Skip("the corpus is not here; set WEIR_CORPUS")
	}
	return dir
}

func payload(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus(t), "payloads", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// replay sends a request file of the corpus from this machine, as a trusted proxy would.
func (f *fixture) replay(t testing.TB, name string) *httptest.ResponseRecorder {
	t.Helper()
	lines := bytes.SplitAfter(payload(t, name), []byte("\n"))
	for len(lines) > 0 && bytes.HasPrefix(lines[0], []byte("#")) {
		lines = lines[1:]
	}
	method, target, _ := strings.Cut(strings.TrimSpace(string(lines[0])), " ")
	target, _, _ = strings.Cut(target, " ")
	header := []string{}
	lines = lines[1:]
	for len(lines) > 0 && len(bytes.TrimSpace(lines[0])) > 0 {
		name, value, _ := strings.Cut(strings.TrimSpace(string(lines[0])), ": ")
		header = append(header, name, value)
		lines = lines[1:]
	}
	var body []byte
	if len(lines) > 0 {
		body = bytes.Join(lines[1:], nil)
	}
	return f.send(method, target, string(bytes.TrimRight(body, "\n")), header...)
}

func bodyOf(t testing.TB, w *httptest.ResponseRecorder) string {
	t.Helper()
	b, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func countriesOf(hits []hit.Hit) []string {
	var all []string
	for _, h := range hits {
		all = append(all, h.Country)
	}
	slices.Sort(all)
	return all
}

func (f *fixture) record(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return w
}
