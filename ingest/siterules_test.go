package ingest

import (
	"net/netip"
	"net/url"
	"testing"

	"github.com/weir-analytics/weir/ingest/bot"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// changing is a state that a test may replace.
type changing struct{ s *state.State }

func (c *changing) State() *state.State { return c.s }

func (c *changing) rules(t *testing.T, site string, rules state.Rules) {
	t.Helper()
	next, _, err := c.s.Apply(command.UpdateSite{Name: site, Rules: &rules}, testNow)
	if err != nil {
		t.Fatal(err)
	}
	c.s = next
}

func TestRulesOfASiteSetApartAndClean(t *testing.T) {
	sites := &changing{testState("shop.example.com", "s.example.com")}
	sites.rules(t, "shop.example.com", state.Rules{
		Addresses: []string{"198.51.100.0/24", "2001:db8::7", "::ffff:192.0.2.9"}, Hosts: []string{"Shop.example.com", "*.shop.example.com"}, Paths: []string{"/admin/*"},
		Referrers: []string{"www.casino.example"}, Countries: []string{"GB"}, QueryListed: true, Query: []string{"q", "Page"}, NoTrailingSlash: true,
	})
	f := start(t, func(cfg *Config) {
		cfg.Sites = sites
		cfg.Rules.DataCentres = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
	})
	send := func(site, page, addr, referrer string) hit.Hit {
		t.Helper()
		body := `{"n":"pageview","d":"` + site + `","u":"` + page + `","r":"` + referrer + `"}`
		if w := f.send("POST", "/api/event", body, "X-Forwarded-For", addr); w.Code != 202 {
			t.Fatalf("%s: %d %s", page, w.Code, w.Body)
		}
		hits := f.log.hits()
		f.log.mu.Lock()
		f.log.parts = map[int32][]hit.Hit{}
		f.log.mu.Unlock()
		if len(hits) != 1 {
			t.Fatalf("%s: %d hits", page, len(hits))
		}
		return hits[0]
	}
	const here = "https://shop.example.com"
	for _, test := range []struct{ name, site, page, addr, referrer, kind string }{
		{"a person", "shop.example.com", here + "/a", "89.160.20.112", "", ""},
		{"the office", "shop.example.com", here + "/a", "198.51.100.9", "", bot.KindOwn},
		{"one address", "shop.example.com", here + "/a", "2001:db8::7", "", bot.KindOwn},
		{"a mapped address", "shop.example.com", here + "/a", "192.0.2.9", "", bot.KindOwn},
		{"the office at another site", "s.example.com", "https://s.example.com/a", "198.51.100.9", "", ""},
		{"a page of one's own", "shop.example.com", here + "/admin/x", "89.160.20.112", "", bot.KindOwn},
		{"a copy of the snippet", "shop.example.com", "https://copy.example/a", "89.160.20.112", "", bot.KindHost},
		{"a host below", "shop.example.com", "https://de.shop.example.com/a", "89.160.20.112", "", ""},
		{"a referrer", "shop.example.com", here + "/a", "89.160.20.112", "https://play.casino.example/x", bot.KindReferrer},
		{"a like name", "shop.example.com", here + "/a", "89.160.20.112", "https://mycasino.example/x", ""},
		{"a data centre", "shop.example.com", here + "/a", "203.0.113.7", "", bot.KindDataCentre},
	} {
		if h := send(test.site, test.page, test.addr, test.referrer); h.BotKind != test.kind || h.Bot != (test.kind != "") {
			t.Errorf("%s: kind %q, want %q", test.name, h.BotKind, test.kind)
		}
	}
	if corpusDir() != "" {
		if h := send("shop.example.com", here+"/a", "81.2.69.142", ""); h.BotKind != bot.KindCountry || h.Country != "GB" {
			t.Errorf("country: %q, %q", h.BotKind, h.Country)
		}
	}
	for page, want := range map[string][2]string{
		"/a/?q=1&utm_source=x&page=2&secret=3": {"/a", "q=1&page=2"}, "/": {"/", ""}, "//": {"/", ""}, "/a/b": {"/a/b", ""}, "/a?%71=1&Q=2": {"/a", "%71=1&Q=2"},
	} {
		h := send("shop.example.com", here+page, "89.160.20.112", "")
		if h.Path != want[0] || h.Query != want[1] {
			t.Errorf("%s: %q, %q", page, h.Path, h.Query)
		}
		if u, _ := url.Parse(page); u.Query().Get("utm_source") != h.Campaign.Source {
			t.Errorf("%s: campaign %q", page, h.Campaign.Source)
		}
	}
	sites.rules(t, "shop.example.com", state.Rules{TakeDataCentres: true})
	if h := send("shop.example.com", here+"/a/", "203.0.113.7", ""); h.Bot || h.Path != "/a/" {
		t.Errorf("after the change: %q, %q", h.BotKind, h.Path)
	}
}
