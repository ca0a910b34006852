package dialect

import (
	"net/url"
	"testing"
	"unicode/utf8"

	"github.com/weir-analytics/weir/ingest/hit"
)

func TestNamesOfScripts(t *testing.T) {
	for path, want := range map[string]string{
		"/js/weir.js": trackerCore, "/js/script.js": trackerCore, "/js/plausible.js": trackerCore, "/js/analytics.js": trackerCore,
		"/js/pa-AbC_9-x.js": trackerCore, "/js/weir.all.js": trackerAll, "/js/weir.outbound-links.404.engagement.js": trackerAll,
		"/js/script.hash.outbound-links.js": trackerAll, "/js/plausible.compat.local.manual.js": trackerAll,
		"/js/other.js": "", "/js/script.nothing.js": "", "/js/weir..js": "", "/script.js": "", "/js/pa-.js": "", "/js/script": "", "/js/pa-<x>.js": "",
		"/js/../js/weir.js": "",
	} {
		if got := TrackerFile(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestEventsOfBatchesHaveATime(t *testing.T) {
	e, err := ParseTimedEvent([]byte(`{"u":"https://a.example/x","ts":"2026-02-02T03:00:00+0530"}`))
	if err != nil || e.Name != NamePageview || e.Said == nil || e.Said.TimeMs != 1769981400000 {
		t.Errorf("got %+v, %v", e, err)
	}
	if _, err := ParseTimedEvent([]byte(`{"u":"https://a.example/x","ts":"1/2/2026"}`)); err == nil {
		t.Error("a date of two meanings was taken")
	}
}

func TestUmamiFragmentsArePagesWhenTheyAreRoutes(t *testing.T) {
	for body, want := range map[string]bool{"/#/home": true, "/#!home": true, "/#top": false, "/": false} {
		u, err := ParseUmami([]byte(`{"type":"event","payload":{"website":"x","hostname":"a.example","url":"` + body + `"}}`))
		if err != nil || u.Event.HashMode != want || u.Event.URL != "https://a.example"+body {
			t.Errorf("%s: got %+v, %v", body, u.Event, err)
		}
	}
}

func TestNestedDataBecomesProperties(t *testing.T) {
	u, err := ParseUmami([]byte(`{"type":"event","payload":{"website":"x","name":"n","tag":"t1","data":{"a":{"b":{"c":1}},"list":[1,2],"no":null}}}`))
	if p := u.Event.Props; err != nil || p["a.b.c"] != "1" || p["list"] != "[1,2]" || p["tag"] != "t1" || len(p) != 3 {
		t.Errorf("got %v, %v", p, err)
	}
}

// checkEvent fails when an event could not be stored.
func checkEvent(t *testing.T, e *Event) {
	if len(e.Props) > maxProps+1 || e.Revenue != (hit.Revenue{}) && !isCurrency(e.Revenue.Currency) {
		t.Fatalf("got %+v", e)
	}
	for key, value := range e.Props {
		if !utf8.ValidString(key) || !utf8.ValidString(value) || key == "" {
			t.Fatalf("got %q: %q", key, value)
		}
	}
}

// FuzzTrackers: no body makes a parser fail other than by an error, and what is read fits the limits.
func FuzzTrackers(f *testing.F) {
	f.Add([]byte(`{"type":"event","payload":{"website":"x","hostname":"a.example","url":"/","data":{"a":{"b":1}},"timestamp":1770000000}}`))
	f.Add([]byte(`{"no_sessions":true,"hits":[{"path":"/a","ip":"::1","user_agent":"x","created_at":"2026-03-29T00:59:59Z","size":[1,2]}]}`))
	f.Add([]byte(`{"client_id":"a","timestamp_micros":1770000000000000,"events":[{"name":"purchase","params":{"currency":"EUR","value":1}}]}`))
	f.Add([]byte(`{"requests":["?idsite=1&rec=1&e_c=a&e_a=b&dimension1=x",{"idsite":1,"rec":1,"cdt":1770000000}],"token_auth":"x"}`))
	f.Add([]byte(`{"shortUrl":{"shortCode":"a"},"visit":{"date":"2026-02-01T23:59:59+01:00","visitLocation":{"countryCode":"GB"}}}`))
	f.Add([]byte(`{"event":"link.clicked","data":{"click":{"id":"a","ip":"1.2.3.4"},"link":{"domain":"s.example","key":"k"}}}`))
	f.Add([]byte("v=2&en=scroll&epn.percent_scrolled=90&_et=5000&ep.x=%ff\nen=b"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if u, err := ParseUmami(body); err == nil {
			checkEvent(t, &u.Event)
		}
		if e, err := ParseTimedEvent(body); err == nil && len(e.Props) > maxProps {
			t.Fatal("too many properties")
		}
		_ = ParseGoatCounterAPI(body, "a.example", func(h GoatHit) { checkEvent(t, &h.Event) })
		events := 0
		ParseGA4Server(body, func(e Event) { checkEvent(t, &e); events++ })
		_ = ParseGA4(string(body), body, func(e Event) { checkEvent(t, &e) })
		if events > maxGA4Events {
			t.Fatalf("%d events", events)
		}
		if requests, _, err := ParseMatomoBulk(body); err == nil {
			for _, q := range requests {
				if m, err := ParseMatomo(q, "", 1770000000000); err == nil {
					checkEvent(t, &m.Event)
				}
			}
		}
		query, _ := url.ParseQuery(string(body))
		if m, err := ParseMatomo(query, "", 1770000000000); err == nil {
			checkEvent(t, &m.Event)
		}
		_, _ = ParseGoatCounter(query, "")
		_, _ = ParseFathom(query, string(body))
		_, _ = ParseShlink(body)
		_, _, _ = ParseDub(body)
		IsMatomoBulk(body)
	})
}
