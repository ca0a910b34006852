package ingest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/hit"
)

// payloadCase is a request of the corpus and what its comments, or the tracker's own server, say of it.
type payloadCase struct {
	file   string
	sites  []string // nil: the usual two
	status int
	body   string // "": not compared
	hits   func(h []hit.Hit) bool
}

func none(h []hit.Hit) bool { return len(h) == 0 }

func one(check func(h hit.Hit) bool) func([]hit.Hit) bool {
	return func(h []hit.Hit) bool { return len(h) == 1 && check(h[0]) }
}

func TestPayloadsOfOtherTrackers(t *testing.T) {
	goat := []string{"gc.example.com", "shop.example.com"}
	day := func(text string) int64 {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at.UnixMilli()
	}
	for _, test := range []payloadCase{
		{"umami-pageview.http", nil, 200, "", one(func(h hit.Hit) bool {
			return h.Kind == hit.Pageview && h.Site == "shop.example.com" && h.Path == "/menu" && h.Query == "x=1" && h.Country == "US" &&
				h.RefHost == "bing.com" && h.Title == "Café – “Menü” <b>" && h.Browser == "Chrome"
		})},
		{"umami-custom-event.http", nil, 200, "", one(func(h hit.Hit) bool {
			return h.Kind == hit.Event && h.Name == "signup-button" && h.Country == "JP" && h.Path == "/signup" && h.Title == "登録" &&
				h.Props["plan"] == "pro" && h.Props["seats"] == "3" && h.Props["ok"] == "true" && h.RefHost == ""
		})},
		{"umami-identify.http", nil, 200, "", none},
		{"umami-batch.http", nil, 200, "", func(h []hit.Hit) bool {
			return len(h) == 2 && h[0].Kind == hit.Pageview && (h[0].Path == "/1" || h[0].Path == "/3")
		}},
		{"umami-server-side-with-ip-and-time.http", nil, 200, `{"beep":"boop"}`, one(func(h hit.Hit) bool {
			return h.Bot && h.TimeMs == testNow.UnixMilli() && h.Agent == "my-backend/1.0" && h.Path == "/imported"
		})},
		{"umami-pixel.http", nil, 200, string(dialect.GIF), one(func(h hit.Hit) bool {
			return h.Kind == hit.Pageview && h.Path == "/newsletter.html" && h.Country == "GB"
		})},
		{"goatcounter-pageview.http", goat, 200, string(dialect.GoatGIF), one(func(h hit.Hit) bool {
			return h.Kind == hit.Pageview && h.Site == "gc.example.com" && h.Path == "/café" && h.Query == "a=1&b=2&utm_campaign=spring" &&
				h.Campaign.Name == "spring" && h.Title == "Café – Menü" && h.RefHost == "news.ycombinator.com" && !h.Bot
		})},
		{"goatcounter-event-beacon-webdriver.http", goat, 200, string(dialect.GoatGIF), one(func(h hit.Hit) bool {
			return h.Kind == hit.Event && h.Name == "click-buy" && h.Bot && h.BotKind == "driven" && h.Title == "Buy"
		})},
		{"goatcounter-prefetch.http", goat, 200, string(dialect.GoatGIF), one(func(h hit.Hit) bool { return h.Bot && h.BotKind == "prefetch" })},
		{"goatcounter-api-count.http", goat, 401, "", none},
		{"ga4-collect-get.http", nil, 204, "", one(func(h hit.Hit) bool {
			return h.Kind == hit.Pageview && h.Path == "/menu" && h.Campaign.Source == "x" && h.RefHost == "google.com" && h.Title == "Menu" && len(h.Props) == 0
		})},
		{"ga4-collect-batched.http", nil, 204, "", func(h []hit.Hit) bool {
			return len(h) == 2 && h[0].Kind == hit.Engagement && h[1].Kind == hit.Engagement && h[0].ScrollPercent == 90 && h[0].EngagedMs == 5000 &&
				h[1].EngagedMs == 12345 && h[0].Path == "/menu"
		}},
		{"matomo-image-get.http", nil, 200, string(dialect.MatomoGIF), one(func(h hit.Hit) bool {
			return h.Kind == hit.Pageview && h.Path == "/café/" && h.RefHost == "duckduckgo.com" && h.Title == "Café / Menü" && h.Campaign.Name == "spring"
		})},
		{"matomo-noscript-pixel.http", nil, 200, string(dialect.MatomoGIF), one(func(h hit.Hit) bool { return h.Kind == hit.Pageview && h.Path == "/no-js.html" })},
		{"matomo-bulk.http", nil, 200, `{"status":"success","tracked":1,"invalid":1}`, one(func(h hit.Hit) bool {
			return h.Path == "/1" && h.Country == "GB" && h.TimeMs == testNow.UnixMilli()
		})},
		{"fathom-lite-collect.http", nil, 200, string(dialect.FathomGIF), one(func(h hit.Hit) bool {
			return h.Kind == hit.Pageview && h.Path == "/about" && h.Site == "shop.example.com" && h.ClientID == "Qh7xYk2LmN0pRsTuVwXa"
		})},
		{"shlink-visit-webhook.http", nil, 202, `{"accepted":1,"rejected":0}`, one(func(h hit.Hit) bool {
			return h.Kind == hit.Click && h.Link == "spring" && h.Site == "s.example.com" && h.Country == "GB" && h.TimeMs == day("2026-02-01T22:59:59Z") &&
				h.Dest == "https://shop.example.com/spring" && h.OS == "iOS" && h.RefHost == "mail.example.org" && !h.Bot
		})},
		{"shlink-orphan-visit-webhook.http", nil, 202, `{"accepted":1,"rejected":0}`, one(func(h hit.Hit) bool {
			return h.Kind == hit.Request && h.Status == 404 && h.Bot && h.Path == "/wp-login.php" && h.Link == "" && h.Country == ""
		})},
		{"dub-link-clicked-webhook.http", nil, 202, `{"accepted":1,"rejected":0}`, one(func(h hit.Hit) bool {
			return h.Kind == hit.Click && h.Link == "track-test" && h.Site == "s.example.com" && h.Country == "US" && h.RefHost == "" && h.ClientID == "aBcDeFgHiJkLmNoP" &&
				h.TimeMs == day("2026-02-03T09:35:57.926Z")
		})},
		{"bitly-webhook-like.http", []string{"bit.ly"}, 202, "", one(func(h hit.Hit) bool {
			return h.Kind == hit.Click && h.Link == "3xInvent" && h.Host == "bit.ly" && h.Country == "SE" && h.RefHost == "t.co" && h.Dest == "https://shop.example.com/"
		})},
		{"yourls-log-row.http", []string{"s.example.com"}, 202, "", func(h []hit.Hit) bool {
			return len(h) == 2 && h[0].Link == "spring" && h[0].RefHost == "" && h[0].Country == "GB" && h[1].Country == "JP" && h[1].RefHost == "example.org" &&
				h[0].TimeMs == day("2026-02-03T10:35:57Z")
		}},
	} {
		f := start(t, nil, test.sites...)
		w := f.replay(t, test.file)
		hits := f.log.hits()
		if w.Code != test.status || test.body != "" && w.Body.String() != test.body || !test.hits(hits) {
			t.Errorf("%s: got %d %q, header %v, hits %+v", test.file, w.Code, w.Body.String(), w.Header(), hits)
		}
	}
}

