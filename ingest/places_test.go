package ingest

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPlacesReachTheHit: what databases of cities and of autonomous systems say is in the record, and a database that has gone bad costs no hit.
func TestPlacesReachTheHit(t *testing.T) {
	mmdb := filepath.Join(corpus(t), "geoip", "mmdb")
	f := start(t, func(c *Config) {
		c.GeoIP, c.GeoIPASN = filepath.Join(mmdb, "GeoIP2-City-Test.mmdb"), filepath.Join(mmdb, "GeoLite2-ASN-Test.mmdb")
	})
	send := func(addr string) {
		t.Helper()
		if w := f.send("POST", "/api/event", pageview, "X-Forwarded-For", addr); w.Code != 202 {
			t.Errorf("%s: %d %s", addr, w.Code, w.Body)
		}
	}
	send("2.125.160.216")
	send("1.128.0.1")
	send("192.0.2.1")
	hits := f.log.hits()
	if len(hits) != 3 {
		t.Fatalf("%d hits", len(hits))
	}
	found := map[string]bool{}
	for _, h := range hits {
		found[strings.Join([]string{h.Country, h.Region, h.RegionCode, h.City, h.ASName}, "|")] = true
	}
	for _, want := range []string{"GB|England|GB-ENG|Boxford|", "||||Telstra Pty Ltd", "||||"} {
		if !found[want] {
			t.Errorf("%q is not among %v", want, found)
		}
	}
	for _, name := range []string{"GeoIP2-City-Test-Broken-Double-Format.mmdb", "MaxMind-DB-test-broken-pointers-24.mmdb", "bad-data-cyclic-data-structure.mmdb"} {
		broken := filepath.Join(corpus(t), "geoip", "corrupt", name)
		f = start(t, func(c *Config) { c.GeoIP, c.GeoIPASN = broken, broken })
		send("2.125.160.216")
		if n := len(f.log.hits()); n != 1 {
			t.Errorf("%s: %d hits", name, n)
		}
	}
}
