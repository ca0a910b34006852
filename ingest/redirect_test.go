package ingest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/ingest/bot"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// startLinks starts an Ingest with some links.
func startLinks(t testing.TB, change func(*Config)) *fixture {
	t.Helper()
	return start(t, func(cfg *Config) {
		s, _, err := testState("shop.example.com", "go.example").Apply(command.PutLinks{Links: []command.Link{
			{Slug: "spring", Site: "shop.example.com", Dest: "https://shop.example.com/sale?a=1#top", Status: 302},
			{Slug: "all", Site: "shop.example.com", Dest: "https://shop.example.com?own=1", Status: 307, PassQuery: true, PassPath: true},
			{Slug: "moved", Site: "shop.example.com", Dest: "http://other.example/x/", Status: 301, PassPath: true},
			{Slug: "over", Site: "shop.example.com", Dest: "https://shop.example.com/old", Status: 302, ExpiresMs: testNow.UnixMilli()},
			{Slug: "soon", Site: "shop.example.com", Dest: "https://shop.example.com/new", Status: 302, ExpiresMs: testNow.UnixMilli() + 1},
			{Domain: "go.example", Slug: "spring", Site: "go.example", Dest: "https://shop.example.com/go", Status: 302},
			{Domain: "go.example", Slug: "own", Site: "go.example", Dest: "https://shop.example.com/own", Status: 302},
		}}, testNow)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Sites = fixedSites{s}
		if change != nil {
			change(cfg)
		}
	})
}

func TestAShortLinkLeadsOn(t *testing.T) {
	f := startLinks(t, nil)
	for _, test := range []struct {
		target, host string
		status       int
		location     string
	}{
		{"/l/spring", "stats.example", 302, "https://shop.example.com/sale?a=1#top"},
		{"/l/spring/", "stats.example", 302, "https://shop.example.com/sale?a=1#top"},
		{"/l/spring?x=1", "stats.example", 302, "https://shop.example.com/sale?a=1#top"},
		{"/l/spring/more", "stats.example", 404, ""},
		{"/l/sp%72ing", "stats.example", 302, "https://shop.example.com/sale?a=1#top"},
		{"/l/Spring", "stats.example", 404, ""},
		{"/l/spring", "GO.example:8080", 302, "https://shop.example.com/go"},
		{"/l/spring", "www.go.example", 302, "https://shop.example.com/go"},
		{"/l/own", "stats.example", 404, ""},
		{"/l/all", "x", 307, "https://shop.example.com?own=1"},
		{"/l/all/a/b%2Fc?q=%22&own=2&utm_source=x", "x", 307, "https://shop.example.com/a/b%2Fc?own=1&q=%22&utm_source=x"},
		{"/l/all/..%2f/../%2e%2e/z", "x", 307, "https://shop.example.com/..%2f/z?own=1"},
		{"/l/moved/a", "x", 301, "http://other.example/x/a"},
		{"/l/moved//evil.example", "x", 301, "http://other.example/x//evil.example"},
		{"/l/over", "x", 404, ""},
		{"/l/soon", "x", 302, "https://shop.example.com/new"},
		{"/l/", "x", 404, ""},
		{"/l/https://evil.example/", "x", 404, ""},
		{"/l/go.example/own", "x", 404, ""},
		{"/l/go.example%2fown", "x", 404, ""},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			w := f.send(method, test.target, "", "Host", test.host)
			if w.Code != test.status || w.Header().Get("Location") != test.location || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s at %s: %d to %q, want %d to %q", method, test.target, test.host, w.Code, w.Header().Get("Location"), test.status, test.location)
			}
		}
	}
	if w := f.send("POST", "/l/spring", ""); w.Code != 405 || w.Header().Get("Location") != "" {
		t.Errorf("POST: %d", w.Code)
	}
	unknown, over := f.send("GET", "/l/nothing", "", "Host", "x"), f.send("GET", "/l/over", "", "Host", "x")
	if unknown.Body.String() != over.Body.String() || len(unknown.Header()) != len(over.Header()) {
		t.Error("the answer tells a link that is over from one that never was")
	}
}