func TestUmamiAnswersLikeItsOwnServer(t *testing.T) {
	f := start(t, nil)
	w := f.replay(t, "umami-pageview.http")
	var got map[string]string
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got) != 3 || len(got["sessionId"]) != 36 || len(got["visitId"]) != 36 || got["cache"] == "" ||
		w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("got %s, %v, %v", w.Body, w.Header(), err)
	}
	if again := f.replay(t, "umami-pageview.http"); again.Body.String() != w.Body.String() {
		t.Errorf("the same visitor is another session: %s, %s", w.Body, again.Body)
	}
	w = f.replay(t, "umami-batch.http")
	var batch struct {
		Size, Processed, Errors int
		Details                 []struct {
			Index    int
			Response struct{ Error struct{ Code string } }
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &batch); err != nil || batch.Size != 3 || batch.Processed != 2 || batch.Errors != 1 ||
		batch.Details[0].Index != 1 || batch.Details[0].Response.Error.Code != "bad-request" {
		t.Errorf("got %s, %v", w.Body, err)
	}
	for _, test := range []struct{ body, want string }{
		{`{"type":"event","payload":{"website":"11111111-2222-4333-8444-555555555555","hostname":"nowhere.example","url":"/"}}`,
			`{"error":{"message":"Website not found.","code":"bad-request","status":400,`},
		{`{"type":"event","payload":{"hostname":"shop.example.com","url":"/"}}`, `{"error":{"message":"Bad request","code":"bad-request","status":400,`},
		{`{"type":"other","payload":{"website":"11111111-2222-4333-8444-555555555555"}}`, `{"error":{"message":"Bad request","code":"bad-request","status":400,`},
		{`{"type":"event","payload":{"website":"x","hostname":"shop.example.com","name":"` + strings.Repeat("n", 51) + `"}}`, `"name: Too big`},
		{`{"type":"event"`, `"body: the JSON is cut off`},
	} {
		if w := f.send("POST", "/api/send", test.body); w.Code != 400 || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s: got %d %s", test.body, w.Code, w.Body)
		}
	}
}

