package ingest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
)

// packed returns text in each encoding, by the name that a sender gives it.
func packed(t testing.TB, text string) map[string]string {
	t.Helper()
	out := map[string]string{"identity": text}
	pack := func(name string, make func(io.Writer) (io.WriteCloser, error)) {
		var b bytes.Buffer
		w, err := make(&b)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(name, err)
		}
		out[name] = b.String()
	}
	pack("gzip", func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	pack("deflate", func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil })
	pack("Deflate ", func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 6) }) // bare, as some send it
	pack("zstd", func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })
	return out
}

func TestBodiesMayBeCompressedOnEveryRoute(t *testing.T) {
	f := start(t, nil)
	for path, body := range map[string]string{
		"/api/event":  pageview,
		"/api/clicks": `{"link":"a","host":"s.example.com"}`,
		"/api/send":   `{"type":"event","payload":{"website":"shop.example.com","url":"/"}}`,
		"/api/batch":  `[{"type":"event","payload":{"website":"shop.example.com","url":"/"}}]`,
		"/g/collect?v=2&tid=G-1&dl=https%3A%2F%2Fshop.example.com%2F":    "en=page_view",
		"/mp/collect?measurement_id=shop.example.com&api_secret=nothing": `{"client_id":"1.2","events":[{"name":"page_view"}]}`,
		"/matomo.php":    `{"requests":["?idsite=1&rec=1&url=https://shop.example.com/1"]}`,
		"/hooks/shlink":  `{"shortUrl":{"shortCode":"a","shortUrl":"https://s.example.com/a"},"visit":{"date":"2026-02-01T12:00:00+00:00"}}`,
		"/hooks/clicks":  `{"link":"a","host":"s.example.com"}`,
		"/api/v0/count?": `{"no_sessions":true,"hits":[{"path":"/a"}]}`,
	} {
		header := []string{"Content-Type", "application/json"}
		if strings.HasPrefix(path, "/api/v0") {
			header = append(header, "Authorization", "Bearer "+ingestToken)
			path += "site=shop.example.com"
		}
		for encoding, sent := range packed(t, body) {
			before := len(f.log.hits())
			w := f.send("POST", path, sent, append(header, "Content-Encoding", encoding)...)
			if w.Code >= 300 || len(f.log.hits()) != before+1 {
				t.Errorf("%s as %q: %d %s, %d hits", path, encoding, w.Code, w.Body, len(f.log.hits())-before)
			}
		}
		for _, encoding := range []string{"br", "gzip, gzip", "nonsense"} {
			w := f.send("POST", path, body, append(header, "Content-Encoding", encoding)...)
			ga4 := strings.Contains(path, "/collect") // Google's answer is 204, whatever comes
			if w.Header().Get("X-Weir-Dropped") != "content-type" || w.Code != http.StatusUnsupportedMediaType && !ga4 {
				t.Errorf("%s as %q: %d %v", path, encoding, w.Code, w.Header())
			}
		}
	}
}

func TestCompressedBombsStopAtTheLimit(t *testing.T) {
	f := start(t, func(c *Config) { c.EventBytes = 64 << 10 })
	for encoding, sent := range packed(t, `{"n":"pageview","u":"`+strings.Repeat("a", 8<<20)+`"}`) {
		w := f.send("POST", "/api/event", sent, "Content-Encoding", encoding)
		if w.Code != http.StatusRequestEntityTooLarge || f.bodies.Load() != 0 {
			t.Errorf("%s: %d, %d bytes are held", encoding, w.Code, f.bodies.Load())
		}
	}
	for encoding, sent := range packed(t, pageview) {
		if encoding == "identity" {
			continue
		}
		for _, bad := range []string{sent[:len(sent)/2], "", "\x00" + sent} {
			if w := f.send("POST", "/api/event", bad, "Content-Encoding", encoding); w.Code != http.StatusBadRequest {
				t.Errorf("%s damaged: %d %s", encoding, w.Code, w.Body)
			}
		}
	}
	if n := len(f.log.hits()); n != 0 {
		t.Errorf("%d hits", n)
	}
}

