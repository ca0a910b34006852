package ingest

import (
	"net/netip"
	"testing"
)

func TestPatterns(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"/admin", "/admin", true}, {"/admin", "/admin/x", false}, {"/wp-*", "/wp-login.php", true}, {"/wp-*", "/x/wp-", false}, {"*.php", "/a/b.php", true},
		{"*.php", "/a/b.php5", false}, {"/a*b*c", "/a1b2c", true}, {"/a*b*c", "/a1c2b", false}, {"*", "", true}, {"a*a", "a", false}, {"**", "x", true},
	} {
		if got := matches(test.pattern, test.text); got != test.want {
			t.Errorf("%s, %s: got %v", test.pattern, test.text, got)
		}
	}
}

func TestRulesSetHitsApart(t *testing.T) {
	f := start(t, func(c *Config) {
		c.Rules = Rules{DataCentres: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}, Addresses: []netip.Prefix{netip.MustParsePrefix("198.51.100.7/32")},
			Hosts: []string{"Staging.*"}, Paths: []string{"/wp-*"}}
	})
	send := func(address, url, kind string) {
		t.Helper()
		before := len(f.log.hits())
		w := f.send("POST", "/api/event", `{"n":"pageview","d":"shop.example.com","u":"`+url+`","id":"`+address+url+`"}`, "X-Forwarded-For", address)
		if w.Code != 202 || (w.Header().Get("X-Weir-Note") == "bot") != (kind != "") {
			t.Errorf("%s, %s: got %d, %v", address, url, w.Code, w.Header())
		}
		for _, h := range f.log.hits()[before:] {
			if h.ClientID == address+url && h.BotKind != kind {
				t.Errorf("%s, %s: got %q", address, url, h.BotKind)
			}
		}
	}
	send("81.2.69.142", "https://shop.example.com/", "")
	send("203.0.113.9", "https://shop.example.com/", "datacentre")
	send("198.51.100.7", "https://shop.example.com/", "own")
	send("81.2.69.142", "https://staging.example.com/", "own")
	send("81.2.69.142", "https://shop.example.com/wp-login.php", "own")
	f.send("POST", "/api/event", `{"n":"pageview","u":"https://shop.example.com/","r":"http://semalt.semalt.com/crawler.php?u=x"}`)
	kinds := map[string]int{}
	for _, h := range f.log.hits() {
		kinds[h.BotKind]++
	}
	if kinds["spam"] != 1 || kinds["own"] != 3 || kinds["datacentre"] != 1 || kinds[""] != 1 {
		t.Errorf("got %v", kinds)
	}
}
