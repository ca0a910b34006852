package ingest

import (
	"strings"
	"testing"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/source"
)

func TestLanguageAndScreenComeFromWhereverTheyAreTold(t *testing.T) {
	f := start(t, nil)
	for _, test := range []struct {
		name, body, accept, language string
		width                        int
	}{
		{"neither", `{"n":"pageview","u":"https://shop.example.com/"}`, "", "", 0},
		{"the browser's header", `{"n":"pageview","u":"https://shop.example.com/"}`, "pt-br,pt;q=0.8,en;q=0.5", "pt-BR", 0},
		{"the tracker goes first", `{"n":"pageview","u":"https://shop.example.com/","l":"de_at","w":1440}`, "en", "de-AT", 1440},
		{"an old script", `{"n":"pageview","u":"https://shop.example.com/","screen_width":"390"}`, "*", "", 390},
		{"nonsense", `{"n":"pageview","u":"https://shop.example.com/","w":{"a":1},"l":["x"]}`, "", "", 0},
	} {
		h := f.one(t, test.body, "Accept-Language", test.accept)
		if h.Language != test.language || h.ScreenWidth != test.width {
			t.Errorf("%s: got %q, %d, want %q, %d", test.name, h.Language, h.ScreenWidth, test.language, test.width)
		}
	}
	for file, want := range map[string]hit.Hit{
		"umami-pageview.http":       {Language: "en-GB", ScreenWidth: 1920},
		"umami-custom-event.http":   {Language: "ja-JP", ScreenWidth: 390},
		"goatcounter-pageview.http": {ScreenWidth: 1920},
		"ga4-collect-get.http":      {Language: "en-GB", ScreenWidth: 1920},
	} {
		f := start(t, nil, "shop.example.com", "gc.example.com")
		f.replay(t, file)
		hits := f.log.hits()
		if len(hits) != 1 || want.Language != "" && hits[0].Language != want.Language || hits[0].ScreenWidth != want.ScreenWidth {
			t.Errorf("%s: got %+v", file, hits)
		}
	}
}

func TestAClickIDIsKeptByNameOnly(t *testing.T) {
	f := start(t, nil)
	h := f.one(t, `{"n":"pageview","u":"https://shop.example.com/?a=1&gclid=EAIaIQobChMI&fbclid=x"}`)
	if h.ClickID != "gclid" || h.Query != "a=1&gclid=***&fbclid=***" {
		t.Errorf("got %q of %q", h.ClickID, h.Query)
	}
	if name, channel := source.OfHit(&h); name != "Google" || channel != source.PaidSearch {
		t.Errorf("got %s, %s", name, channel)
	}
}

func TestNothingPersonalInAddressesIsWritten(t *testing.T) {
	f := start(t, nil)
	secret := "5f4dcc3b5aa765d61d8327deb882cf99"
	for _, body := range []string{
		`{"n":"pageview","u":"https://shop.example.com/reset/` + secret + `?email=ann%40example.org&x=` + secret + `#/t?token=` + secret + `","h":1,"r":"https://mail.example/u/ann@example.org/"}`,
		`{"n":"Outbound Link: Click","u":"https://shop.example.com/","p":{"url":"https://b.example/?token=` + secret + `&to=ann@example.org"}}`,
		`{"n":"404","u":"https://shop.example.com/","p":{"path":"/u/ann@example.org"}}`,
	} {
		h := f.one(t, body)
		if text := string(hit.Append(nil, &h)); strings.Contains(text, secret) || strings.Contains(text, "ann@") || strings.Contains(text, "ann%40") {
			t.Errorf("written: %q", text)
		}
	}
}

func TestCodeIsNoReferrer(t *testing.T) {
	f := start(t, nil)
	for _, referrer := range []string{"javascript:alert(1)", "data:text/html,<script>alert(1)</script>", " JavaScript:alert(1)", "vbscript:x", "java\\tscript:alert(1)"} {
		h := f.one(t, `{"n":"pageview","u":"https://shop.example.com/","r":"`+referrer+`"}`)
		if h.Referrer != "" || h.RefHost != "" {
			t.Errorf("%s: got %q, %q", referrer, h.Referrer, h.RefHost)
		}
	}
}

func TestASiteBeyondASCIIIsOneSite(t *testing.T) {
	f := start(t, nil, "bücher.example")
	for _, page := range []string{"https://bücher.example/a", "https://xn--bcher-kva.example/a", "https://BÜCHER.example./a"} {
		h := f.one(t, `{"n":"pageview","u":"`+page+`","r":"https://xn--bcher-kva.example/b"}`)
		if name, _ := source.OfHit(&h); h.Site != "bücher.example" || h.Host != "bücher.example" || name != source.NameInternal {
			t.Errorf("%s: got site %q, host %q, source %q", page, h.Site, h.Host, name)
		}
	}
	if h := f.one(t, `{"n":"pageview","u":"/a","d":"XN--BCHER-KVA.example"}`); h.Site != "bücher.example" {
		t.Errorf("got site %q", h.Site)
	}
}
