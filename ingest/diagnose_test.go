package ingest

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/ingest/clientip"
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

// diagnose asks for the verdict on a request with these headers.
func (f *fixture) diagnose(peer string, header ...string) Diagnosis {
	site, _ := f.cfg.Sites.State().SiteByName("shop.example.com")
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = peer
	r.Header.Set("User-Agent", chrome)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return f.Diagnose(r, Question{Site: site, URL: "https://shop.example.com/"})
}

func (d *Diagnosis) advises(text string) bool {
	return strings.Contains(strings.Join(d.Advice, "\n"), text)
}

func TestADiagnosisExplainsEachHop(t *testing.T) {
	f := start(t, func(c *Config) { c.TrustedHops = 2 })
	d := f.diagnose("10.0.0.5:1", "X-Forwarded-For", "1.1.1.1, 81.2.69.142, 10.9.9.9", "CF-Connecting-IP", "89.160.20.112")
	want := []clientip.Step{{Header: "", Text: "10.0.0.5:1", What: clientip.Proxy}, {Header: "X-Forwarded-For", Text: "10.9.9.9", What: clientip.Proxy},
		{Header: "X-Forwarded-For", Text: "81.2.69.142", What: clientip.Visitor}, {Header: "X-Forwarded-For", Text: "1.1.1.1", What: clientip.Beyond},
		{Header: "Cf-Connecting-Ip", Text: "89.160.20.112", What: clientip.NotAsked}}
	if fmt.Sprint(d.Steps) != fmt.Sprint(want) || d.Hit.Country != "GB" || d.Hops != 2 {
		t.Errorf("got %+v in %s", d.Steps, d.Hit.Country)
	}
	if !d.advises("--client-header Cf-Connecting-Ip") {
		t.Errorf("got %q", d.Advice)
	}
}

func TestADiagnosisFindsTheProxyThatIsNotTrusted(t *testing.T) {
	for _, test := range []struct {
		name, xff, country string
		hops               int
		advice             string
	}{
		{"the second proxy", "81.2.69.142, 10.9.9.9", "", 0, "--trusted-proxies 10.9.9.9, or with --trusted-hops 2"},
		{"the third", "81.2.69.142, 10.9.9.8, 10.9.9.9", "", 2, "--trusted-proxies 10.9.9.8, or with --trusted-hops 3"},
		{"as it was advised", "81.2.69.142, 10.9.9.9", "GB", 2, ""},
		{"somebody in the office", "10.9.9.9", "", 0, "which has no country"},
	} {
		f := start(t, func(c *Config) { c.TrustedHops = test.hops })
		d := f.diagnose("127.0.0.1:1", "X-Forwarded-For", test.xff)
		if d.Hit.Country != test.country || test.advice != "" && !d.advises(test.advice) || test.advice == "" && (d.advises("--trusted") || d.advises("inside")) {
			t.Errorf("%s: country %q, %q", test.name, d.Hit.Country, d.Advice)
		}
	}
}

func TestADiagnosisTellsOfTrafficThatAllComesFromInside(t *testing.T) {
	f := start(t, nil)
	if d := f.diagnose("81.2.69.142:1"); d.Traffic != (Traffic{}) || d.advises("in front") {
		t.Errorf("before: %+v, %q", d.Traffic, d.Advice)
	}
	for range suspicious + 1 {
		f.send("POST", "/api/event", pageview, "X-Forwarded-For", "172.18.0.1")
	}
	d := f.diagnose("81.2.69.142:1")
	n := int64(suspicious + 1)
	if d.Traffic != (Traffic{Requests: n, Headers: n, Inside: n, Hits: n, NoCountry: n}) || !d.advises("as if a proxy or a container network stood in front") {
		t.Errorf("after: %+v, %q", d.Traffic, d.Advice)
	}
}

// A database that ships with a program grows old without anybody noticing, unless somebody says so: here the log, the status and the diagnosis.
func TestADatabaseOfYearsAgoIsNamedOld(t *testing.T) {
	corpus(t)
	for _, test := range []struct {
		name  string
		after time.Duration
		old   bool
	}{{"399 days", 399 * 24 * time.Hour, false}, {"401 days", 401*24*time.Hour + time.Hour, true}} {
		var log bytes.Buffer
		built := start(t, nil).Geo().Built
		f := start(t, func(c *Config) {
			c.Now = func() time.Time { return built.Add(test.after) }
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
		})
		d := f.diagnose("81.2.69.142:1")
		if d.Hit.Country != "GB" || d.Geo.Old != test.old || f.Geo().Old != test.old || d.advises("get a newer one") != test.old || d.GeoDays != int(test.after/(24*time.Hour)) {
			t.Errorf("%s: country %q, old %v, %d days, %q", test.name, d.Hit.Country, d.Geo.Old, d.GeoDays, d.Advice)
		}
		f.stop()
		if got := strings.Contains(log.String(), "old"); got != test.old {
			t.Errorf("%s: log %q", test.name, log.String())
		}
	}
}
