package ingest

import (
	"net/http/httptest"
	"strings"
	"testing"
)

func TestADiagnosisSaysWhichHeaderWonAndWhatIsWrong(t *testing.T) {
	f := start(t, nil)
	site, _ := f.cfg.Sites.State().SiteByName("shop.example.com")
	for _, test := range []struct{ name, peer, header, value, agent, address, from, advice string }{
		{"through a proxy", "127.0.0.1:1", "X-Forwarded-For", "1.1.1.1, 81.2.69.142", chrome, "81.2.69.142", "X-Forwarded-For", ""},
		{"a proxy that is not trusted", "10.0.0.5:1", "X-Forwarded-For", "81.2.69.142", chrome, "10.0.0.5", "", "--trusted-proxies 10.0.0.5"},
		{"a proxy that says nothing", "127.0.0.1:1", "X-Forwarded-For", "unknown", chrome, "127.0.0.1", "unusable", "X-Forwarded-For"},
		{"no proxy", "172.18.0.1:1", "Accept", "*/*", chrome, "172.18.0.1", "", "inside of your network"},
		{"a program", "81.2.69.142:1", "Accept", "*/*", "curl/8.5.0", "81.2.69.142", "", "of kind agent"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = test.peer
		r.Header.Set("User-Agent", test.agent)
		r.Header.Set(test.header, test.value)
		d := f.Diagnose(r, Question{Site: site, URL: "https://shop.example.com/a?utm_source=x&email=me@b.example", Referrer: "https://www.google.com/"})
		if d.Address != test.address || d.Header != test.from || !strings.Contains(strings.Join(d.Advice, "\n"), test.advice) {
			t.Errorf("%s: %+v", test.name, d)
		}
		if d.Hit.Path != "/a" || strings.Contains(d.Hit.Query, "me@") || d.Hit.RefHost != "google.com" || d.Hit.Campaign.Source != "x" || d.Hit.Visitor != 0 || d.SaltDay != "2026-02-03" {
			t.Errorf("%s: hit %+v on %s", test.name, d.Hit, d.SaltDay)
		}
	}
	f.stop()
	if hits := f.log.hits(); len(hits) != 0 {
		t.Errorf("%d hits were recorded", len(hits))
	}
}
