package bot

import (
	"net/netip"
	"strings"
	"testing"
)

func TestSpamReferrersAreKnown(t *testing.T) {
	for _, host := range []string{"semalt.com", "semalt.semalt.com", "x.darodar.com", "buttons-for-website.com", "free-share-buttons.com", "priceg.com", "forum.priceg.com", "trafficbot.life"} {
		if !SpamReferrer(host) {
			t.Errorf("%s is not known", host)
		}
	}
	for _, host := range []string{"", "google.com", "example.com", "news.ycombinator.com", "com", "t.co", "lifehacker.ru", "netvibes.com", "aliexpress.com"} {
		if SpamReferrer(host) {
			t.Errorf("%s is called spam", host)
		}
	}
}

func TestRangesHoldTheirAddresses(t *testing.T) {
	prefixes, err := ReadRanges(strings.NewReader("10.0.0.0/8 # ours\n\n10.1.0.0/16\n192.0.2.7\n2001:db8::/32,comment\n203.0.113.0/25\n203.0.113.128/25\n"))
	if err != nil || len(prefixes) != 6 {
		t.Fatalf("got %v, %v", prefixes, err)
	}
	r := NewRanges(prefixes)
	for addr, want := range map[string]bool{"10.0.0.0": true, "10.255.255.255": true, "11.0.0.0": false, "9.255.255.255": false, "192.0.2.7": true, "192.0.2.8": false,
		"2001:db8::1": true, "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff": true, "2001:db9::": false, "203.0.113.200": true, "::": false, "255.255.255.255": false} {
		if got := r.Contains(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: got %v", addr, got)
		}
	}
	if (*Ranges)(nil).Contains(netip.MustParseAddr("10.0.0.1")) || r.Contains(netip.Addr{}) {
		t.Error("nothing is in something")
	}
	if _, err := ReadRanges(strings.NewReader("10.0.0.0/8\nten\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v", err)
	}
}
