package ingest

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-analytics/weir/ingest/hit"
)

func TestAPageviewIsCleanedAndEnriched(t *testing.T) {
	f := start(t, nil)
	w := f.replay(t, "plausible-pageview.http")
	if w.Code != http.StatusAccepted || bodyOf(t, w) != "ok" {
		t.Fatalf("got %d %s", w.Code, bodyOf(t, w))
	}
	if got := w.Header().Get("Access-Control-Allow-Origin"); got != "https://shop.example.com" {
		t.Errorf("CORS: %q", got)
	}
	hits := f.log.hits()
	if len(hits) != 1 {
		t.Fatalf("%d hits", len(hits))
	}
	h := hits[0]
	if h.Kind != hit.Pageview || h.Site != "shop.example.com" || h.Path != "/café/" || h.Host != "shop.example.com" ||
		h.Query != "utm_source=newsletter&utm_medium=email&utm_campaign=2026-w07" ||
		h.Campaign != (hit.Campaign{Source: "newsletter", Medium: "email", Name: "2026-w07"}) ||
		h.RefHost != "google.com" || h.Country != "GB" || h.Browser != "Chrome" || h.BrowserVersion != "138" || h.OS != "Windows" ||
		h.Device != "desktop" || h.Bot || h.Visitor == 0 || h.TimeMs != testNow.UnixMilli() || h.ID.Seq != 1 || h.ID.Source == "" {
		t.Errorf("got %+v", h)
	}
}

func TestPayloadsOfPlausibleTrackers(t *testing.T) {
	for _, test := range []struct {
		file  string
		check func(h []hit.Hit, w http.Header) bool
	}{
		{"plausible-legacy-long-keys.http", func(h []hit.Hit, _ http.Header) bool {
			return len(h) == 1 && h[0].Kind == hit.Pageview && h[0].Path == "/old" && h[0].Props["author"] == "Ann" && h[0].RefHost == "t.co"
		}},
		{"plausible-engagement.http", func(h []hit.Hit, _ http.Header) bool {
			return len(h) == 1 && h[0].Kind == hit.Engagement && h[0].ScrollPercent == 62 && h[0].EngagedMs == 14873
		}},
		{"plausible-custom-event-revenue.http", func(h []hit.Hit, w http.Header) bool {
			return len(h) == 1 && h[0].Kind == hit.Event && h[0].Name == "Purchase" && h[0].Country == "SE" && h[0].NonInteractive &&
				h[0].Revenue == hit.Revenue{Currency: "EUR", Amount: "19.90"} && len(h[0].Props) == 2 && h[0].Props["n"] == "3" &&
				w.Get("X-Plausible-Dropped") == "1"
		}},
		{"edge-very-long.http", func(h []hit.Hit, _ http.Header) bool {
			return len(h) == 1 && len(h[0].Path) <= 2048 && len(h[0].Path) > 2000 && utf8.ValidString(h[0].Path) && h[0].RefHost != ""
		}},
		{"edge-xff-ports-and-brackets.http", func(h []hit.Hit, _ http.Header) bool { return len(h) == 1 && h[0].Country == "SE" }},
	} {
		f := start(t, nil)
		w := f.replay(t, test.file)
		if hits := f.log.hits(); w.Code != http.StatusAccepted || !test.check(hits, w.Header()) {
			t.Errorf("%s: got %d %s, header %v, hits %+v", test.file, w.Code, bodyOf(t, w), w.Header(), hits)
		}
	}
}

func TestTheTypeOfTheBodyDoesNotMatter(t *testing.T) {
	f := start(t, nil)
	const body = `{"n":"pageview","u":"https://shop.example.com/"}`
	for _, contentType := range []string{"text/plain;charset=UTF-8", "text/plain", "application/json", "", "application/x-www-form-urlencoded"} {
		if w := f.send("POST", "/api/event", body, "Content-Type", contentType); w.Code != http.StatusAccepted {
			t.Errorf("%q: got %d %s", contentType, w.Code, bodyOf(t, w))
		}
	}
	if n := len(f.log.hits()); n != 5 {
		t.Errorf("%d hits", n)
	}
}

func TestSeveralDomainsAreSeveralHits(t *testing.T) {
	f := start(t, nil, "a.example", "b.example")
	w := f.send("POST", "/api/event", `{"n":"pageview","u":"https://a.example/x","d":"www.A.example, b.example,nowhere.example,a.example"}`)
	if w.Code != http.StatusAccepted || w.Header().Get("X-Plausible-Dropped") != "1" || w.Header().Get("X-Weir-Dropped") != "unknown-site" {
		t.Errorf("got %d, %v", w.Code, w.Header())
	}
	hits := f.log.hits()
	if len(hits) != 2 || hits[0].Site == hits[1].Site || hits[0].Visitor == hits[1].Visitor {
		t.Errorf("got %+v", hits)
	}
}

