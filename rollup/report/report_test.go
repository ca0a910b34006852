package report

import (
	"strings"
	"testing"

	"github.com/weir-analytics/weir/ingest/hit"
)

func TestRowsOfAHit(t *testing.T) {
	view := hit.Hit{Kind: hit.Pageview, Site: "example.com", Host: "www.example.com", Path: "/café", Country: "DE", Browser: "Firefox", OS: "Linux",
		Device: "desktop", RefHost: "t.co"}
	click := hit.Hit{Kind: hit.Click, Site: "go.example", Link: "spring"}
	bot := view
	bot.Bot, bot.BotKind = true, "agent"
	full := hit.Hit{Kind: hit.Pageview, Title: "T", Language: "pt-BR", ScreenWidth: 1280, Country: "DE", RegionCode: "DE-BY", City: "Munich", Browser: "Firefox", BrowserVersion: "143.0.1",
		OS: "iOS", OSVersion: "17.4.1", Campaign: hit.Campaign{Source: "spring", Medium: "email", Name: "n", Term: "t", Content: "c"}}
	hash := hit.Hit{Kind: hit.Pageview, Path: "/#/home", Fragment: "/home"}
	inside := view
	inside.RefHost = "example.com"
	log := hit.Hit{Kind: hit.Request, Path: "/logo.png", Site: "example.com", RefHost: "example.com"}
	for _, tc := range []struct {
		name string
		hit  hit.Hit
		want map[string]string
	}{
		{"page view", view, map[string]string{"total": "", "country": "DE", "browser": "Firefox", "os": "Linux", "device": "desktop", "page": "/café", "referrer": "t.co",
			"source": "Twitter", "channel": "Organic Social", "hostname": "www.example.com"}},
		{"click of nobody known", click, map[string]string{"total": "", "country": "??", "browser": "(unknown)", "os": "(unknown)", "device": "(unknown)", "referrer": "(direct)", "link": "spring",
			"source": "(direct)", "channel": "Direct"}},
		{"bot", bot, map[string]string{"total": "", "country": "DE", "browser": "Firefox", "os": "Linux", "device": "desktop", "page": "/café", "hostname": "www.example.com", "bot": "agent"}},
		{"all that may be told", full, map[string]string{"total": "", "title": "T", "language": "pt-BR", "screen": "992 to 1439", "region": "DE-BY", "city": "Munich, DE-BY",
			"browser_version": "Firefox 143", "os_version": "iOS 17.4", "utm_source": "spring", "utm_medium": "email", "utm_campaign": "n", "utm_term": "t", "utm_content": "c",
			"source": "spring", "channel": "Email", "page": "/", "country": "DE", "browser": "Firefox", "os": "iOS", "device": "(unknown)", "referrer": "(direct)"}},
		{"hash routing", hash, map[string]string{"page": "/#/home"}}, // B015
		{"from page to page", inside, map[string]string{"referrer": "(internal)"}},
		{"asset in a log without hosts", log, map[string]string{"total": "", "referrer": "(internal)"}},
		{"no path", hit.Hit{Kind: hit.Pageview}, map[string]string{"page": "/"}},
		{"event", hit.Hit{Kind: hit.Event, Path: "/x", Name: "signup"}, map[string]string{"total": "", "event": "signup"}},
	} {
		for _, r := range All() {
			key, ok := r.Row(&tc.hit)
			want, wanted := tc.want[r.Name()]
			switch {
			case wanted && (!ok || key != want):
				t.Errorf("%s: %s has row %q (%v), want %q", tc.name, r.Name(), key, ok, want)
			case !wanted && ok && len(tc.want) > 4:
				t.Errorf("%s: %s has row %q, want none", tc.name, r.Name(), key)
			}
		}
	}
}

func TestRowsOfAVisitAndAnEngagement(t *testing.T) {
	view := hit.Hit{Kind: hit.Pageview, Path: "/in", Country: "DE", RefHost: "t.co"}
	read := hit.Hit{Kind: hit.Engagement, Path: "/read"}
	click := hit.Hit{Kind: hit.Click, Link: "spring"}
	for _, tc := range []struct {
		name  string
		entry hit.Hit
		visit map[string]string
		read  map[string]string
	}{
		{"page view", view, map[string]string{"total": "", "country": "DE", "referrer": "t.co", "entry": "/in"},
			map[string]string{"total": "", "country": "DE", "referrer": "t.co", "entry": "/in", "page": "/read"}},
		{"click", click, map[string]string{"total": "", "link": "spring"}, map[string]string{"link": "spring", "page": "/read"}},
		{"no visit", read, nil, map[string]string{"total": "", "page": "/read"}},
	} {
		for _, r := range All() {
			visit, ok := VisitRow(r, &tc.entry)
			want, wanted := tc.visit[r.Name()]
			if never := r.Name() == "page" || r.Name() == "exit"; wanted && (!ok || visit != want) || never && ok {
				t.Errorf("%s: a visit is in row %q of %s (%v), want %q", tc.name, visit, r.Name(), ok, want)
			}
			engaged, ok := EngagedRow(r, &read, &tc.entry)
			want, wanted = tc.read[r.Name()]
			if wanted && (!ok || engaged != want) || r.Name() == "exit" && ok {
				t.Errorf("%s: an engagement is in row %q of %s (%v), want %q", tc.name, engaged, r.Name(), ok, want)
			}
		}
	}
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		name := r.Name()
		if name == "" || seen[name] || strings.ContainsAny(name, "|.\x00") {
			t.Errorf("report %q: the name is empty, taken or cannot be part of a key", name)
		}
		seen[name] = true
		if ok, perLink := Known(name); !ok || perLink != r.PerLink() {
			t.Errorf("Known(%q) = %v, %v", name, ok, perLink)
		}
	}
	if ok, _ := Known("shoe_size"); ok {
		t.Error("Known accepted a report that does not exist")
	}
}
