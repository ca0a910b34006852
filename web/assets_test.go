package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/weir-analytics/weir/web/stats"
)

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
		{"/js/plausible.js", nil, 200, cacheAnHour, "// tracker"},
		{"/js/weir.404.js", nil, 200, cacheAnHour, "// with options"},
		{"/js/other.js", nil, 404, "", "no such script"},
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