func TestBadEventsAreRefusedWithTheReason(t *testing.T) {
	f := start(t, nil)
	for _, test := range []struct {
		name, body, contentType string
		status                  int
		want, dropped           string
	}{
		{"cut off", `{"n":"pageview","u":"https://shop.exa`, "text/plain", 400, `"body":["the JSON is cut off`, "not-json"},
		{"empty", "", "text/plain", 400, "cut off", "not-json"},
		{"not JSON", "n=pageview&u=x", "text/plain", 400, "not JSON at byte 0", "not-json"},
		{"list", `[{"n":"pageview"}]`, "application/json", 400, "object must start", "not-json"},
		{"two objects", `{"n":"pageview","u":"/"}{"n":"pageview","u":"/"}`, "text/plain", 400, "/api/clicks", "invalid"},
		{"bad UTF-8", "{\"n\":\"pageview\",\"u\":\"https://shop.example.com/\xff\"}", "text/plain", 400, "not valid UTF-8 at byte 46", "not-utf8"},
		{"no name", `{"u":"https://shop.example.com/"}`, "text/plain", 400, `{"errors":{"event_name":["can't be blank"]}}`, "invalid"},
		{"no page", `{"n":"pageview"}`, "text/plain", 400, `{"errors":{"url":["is required"]}}`, "invalid"},
		{"data page", `{"n":"pageview","u":"data:text/html,x"}`, "text/plain", 400, "scheme is not allowed", "invalid"},
		{"blank domain", `{"n":"pageview","u":"https://shop.example.com/","d":""}`, "text/plain", 400, `{"errors":{"domain":["can't be blank"]}}`, "invalid"},
		{"unknown site", `{"n":"pageview","u":"https://x.example/"}`, "text/plain", 400, "weir site add x.example", "unknown-site"},
		{"form", "n=pageview", "application/x-www-form-urlencoded", 415, "application/json", "content-type"},
		{"picture", `{"n":"pageview"}`, "image/png", 415, "application/json", "content-type"},
		{"too large", `{"n":"` + strings.Repeat("x", 1_000_001) + `"}`, "text/plain", 413, "larger than 1000000 bytes", "too-large"},
		{"page is a number", `{"n":"pageview","u":5}`, "text/plain", 400, `"url":["must be a string"]`, "invalid"},
		{"name too long", `{"n":"` + strings.Repeat("ä", 121) + `","u":"/"}`, "text/plain", 400, "at most 120", "invalid"},
		{"empty engagement", `{"n":"engagement","u":"https://shop.example.com/"}`, "text/plain", 400, "sd or e", "invalid"},
	} {
		w := f.send("POST", "/api/event", test.body, "Content-Type", test.contentType)
		if got := bodyOf(t, w); w.Code != test.status || !strings.Contains(got, test.want) || w.Header().Get("X-Weir-Dropped") != test.dropped ||
			!strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%s: got %d %s, %v", test.name, w.Code, got, w.Header())
		}
	}
	if hits := f.log.hits(); len(hits) != 0 {
		t.Errorf("hits were taken: %+v", hits)
	}
}

func TestABodyOfUnknownLengthIsBoundedToo(t *testing.T) {
	f := start(t, func(c *Config) { c.EventBytes = 2000 })
	r, _ := http.NewRequest("POST", "/api/event", strings.NewReader(`{"n":"`+strings.Repeat("x", 5000)+`"}`))
	r.ContentLength = -1
	r.RemoteAddr = "127.0.0.1:1"
	rec := f.record(r)
	if rec.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("got %d", rec.Code)
	}
}

func TestBotsAreTakenAndSaidSo(t *testing.T) {
	f := start(t, nil)
	const body = `{"n":"pageview","u":"https://shop.example.com/"}`
	for _, header := range [][2]string{{"User-Agent", "Claude-User/1.0"}, {"User-Agent", ""}, {"Sec-Purpose", "prefetch;prerender"}, {"Sec-CH-UA", `"HeadlessChrome";v="138"`}} {
		w := f.send("POST", "/api/event", body, header[0], header[1])
		if w.Code != http.StatusAccepted || w.Header().Get("X-Weir-Note") != "bot" {
			t.Errorf("%v: got %d, %v", header, w.Code, w.Header())
		}
	}
	for _, h := range f.log.hits() {
		if !h.Bot || h.BotKind == "" || h.Kind != hit.Pageview {
			t.Errorf("got %+v", h)
		}
	}
}