func TestUmamiNamesSitesByUUID(t *testing.T) {
	f := start(t, nil)
	if got := SiteUUID("www.Shop.example.com").String(); got != "9dafd3fa-2f3c-5fae-baba-04ab5af3f0b5" && got != SiteUUID("shop.example.com").String() {
		t.Errorf("got %s", got)
	}
	w := f.send("POST", "/api/send", `{"type":"event","payload":{"website":"`+SiteUUID("s.example.com").String()+`","hostname":"elsewhere.example","url":"/x#part"}}`)
	hits := f.log.hits()
	if w.Code != 200 || len(hits) != 1 || hits[0].Site != "s.example.com" || hits[0].Host != "elsewhere.example" || hits[0].Path != "/x" {
		t.Errorf("got %d %s, %+v", w.Code, w.Body, hits)
	}
}

func TestServersSpeakForOthersWithAKeyOnly(t *testing.T) {
	corpus(t) // holds the countries
	const message = `{"type":"event","payload":{"website":"x","hostname":"shop.example.com","url":"/i","timestamp":1770000000,"ip":"81.2.69.142","userAgent":"` + chrome + `"}}`
	f := start(t, nil)
	w := f.send("POST", "/api/send", message, "Authorization", "Bearer "+ingestToken, "User-Agent", "my-backend/1.0")
	hits := f.log.hits()
	if w.Code != 200 || len(hits) != 1 || hits[0].Bot || hits[0].TimeMs != 1770000000000 || hits[0].Country != "GB" || hits[0].Browser != "Chrome" {
		t.Errorf("Umami: got %d %s, %+v", w.Code, w.Body, hits)
	}

	f = start(t, nil)
	w = f.send("POST", "/matomo.php", `{"requests":["?idsite=1&rec=1&url=https://shop.example.com/2&cip=81.2.69.142&cdt=2020-01-01%2000:00:00","?idsite=9"],"token_auth":"`+ingestToken+`"}`)
	hits = f.log.hits()
	if w.Body.String() != `{"status":"success","tracked":1,"invalid":1,"invalid_indices":[1]}` || len(hits) != 1 || hits[0].Country != "GB" ||
		hits[0].TimeMs != time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() {
		t.Errorf("Matomo: got %s, %+v", w.Body, hits)
	}

	f = start(t, nil)
	const measurement = `{"client_id":"a.1","ip_override":"81.2.69.142","events":[{"name":"sign_up","params":{"page_location":"https://shop.example.com/x","method":"mail","engagement_time_msec":5}}]}`
	f.send("POST", "/mp/collect?measurement_id=G-X&api_secret="+ingestToken, measurement)
	f.send("POST", "/mp/collect?measurement_id=G-X&api_secret=wrong", measurement)
	hits = f.log.hits()
	if c := countriesOf(hits); len(hits) != 2 || c[0] != "" || c[1] != "GB" || hits[0].Name != "sign_up" || hits[0].Props["method"] != "mail" {
		t.Errorf("GA4: got %+v", hits)
	}
}

