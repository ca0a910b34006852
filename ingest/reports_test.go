package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/ingest/source"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// one sends a page view and returns its hit.
func (f *fixture) one(t *testing.T, body string, header ...string) hit.Hit {
	t.Helper()
	f.log.mu.Lock()
	f.log.parts = map[int32][]hit.Hit{}
	f.log.mu.Unlock()
	if w := f.send("POST", "/api/event", body, header...); w.Code != 202 {
		t.Fatalf("%s: %d %s", body, w.Code, w.Body)
	}
	hits := f.log.hits()
	if len(hits) != 1 {
		t.Fatalf("%s: %d hits", body, len(hits))
	}
	return hits[0]
}

func pageAt(url string) string { return `{"n":"pageview","d":"shop.example.com","u":"` + url + `"}` }

// What trackers of others were reported to get wrong, by what went wrong.

func TestVisitorsOnIPv6HaveAPlace(t *testing.T) {
	corpus(t)
	f := start(t, nil)
	if h := f.one(t, pageAt("https://shop.example.com/"), "X-Forwarded-For", "2001:218::1"); h.Country != "JP" {
		t.Errorf("country %q", h.Country)
	}
	f.stop()
	for _, proxied := range []string{"1.1.1.1, 81.2.69.142", "garbage, 81.2.69.142", "1.1.1.1,2.2.2.2, ::ffff:81.2.69.142"} {
		f := start(t, nil)
		if h := f.one(t, pageAt("https://shop.example.com/"), "X-Forwarded-For", proxied); h.Country != "GB" {
			t.Errorf("%q: country %q: what the visitor wrote was believed", proxied, h.Country)
		}
		f.stop()
	}
}

func TestOnePageHasOnePath(t *testing.T) {
	f := start(t, nil)
	for url, want := range map[string]string{"/caf%C3%A9": "/café", "/caf%c3%a9": "/café", "/café": "/café", "/caf%25C3%25A9": "/caf%C3%A9"} {
		if h := f.one(t, pageAt("https://shop.example.com"+url)); h.Path != want {
			t.Errorf("%s: %q", url, h.Path)
		}
	}
	for url, want := range map[string]string{"/#/home": "/", "/#/about": "/"} {
		if h := f.one(t, pageAt("https://shop.example.com"+url)); h.Path != want {
			t.Errorf("%s, hashes off: %q", url, h.Path)
		}
		on := strings.Replace(pageAt("https://shop.example.com"+url), `{`, `{"h":1,`, 1)
		if h := f.one(t, on); h.Path != url {
			t.Errorf("%s, hashes on: %q", url, h.Path)
		}
	}
	long := "https://shop.example.com/" + strings.Repeat("ä", 2500)
	first := f.one(t, pageAt(long))
	for range 9 {
		if h := f.one(t, pageAt(long)); h.Path != first.Path {
			t.Fatal("a long page is another one each time")
		}
	}
	if !utf8.ValidString(first.Path) || len(first.Path) > pageurl.MaxPath || len(first.Path) < pageurl.MaxPath-4 {
		t.Errorf("cut to %d bytes", len(first.Path))
	}
}

func TestQueriesAreDecodedOnce(t *testing.T) {
	f := start(t, nil)
	h := f.one(t, pageAt("https://shop.example.com/search?query=Heatmap+%26+session&post_type=p"))
	got := map[string]string{}
	for name, value := range pageurl.Params(h.Query) {
		got[name] = value
	}
	if got["query"] != "Heatmap & session" || got["post_type"] != "p" || len(got) != 2 {
		t.Errorf("got %v of %q", got, h.Query)
	}
}

func TestLongReferrersAndOddTitlesAreNoReasonToRefuse(t *testing.T) {
	f := start(t, nil)
	h := f.one(t, `{"n":"pageview","u":"https://shop.example.com/","r":"https://www.baidu.com/link?url=`+strings.Repeat("%E4%BD%A0", 150)+`","t":"party \ud83d\ude1a"}`)
	if h.RefHost != "baidu.com" || !utf8.ValidString(h.Referrer) || h.Title != "party \U0001F61A" {
		t.Errorf("got %q, %q, %q", h.RefHost, h.Referrer, h.Title)
	}
}