func TestHintsNameBrowsersThatHide(t *testing.T) {
	f := start(t, nil)
	f.send("POST", "/api/event", `{"n":"pageview","u":"https://shop.example.com/"}`,
		"Sec-CH-UA", `"Not)A;Brand";v="8", "Chromium";v="138", "Brave";v="138"`, "Sec-CH-UA-Platform", `"Windows"`, "Sec-CH-UA-Platform-Version", `"15.0.0"`)
	h := f.log.hits()[0]
	if h.Browser != "Brave" || h.BrowserVersion != "138" || h.OSVersion != "11" || h.Hints["sec-ch-ua-platform"] != `"Windows"` {
		t.Errorf("got %+v", h)
	}
}

func TestHashesArePagesWhereTheSenderSaysSo(t *testing.T) {
	f := start(t, nil)
	f.send("POST", "/api/event", `{"n":"pageview","u":"https://shop.example.com/#/home","h":1}`)
	f.send("POST", "/api/event", `{"n":"pageview","u":"https://shop.example.com/#/home"}`)
	hits := f.log.hits()
	if paths := hits[0].Path + " " + hits[1].Path; paths != "/#/home /" && paths != "/ /#/home" {
		t.Errorf("got %q", paths)
	}
}

func TestClientIDsTakeThePlaceOfOurs(t *testing.T) {
	f := start(t, nil)
	f.send("POST", "/api/event", `{"n":"pageview","u":"https://shop.example.com/","id":"x1"}`)
	if h := f.log.hits()[0]; h.ClientID != "x1" || h.ID != (hit.ID{}) {
		t.Errorf("got %+v", h)
	}
}

func TestDebugRequestsSayTheAddress(t *testing.T) {
	f := start(t, nil)
	w := f.send("POST", "/api/event", "", "X-Debug-Request", "true", "X-Forwarded-For", "81.2.69.142")
	if w.Code != http.StatusOK || bodyOf(t, w) != "81.2.69.142" {
		t.Errorf("got %d %s", w.Code, bodyOf(t, w))
	}
}

func TestPreflightsAndMethods(t *testing.T) {
	f := start(t, nil)
	w := f.send("OPTIONS", "/api/event", "", "Origin", "https://shop.example.com", "Access-Control-Request-Method", "POST")
	if w.Code != http.StatusNoContent || !strings.Contains(w.Header().Get("Access-Control-Allow-Headers"), "Content-Type") || w.Header().Get("Access-Control-Allow-Origin") != "https://shop.example.com" {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	if w := f.send("GET", "/api/event", ""); w.Code != http.StatusMethodNotAllowed || !strings.Contains(bodyOf(t, w), "POST") {
		t.Errorf("GET: %d", w.Code)
	}
	if w := f.send("GET", "/schema/hit.proto", ""); w.Code != 200 || !strings.Contains(bodyOf(t, w), "message Hit") {
		t.Errorf("schema: %d", w.Code)
	}
}

func TestThePixelCountsPagesWithoutScript(t *testing.T) {
	f := start(t, nil)
	w := f.send("GET", "/p.gif", "", "Referer", "https://shop.example.com/no-js.html", "X-Forwarded-For", "81.2.69.142")
	if w.Code != 200 || w.Header().Get("Content-Type") != "image/gif" || w.Body.Len() != 43 || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("got %d, %v, %d bytes", w.Code, w.Header(), w.Body.Len())
	}
	f.send("GET", "/p.gif?d=shop.example.com&u=https://shop.example.com/mail&n=Open&t=Mail", "")
	hits := f.log.hits()
	if len(hits) != 2 || hits[0].Path+hits[1].Path != "/no-js.html/mail" && hits[0].Path+hits[1].Path != "/mail/no-js.html" {
		t.Errorf("got %+v", hits)
	}
	for query, dropped := range map[string]string{"?d=nowhere.example": "unknown-site", "": "invalid"} {
		if w := f.send("GET", "/p.gif"+query, ""); w.Code != 400 || w.Header().Get("X-Weir-Dropped") != dropped || w.Body.Len() != 43 {
			t.Errorf("%q: got %d, %v", query, w.Code, w.Header())
		}
	}
}

// FuzzEvent: every body gets an answer, and one of 202 means that a valid hit is in the log.
func FuzzEvent(f *testing.F) {
	fix := start(f, nil)
	f.Add([]byte(`{"n":"pageview","u":"https://shop.example.com/caf%C3%A9","d":"shop.example.com","p":"{\"a\":1}","$":{"currency":"EUR","amount":1}}`))
	f.Add([]byte(`{"name":5,"url":"shop.example.com","h":"1","sd":"300","e":-1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		before := len(fix.log.hits())
		w := fix.send("POST", "/api/event", string(body))
		after := len(fix.log.hits())
		if w.Code == http.StatusAccepted != (after > before) {
			t.Fatalf("%d, %d new hits: %q", w.Code, after-before, body)
		}
		if w.Code != 202 && w.Code != 400 {
			t.Fatalf("got %d", w.Code)
		}
	})
}