// FuzzCompressed: whatever a body claims to be, the answer is one of a few and memory stays within the limit.
func FuzzCompressed(f *testing.F) {
	fix := start(f, func(c *Config) { c.EventBytes = 64 << 10 })
	for encoding, sent := range packed(f, pageview) {
		f.Add(encoding, []byte(sent))
	}
	f.Fuzz(func(t *testing.T, encoding string, sent []byte) {
		if strings.ContainsAny(encoding, "\r\n\x00") {
			return
		}
		switch w := fix.send("POST", "/api/event", string(sent), "Content-Encoding", encoding); w.Code {
		case 202, 400, 413, 415:
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if held := fix.bodies.Load(); held != 0 {
			t.Fatalf("%d bytes are held", held)
		}
	})
}

// slowBody gives its bytes in pieces, as a client that is still sending does.
type slowBody struct {
	left int
	read int
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), b.left, 64<<10)
	clear(p[:n])
	b.left -= n
	b.read += n
	return n, nil
}

func TestAClientThatIsStillSendingSeesTheRefusal(t *testing.T) {
	f := start(t, nil)
	server := httptest.NewServer(f.handler)
	defer server.Close()
	for name, header := range map[string]http.Header{
		"too large":        {},
		"unknown encoding": {"Content-Encoding": {"br"}},
	} {
		for _, known := range []bool{true, false} {
			body := &slowBody{left: 20 << 20}
			r, err := http.NewRequest("POST", server.URL+"/api/event", body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header = header
			if r.ContentLength = -1; known {
				r.ContentLength = int64(body.left)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Errorf("%s, length known %v: %v", name, known, err)
				continue
			}
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != 413 && resp.StatusCode != 415 || resp.Header.Get("X-Weir-Dropped") == "" {
				t.Errorf("%s, length known %v: %d %s %v", name, known, resp.StatusCode, text, err)
			}
		}
	}
}

func TestAClientThatWaitsToGoOnIsAnsweredAtOnce(t *testing.T) {
	f := start(t, nil)
	r := httptest.NewRequest("POST", "/api/event", nil)
	body := &slowBody{left: 20 << 20}
	r.Body, r.ContentLength = io.NopCloser(body), 20<<20
	r.Header.Set("Expect", "100-continue")
	if w := f.record(r); w.Code != http.StatusRequestEntityTooLarge || body.read != 0 {
		t.Errorf("%d, %d bytes read", w.Code, body.read)
	}
}

func TestCodeAndContentAreNoPages(t *testing.T) {
	f := start(t, nil)
	for _, url := range []string{"javascript:alert(1)", "JavaScript:void(0)", " java\\nscript:alert(1)", "data:text/html,x", "about:blank", "about:srcdoc", "blob:https://shop.example.com/1", "vbscript:x"} {
		for path, body := range map[string]string{
			"/api/event": `{"n":"pageview","d":"shop.example.com","u":"` + url + `"}`,
			"/api/send":  `{"type":"event","payload":{"website":"shop.example.com","url":"` + url + `"}}`,
		} {
			if w := f.send("POST", path, body); w.Code != 400 || w.Header().Get("X-Weir-Dropped") != "invalid" || !strings.Contains(w.Body.String(), "scheme is not allowed") {
				t.Errorf("%s %s: %d %s", path, url, w.Code, w.Body)
			}
		}
		f.send("POST", "/api/event", `{"n":"pageview","u":"https://shop.example.com/","r":"`+url+`"}`)
	}
	for _, target := range []string{"/p.gif?d=shop.example.com&u=javascript:alert(1)", "/matomo.php?idsite=1&rec=1&url=javascript:alert(1)", "/count?site=shop.example.com&p=javascript:alert(1)"} {
		f.send("GET", target, "")
	}
	for _, h := range f.log.hits() {
		if h.Referrer != "" || strings.Contains(h.Path, "script:") && h.Path[0] != '/' {
			t.Errorf("got %+v", h)
		}
	}
	for _, url := range []string{"capacitor://localhost/home", "https://shop.example.com/javascript:void", "https://shop.example.com/?u=data:x", "/javascript:alert(1)"} {
		if w := f.send("POST", "/api/event", `{"n":"pageview","d":"shop.example.com","u":"`+url+`"}`); w.Code != 202 {
			t.Errorf("%s: %d", url, w.Code)
		}
	}
	postClicks(t, f, `{"link":"odd","host":"s.example.com","dest":"javascript:alert(1)"}`)
	for _, h := range f.log.hits() {
		if h.Link == "odd" && h.Dest != "" {
			t.Errorf("a link leads to %q", h.Dest)
		}
	}
}

func TestPagesOfEveryOriginMaySend(t *testing.T) {
	f := start(t, nil)
	for path, to := range f.routes {
		if path == pathSlug {
			path += "a"
		}
		for _, origin := range []string{"https://shop.example.com", "null", ""} {
			header := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type"}
			want, credentials := "*", ""
			if origin != "" {
				header = append(header, "Origin", origin)
				want, credentials = origin, "true"
			}
			method, _, _ := strings.Cut(to.methods, ",")
			for _, w := range []*httptest.ResponseRecorder{f.send("OPTIONS", path, "", header...), f.send(method, path, "", header...)} {
				h := w.Header()
				if h.Get("Access-Control-Allow-Origin") != want || h.Get("Access-Control-Allow-Credentials") != credentials || h.Get("Vary") != "Origin" {
					t.Errorf("%s from %q: %d %v", path, origin, w.Code, h)
				}
			}
		}
	}
	w := f.send("POST", "/api/event", pageview, "Origin", "null", "Content-Type", "text/plain;charset=UTF-8", "Cookie", "a=b") // a beacon of a sandboxed frame
	if w.Code != 202 || !strings.Contains(w.Header().Get("Access-Control-Expose-Headers"), "X-Weir-Dropped") {
		t.Errorf("beacon: %d %v", w.Code, w.Header())
	}
}

func TestAPageOnThisMachineIsNoProgramOfThisMachine(t *testing.T) {
	f := start(t, nil)
	if w := f.send("POST", "/api/clicks", `{"link":"a","host":"s.example.com"}`, "Origin", "https://elsewhere.example"); w.Code != http.StatusUnauthorized {
		t.Errorf("got %d", w.Code)
	}
}

func TestSendersChooseHowLongTheyWait(t *testing.T) {
	counted := make(chan map[int32]int64, 100)
	var late error
	f := start(t, func(c *Config) {
		c.Counted = func(_ context.Context, offsets map[int32]int64) error {
			counted <- offsets
			return late
		}
	})
	requests := map[string]string{
		"/api/event":  pageview,
		"/api/clicks": `{"link":"a","host":"s.example.com"}`,
		"/api/send":   `{"type":"event","payload":{"website":"shop.example.com","url":"/"}}`,
		"/api/batch":  `[{"type":"event","payload":{"website":"shop.example.com","url":"/"}}]`,
		"/g/collect":  "",
		"/matomo.php": "",
		"/p.gif":      "",
		"/collect":    "",
		"/count":      "",
		"/p/any":      "",
	}
	query := map[string]string{"/g/collect": "v=2&tid=G-1&en=page_view&dl=https%3A%2F%2Fshop.example.com%2F&", "/matomo.php": "idsite=1&rec=1&url=https://shop.example.com/&",
		"/p.gif": "d=shop.example.com&u=https://shop.example.com/&", "/collect": "site=shop.example.com&p=/&h=https://shop.example.com&", "/count": "site=shop.example.com&p=/&", "/p/any": "site=shop.example.com&"}
	for path, body := range requests {
		method := "POST"
		if body == "" {
			method = "GET"
		}
		for _, test := range []struct {
			ask, want string
			late      error
		}{{"none", "none", nil}, {"committed", "committed", nil}, {"counted", "counted", nil}, {"counted", "committed", context.DeadlineExceeded}} {
			late = test.late
			w := f.send(method, path+"?"+query[path]+"ack="+test.ask, body)
			if w.Code >= 300 || w.Header().Get("X-Weir-Ack") != test.want {
				t.Errorf("%s ack=%s: %d %v", path, test.ask, w.Code, w.Header())
			}
			if test.ask == "counted" {
				if offsets := <-counted; len(offsets) != 1 {
					t.Errorf("%s: waited for %v", path, offsets)
				}
			}
		}
		if w := f.send(method, path+"?"+query[path], body); w.Code >= 300 || w.Header().Get("X-Weir-Ack") != "" {
			t.Errorf("%s without a word: %d %v", path, w.Code, w.Header())
		}
	}
	if len(counted) != 0 {
		t.Errorf("%d waits for the counts nobody asked for", len(counted))
	}
}

// TestHitsThatNobodyWaitsForAreCountedByWhatBecomesOfThem: a sender that does not wait is not told, so the metrics and the numbers of refused
// hits tell.
func TestHitsThatNobodyWaitsForAreCountedByWhatBecomesOfThem(t *testing.T) {
	for path, body := range map[string]string{
		"/api/event":  pageview,
		"/api/clicks": `{"link":"a","host":"shop.example.com"}`,
		"/api/send":   `{"type":"event","payload":{"website":"shop.example.com","url":"/"}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			f := start(t, func(c *Config) { c.Registry = registry })
			f.log.gate = make(chan struct{}, 1)
			send := func() {
				if w := f.send("POST", path+"?ack=none", body); w.Code >= 300 {
					t.Fatalf("%s: %d %s", path, w.Code, w.Body)
				}
			}
			send()
			if got := total(t, registry, "weir_ingest_hits_total"); got != 0 {
				t.Errorf("%s: %v hits are said to be committed, and none is", path, got)
			}
			f.log.gate <- struct{}{}
			synctest.Wait()
			if got := total(t, registry, "weir_ingest_hits_total"); got != 1 {
				t.Errorf("%s: %v hits are said to be committed, want 1", path, got)
			}
			send() // and the log takes nothing any more
			f.stop()
			if got, lost := total(t, registry, "weir_ingest_hits_total"), f.lostOf(1, reasonNotWritten); got != 1 || lost != 1 {
				t.Errorf("%s: %v committed, %d lost, want 1 and 1", path, got, lost)
			}
		})
	}
}

// total returns the sum of a counter over its labels.
func total(t *testing.T, registry *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.Metric {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

func TestTheWaitForTheCountsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, func(c *Config) {
			c.Counted = func(ctx context.Context, _ map[int32]int64) error {
				<-ctx.Done()
				return ctx.Err()
			}
		})
		if w := f.send("POST", "/api/event?ack=counted", pageview); w.Code != 202 || w.Header().Get("X-Weir-Ack") != "committed" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
		f.stop()
	})
}

// deadlines notes what is asked of a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	read []time.Duration
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.read = append(d.read, time.Until(at).Round(time.Second))
	return nil
}

// A sender that dribbles a body holds a connection: the server's own time goes for small ones, and only the few large ones get more.
func TestOnlyLargeBodiesGetMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, nil)
		for _, test := range []struct {
			name string
			size int
			want int
		}{{"a hit", 1000, 0}, {"the largest small one", smallBody, 0}, {"a batch", smallBody + 1, 1}} {
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			r := httptest.NewRequest("POST", "/api/event", strings.NewReader(`{"n":"pageview","u":"https://shop.example.com/","x":"`+strings.Repeat("x", test.size-55)+`"}`))
			f.handler.ServeHTTP(w, r)
			if w.Code != http.StatusAccepted || len(w.read) != test.want || test.want > 0 && w.read[0] != largeBodyTime {
				t.Errorf("%s: got %d, deadlines %v", test.name, w.Code, w.read)
			}
		}
		f.stop()
	})
}