func TestGoatCounterAPIAnswersByIndex(t *testing.T) {
	body := string(payload(t, "goatcounter-api-count.http"))
	body = strings.TrimSpace(body[strings.Index(body, "\n\n"):])
	f := start(t, func(c *Config) { c.Now = func() time.Time { return time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC) } }, "gc.example.com")
	w := f.send("POST", "/api/v0/count", body, "Authorization", "Bearer "+ingestToken)
	hits := f.log.hits()
	if w.Code != 400 || w.Body.String() != `{"errors":{"2":"path: must be set"}}` || len(hits) != 2 || hits[0].Country != "SE" || hits[0].TimeMs != 1774745999000 || hits[1].Kind != hit.Event || hits[1].Name != "/b" || hits[1].Visitor == 0 {
		t.Errorf("got %d %s, %+v", w.Code, w.Body, hits)
	}
	for body, want := range map[string]string{
		`{"hits":[]}`:             `{"error":"no hits"}`,
		`{}`:                      `{"error":"no hits"}`,
		`{"hits":[{"path":"/"}]}`: `{"errors":{"0":"session: or browser/IP not set; use no_sessions if you don't want to track unique visits"}}`,
	} {
		if w := f.send("POST", "/api/v0/count", body, "Authorization", "Bearer "+ingestToken); w.Code != 400 || w.Body.String() != want {
			t.Errorf("%s: got %d %s", body, w.Code, w.Body)
		}
	}
	if w := f.send("POST", "/api/v0/count", `{"no_sessions":true,"hits":[{"path":"/"}]}`, "Authorization", "Bearer "+ingestToken); w.Code != 202 || w.Body.String() != `{"status":"ok"}` {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestGoatCounterSaysWhatIsWrong(t *testing.T) {
	f := start(t, nil, "gc.example.com")
	for query, want := range map[string]string{"p=/x&b=7": "wrong value: b=7", "p=": "not valid: path: must be set", "p=/" + strings.Repeat("x", 2048): "not valid: path: must be fewer"} {
		w := f.send("GET", "/count?"+query, "")
		if w.Code != 400 || !strings.HasPrefix(w.Header().Get("X-Goatcounter"), want) || !bytes.Equal(w.Body.Bytes(), dialect.GoatGIF) {
			t.Errorf("%s: got %d, %v", query[:5], w.Code, w.Header())
		}
	}
}

func TestDubIsBelievedWhenItSigns(t *testing.T) {
	f := start(t, func(c *Config) { c.DubSecret = "whsec_1" })
	if w := f.replay(t, "dub-link-clicked-webhook.http"); w.Code != 401 || len(f.log.hits()) != 0 {
		t.Errorf("a wrong signature: got %d %s", w.Code, w.Body)
	}
	body := `{"id":"evt_1","event":"link.clicked","data":{"click":{"id":"c1","timestamp":"2026-02-03T09:00:00Z","referer":"(direct)"},"link":{"domain":"s.example.com","key":"a"}}}`
	mac := hmac.New(sha256.New, []byte("whsec_1"))
	mac.Write([]byte(body))
	sign := hex.EncodeToString(mac.Sum(nil))
	w := f.send("POST", "/hooks/dub", body, "Dub-Signature", sign, "X-Forwarded-For", "203.0.113.7")
	if w.Code != 202 || len(f.log.hits()) != 1 {
		t.Errorf("a right signature: got %d %s", w.Code, w.Body)
	}
	if w := f.send("POST", "/hooks/dub", `{"event":"lead.created"}`, "Dub-Signature", sign); w.Code != 401 {
		t.Errorf("another body: got %d", w.Code)
	}
	f = start(t, nil)
	if w := f.send("POST", "/hooks/dub", body, "X-Forwarded-For", "203.0.113.7"); w.Code != 401 {
		t.Errorf("no secret, no token: got %d %s", w.Code, w.Body)
	}
	if w := f.send("POST", "/hooks/dub?token="+ingestToken, body, "X-Forwarded-For", "203.0.113.7"); w.Code != 202 {
		t.Errorf("a token in the address: got %d %s", w.Code, w.Body)
	}
	if w := f.send("POST", "/hooks/dub?token="+ingestToken, `{"event":"lead.created","data":{}}`); w.Code != 202 || w.Body.String() != `{"accepted":0,"rejected":0}` {
		t.Errorf("another event: got %d %s", w.Code, w.Body)
	}
}

func TestTimesOfDayAreOfTheZoneThatTheHookNames(t *testing.T) {
	f := start(t, nil, "s.example.com")
	const row = `{"click_time":"2026-02-03 10:35:57","shorturl":"spring"}`
	if w := f.send("POST", "/hooks/yourls?tz=Europe/Berlin", row); w.Code != 202 {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	if h := f.log.hits()[0]; h.TimeMs != time.Date(2026, 2, 3, 9, 35, 57, 0, time.UTC).UnixMilli() {
		t.Errorf("got %s", time.UnixMilli(h.TimeMs).UTC())
	}
	if w := f.send("POST", "/hooks/yourls?tz=Nowhere/X", row); w.Code != 400 {
		t.Errorf("got %d", w.Code)
	}
}

func TestTimesOfABatchAreReadInEveryForm(t *testing.T) {
	body := string(payload(t, "edge-clock.http"))
	body = strings.TrimSpace(body[strings.Index(body, "\n\n"):])
	f := start(t, nil)
	w := f.send("POST", "/api/batch", body, "Authorization", "Bearer "+ingestToken, "Content-Type", "application/json")
	var answer struct {
		Size, Processed, Errors int
		Details                 []struct{ Index int }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	var wrong []int
	for _, d := range answer.Details {
		wrong = append(wrong, d.Index)
	}
	// 0 and -1 are no times, 2100 and 2026-10 lie ahead of the clock, 1/2/2026 is one of two days.
	if w.Code != 200 || answer.Size != 15 || answer.Processed != 9 || len(wrong) != 6 || wrong[0] != 0 || wrong[1] != 1 || wrong[2] != 6 || wrong[3] != 12 || wrong[5] != 14 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	for _, h := range f.log.hits() {
		if at := time.UnixMilli(h.TimeMs).UTC(); at.Year() != 2026 || at.Month() != 2 {
			t.Errorf("got %s", at)
		}
	}
	if w := f.replay(t, "edge-clock.http"); w.Code != 200 || !strings.Contains(w.Body.String(), `"processed":0`) {
		t.Errorf("without a key: got %d %s", w.Code, w.Body)
	}
}

func TestGA4DebugSaysWhatIsWrong(t *testing.T) {
	f := start(t, nil)
	w := f.send("POST", "/debug/mp/collect", `{"client_id":"a","events":[{"name":"sign_up"}]}`)
	if w.Code != 200 || bodyOf(t, w) != "{\n  \"validationMessages\": [ ]\n}" {
		t.Errorf("got %d %q", w.Code, w.Body)
	}
	for body, code := range map[string]string{
		`{"events":[{"name":"a"}]}`:                                                            "VALUE_REQUIRED",
		`{"client_id":"a","events":[{"name":"first_open"}]}`:                                   "NAME_RESERVED",
		`{"client_id":"a","events":[{"name":"1a"}]}`:                                           "NAME_INVALID",
		`{"client_id":"a","events":[` + strings.Repeat(`{"name":"a"},`, 25) + `{"name":"a"}]}`: "EXCEEDED_MAX_ENTITIES",
		`nonsense`: "VALUE_INVALID",
	} {
		if w := f.send("POST", "/debug/mp/collect", body); !strings.Contains(w.Body.String(), code) {
			t.Errorf("%.40s: got %s", body, w.Body)
		}
	}
	if len(f.log.hits()) != 0 {
		t.Error("the debugging address counts")
	}
	if w := f.send("POST", "/mp/collect", `{"events":[{"name":"a"}]}`); w.Code != 204 || w.Header().Get("X-Weir-Dropped") != "invalid" {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
}

func TestMatomoActionsAreEvents(t *testing.T) {
	for query, want := range map[string]string{
		"e_c=Videos&e_a=Play&e_n=Intro&e_v=3":     "Videos: Play",
		"link=https://other.example/":             "Outbound Link: Click",
		"download=https://shop.example.com/a.pdf": "File Download",
		"search=boots&search_count=3":             "Search",
		"idgoal=7&revenue=5.5":                    "Goal 7",
		"idgoal=0&ec_id=A1&revenue=19.90":         "Order",
		"c_n=Banner":                              "Content Impression",
	} {
		f := start(t, nil)
		w := f.send("POST", "/matomo.php", "idsite=1&rec=1&url=https://shop.example.com/x&"+query, "Content-Type", "application/x-www-form-urlencoded", "Origin", "https://shop.example.com")
		hits := f.log.hits()
		if w.Code != 200 || len(hits) != 1 || hits[0].Kind != hit.Event || hits[0].Name != want || w.Header().Get("Access-Control-Allow-Origin") != "https://shop.example.com" {
			t.Errorf("%s: got %d, %+v", query, w.Code, hits)
		}
	}
	f := start(t, nil)
	if w := f.send("GET", "/piwik.php?idsite=1&rec=1&url=https://shop.example.com/&send_image=0", ""); w.Code != 204 || w.Body.Len() != 0 {
		t.Errorf("send_image=0: got %d", w.Code)
	}
	for _, query := range []string{"idsite=1", "rec=1", "idsite=77&rec=1&url=https://nowhere.example/", "idsite=1&rec=1&_id=short", "idsite=1&rec=1&cip=1.2.3.4&url=https://shop.example.com/"} {
		if w := f.send("GET", "/matomo.php?"+query, ""); w.Code != 400 && w.Code != 401 || !bytes.Equal(w.Body.Bytes(), dialect.MatomoGIF) || w.Header().Get("X-Weir-Dropped") == "" {
			t.Errorf("%s: got %d, %v", query, w.Code, w.Header())
		}
	}
}

// TestServersReportWithoutAKey: the libraries of Umami and Matomo for servers show no key, and what they tell of people counts as people's.
func TestServersReportWithoutAKey(t *testing.T) {
	f := start(t, nil)
	f.send("POST", "/api/send", `{"type":"event","payload":{"website":"shop.example.com","name":"order","data":{"total":12}}}`, "User-Agent", "Mozilla/5.0 Umami/v20.11.1")
	f.send("GET", "/matomo.php?idsite=1&rec=1&url=https://shop.example.com/x&ua="+url.QueryEscape(chrome), "", "User-Agent", "")
	hits := f.log.hits()
	if len(hits) == 2 && hits[0].Name == "" { // they lie in two partitions
		hits[0], hits[1] = hits[1], hits[0]
	}
	if len(hits) != 2 || hits[0].Bot || hits[0].Name != "order" || hits[1].Bot || hits[1].Browser != "Chrome" || hits[1].Agent != chrome {
		t.Errorf("got %+v", hits)
	}
}

func TestAllPathsAreAnswered(t *testing.T) {
	f := start(t, nil)
	for _, path := range Paths() {
		path = strings.Replace(path, "{slug}", "abc", 1)
		redirects := strings.HasPrefix(path, pathLink) // not for scripts of other sites
		if w := f.send("OPTIONS", path, ""); !redirects && w.Code != http.StatusNoContent || !redirects && w.Header().Get("Access-Control-Allow-Methods") == "" {
			t.Errorf("%s: got %d", path, w.Code)
		}
		if w := f.send("PUT", path, ""); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: got %d", path, w.Code)
		}
	}
	for _, path := range []string{"/p/", "/p/a/b", "/other"} {
		if w := f.send("GET", path, ""); w.Code != 404 {
			t.Errorf("%s: got %d", path, w.Code)
		}
	}
}