func TestClicksOfPeopleProgramsAndPreviewsAreKeptApart(t *testing.T) {
	const preview = bot.KindPreview
	f := startLinks(t, nil)
	senders := []struct{ method, agent, header, value, kind string }{
		{"GET", chrome, "Referer", "https://t.co/abc", ""},
		{"GET", chrome, "Sec-Purpose", "prefetch;prerender", bot.KindPrefetch},
		{"GET", chrome, "Purpose", "prefetch", bot.KindPrefetch},
		{"GET", chrome, "X-Moz", "prefetch", bot.KindPrefetch},
		{"HEAD", chrome, "", "", bot.KindHead},
		{"GET", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "", "", preview},
		{"GET", "Twitterbot/1.0", "", "", preview},
		{"GET", "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", "", "", preview},
		{"GET", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0", "", "", preview},
		{"GET", "WhatsApp/2.23.20.0 A", "", "", preview},
		{"GET", "TelegramBot (like TwitterBot)", "", "", preview},
		{"GET", "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)", "", "", preview},
		{"GET", "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)", "", "", preview},
		{"GET", "Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5", "", "", preview},
		{"GET", "http.rb/5.1.0 (Mastodon/4.0.2; +https://inst.example/)", "", "", preview},
		{"GET", "curl/8.5.0", "", "", bot.KindAgent},
	}
	for _, s := range senders {
		if w := f.send(s.method, "/l/spring?utm_source=mail", "", "User-Agent", s.agent, s.header, s.value); w.Code != 302 {
			t.Fatalf("%s: %d", s.agent, w.Code)
		}
	}
	f.stop()
	got := map[string]int{}
	for _, h := range f.log.hits() {
		got[h.BotKind]++
		if h.Kind != hit.Click || h.Link != "spring" || h.Dest != "https://shop.example.com/sale?a=1#top" || h.SiteID != 1 || h.Campaign.Source != "mail" || h.Bot != (h.BotKind != "") {
			t.Errorf("hit %+v", h)
		}
		if !h.Bot && h.RefHost != "t.co" {
			t.Errorf("referrer %q", h.RefHost)
		}
	}
	want := map[string]int{}
	for _, s := range senders {
		want[s.kind]++
	}
	for kind := range want {
		if got[kind] != want[kind] {
			t.Errorf("kind %q: %d, want %d (all: %v)", kind, got[kind], want[kind], got)
		}
	}
}

// TestARedirectNeverWaitsForTheLog: a log that stands still or fails costs clicks, not visitors, and each click that is lost is counted.
func TestARedirectNeverWaitsForTheLog(t *testing.T) {
	gate := make(chan struct{})
	f := startLinks(t, func(cfg *Config) { cfg.AppendTimeout = 50 * time.Millisecond })
	f.log.gate = gate
	for range 20 {
		if w := f.send("GET", "/l/spring", ""); w.Code != 302 {
			t.Fatalf("answer %d", w.Code)
		}
	}
	f.stop() // after it all batches have failed
	if w := f.send("GET", "/l/spring", ""); w.Code != 302 {
		t.Fatalf("after the stop: %d", w.Code)
	}
	if lost := f.lostOf(1, reasonNotWritten); lost != 21 || len(f.log.hits()) != 0 {
		t.Errorf("%d counted as lost, %d written, want 21 and 0", lost, len(f.log.hits()))
	}
}

func TestARedirectMayWaitForItsClick(t *testing.T) {
	f := startLinks(t, func(cfg *Config) { cfg.LinkWait = 5 * time.Second })
	f.send("GET", "/l/spring", "")
	if got := len(f.log.hits()); got != 1 {
		t.Errorf("%d hits in the log when the answer came", got)
	}
	slow := startLinks(t, func(cfg *Config) { cfg.LinkWait = 20 * time.Millisecond })
	slow.log.gate = make(chan struct{})
	if w := slow.send("GET", "/l/spring", ""); w.Code != 302 {
		t.Errorf("a slow log: %d", w.Code)
	}
	close(slow.log.gate)
}

func TestLimitsCostTheCountAndNotTheVisitor(t *testing.T) {
	f := startLinks(t, func(cfg *Config) { cfg.Limits = Limits{AddressRate: 1, AddressBurst: 2} })
	for range 5 {
		if w := f.send("GET", "/l/spring", "", "X-Forwarded-For", "81.2.69.142"); w.Code != 302 {
			t.Fatalf("answer %d", w.Code)
		}
	}
	f.stop()
	if got := len(f.log.hits()); got != 2 {
		t.Errorf("%d hits", got)
	}
}

func TestNoLinkIsMissingBeforeTheStateIsKnown(t *testing.T) {
	f := startLinks(t, func(cfg *Config) { cfg.Started = make(chan struct{}) })
	if w := f.send("GET", "/l/spring", ""); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("answer %d", w.Code)
	}
}

// The same visitor ten times is ten clicks of one visitor.
func TestClicksOfOneVisitorAreOfOneVisitor(t *testing.T) {
	f := startLinks(t, nil)
	for range 10 {
		f.send("GET", "/l/spring", "")
	}
	f.stop()
	visitors := map[uint64]bool{}
	for _, h := range f.log.hits() {
		visitors[h.Visitor] = true
	}
	if len(f.log.hits()) != 10 || len(visitors) != 1 || visitors[0] {
		t.Errorf("%d clicks of %d visitors", len(f.log.hits()), len(visitors))
	}
}

// FuzzDestination: nothing in a request leads to another host, or breaks out of the header.
func FuzzDestination(f *testing.F) {
	f.Add("https://shop.example.com", "//evil.example", "a=1&b")
	f.Add("http://a.example/x?y#z", "..%2f@evil.example/", "#\r\nSet-Cookie: x")
	f.Fuzz(func(t *testing.T, dest, rest, query string) {
		s, _, err := testState("a.example").Apply(command.PutLinks{Links: []command.Link{{Slug: "x", Site: "a.example", Dest: dest, Status: 302, PassQuery: true, PassPath: true}}}, testNow)
		if err != nil {
			return
		}
		link := s.Links[state.LinkKey("x")]
		got := destinationOf(&link, rest, query)
		before, _ := url.Parse(dest)
		after, err := url.Parse(got)
		if err != nil {
			if _, err := url.Parse("http://x/" + rest); err != nil {
				return // an escape that is none, as it was sent
			}
			t.Fatal(err)
		}
		if after.Scheme != before.Scheme || after.Host != before.Host || after.User != nil || strings.ContainsAny(got, " \r\n\\") || len(got) > maxLocation {
			t.Fatalf("%q, %q, %q leads to %q", dest, rest, query, got)
		}
		if !strings.HasPrefix(after.EscapedPath(), strings.TrimSuffix(before.EscapedPath(), "/")) {
			t.Fatalf("%q leads to %q, outside of %q", rest, got, dest)
		}
	})
}

func BenchmarkRedirect(b *testing.B) {
	f := startLinks(b, nil)
	r := httptest.NewRequest(http.MethodGet, "/l/spring", nil)
	r.Header.Set("User-Agent", chrome)
	b.ReportAllocs()
	for b.Loop() {
		f.handler.ServeHTTP(httptest.NewRecorder(), r)
	}
}