func TestTheAnswerSaysThatAHitIsABots(t *testing.T) {
	f := start(t, nil)
	for agent, kind := range map[string]string{
		"Claude-User/1.0": "", "curl/8.5.0": "",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/88.0.4298.0 Safari/537.36":                                                       "headless",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/91.0.4472.114 Safari/537.36 Prerender (+https://github.com/prerender/prerender)": "",
		"http.rb/5.1.0 (Mastodon/4.0.2; +https://inst.example/)":                                                                                                                "",
	} {
		w := f.send("POST", "/api/event", pageAt("https://shop.example.com/"+fmt.Sprint(len(agent))), "User-Agent", agent)
		if w.Code != 202 || w.Header().Get("X-Weir-Note") != "bot" {
			t.Errorf("%s: %d %v", agent, w.Code, w.Header())
		}
		for _, h := range f.log.hits() {
			if h.Agent == agent && (!h.Bot || h.BotKind == "" || kind != "" && h.BotKind != kind) {
				t.Errorf("%s: kind %q", agent, h.BotKind)
			}
		}
	}
	for _, header := range [][]string{{"Sec-Purpose", "prefetch"}, {"X-Moz", "prefetch"}, {"Purpose", "preview"}} {
		if h := f.one(t, pageAt("https://shop.example.com/"), header...); h.BotKind != "prefetch" {
			t.Errorf("%v: kind %q", header, h.BotKind)
		}
	}
	if w := f.send("HEAD", "/p.gif?d=shop.example.com&u=https://shop.example.com/", ""); w.Header().Get("X-Weir-Note") != "bot" {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
}

func TestManyServersThatFetchALinkAreNoPeople(t *testing.T) {
	f := start(t, nil)
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, `{"link":"post","host":"s.example.com","ip":"198.51.%d.%d","ua":"http.rb/5.1.0 (Mastodon/4.0.2; +https://inst%d.example/)"}`+"\n", i/250, i%250, i)
	}
	if status, a := postClicks(t, f, lines.String()); status != 202 || a.Accepted != 1000 {
		t.Fatalf("%d %+v", status, a)
	}
	for _, h := range f.log.hits() {
		if !h.Bot {
			t.Fatalf("%s is a person", h.Agent)
		}
	}
}

func TestReferrersOfAppsAndBareNamesAreKept(t *testing.T) {
	f := start(t, nil)
	from := func(r string) hit.Hit {
		return f.one(t, `{"n":"pageview","u":"https://shop.example.com/","r":"`+r+`"}`)
	}
	if h := from("android-app://com.google.android.googlequicksearchbox/"); h.RefHost != "com.google.android.googlequicksearchbox" {
		t.Errorf("app: %q", h.RefHost)
	}
	if a, b := from("https://chatgpt.com/"), from("chatgpt.com"); a.RefHost != b.RefHost || a.RefHost != "chatgpt.com" {
		t.Errorf("one sender is %q and %q", a.RefHost, b.RefHost)
	}
	h := f.one(t, pageAt("https://shop.example.com/?utm_campaign=from_x-2.3&ref=from_x-2.3.0"))
	if h.Campaign.Name != "from_x-2.3" || h.Campaign.Source != "from_x-2.3.0" {
		t.Errorf("got %+v", h.Campaign)
	}
	names := map[string]bool{}
	for _, h := range []hit.Hit{from("https://www.linkedin.com/feed/"), f.one(t, pageAt("https://shop.example.com/?utm_source=LinkedIn")), f.one(t, pageAt("https://shop.example.com/?utm_source=linkedin"))} {
		name, _ := source.OfHit(&h)
		names[name] = true
	}
	if len(names) != 1 {
		t.Errorf("one source has the names %v", names)
	}
}

func TestAVisitorIsOneOnEachDay(t *testing.T) {
	now := time.Date(2026, 2, 28, 22, 55, 0, 0, time.UTC) // 23:55 at the site
	f := start(t, func(c *Config) {
		c.Now = func() time.Time { return now }
		s := testState("shop.example.com")
		s.Salts = map[state.Day]state.Salt{"2026-02-28": {Key: [16]byte{1}}, "2026-03-01": {Key: [16]byte{2}}}
		c.Sites = fixedSites{s}
	})
	before := f.one(t, pageAt("https://shop.example.com/"))
	now = now.Add(6 * time.Minute)
	after := f.one(t, pageAt("https://shop.example.com/"))
	now = now.Add(3 * time.Hour)
	later := f.one(t, pageAt("https://shop.example.com/"))
	if before.Visitor == after.Visitor || before.VisitorNext != after.Visitor || after.Visitor != later.Visitor {
		t.Errorf("ids %x (next %x), %x, %x", before.Visitor, before.VisitorNext, after.Visitor, later.Visitor)
	}
}

func TestWhatAClientSaysOfItsBeingNewIsNotBelieved(t *testing.T) {
	f := start(t, nil)
	for _, flags := range []string{"u=1&nv=1&ns=1", "u=0&nv=0&ns=0"} {
		f.send("GET", "/collect?site=shop.example.com&p=/&h=https://shop.example.com&"+flags, "")
	}
	hits := f.log.hits()
	if len(hits) != 2 || hits[0].Visitor == 0 || hits[0].Visitor != hits[1].Visitor {
		t.Errorf("got %+v", hits)
	}
}
