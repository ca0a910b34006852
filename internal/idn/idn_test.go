package idn

import (
	"testing"
	"unicode/utf8"
)

func TestAHostHasOneForm(t *testing.T) {
	for host, want := range map[string]string{
		"":                        "",
		"shop.example.com":        "shop.example.com",
		"bücher.example":          "bücher.example",
		"xn--bcher-kva.example":   "bücher.example",
		"bu\u0308cher.example":    "bücher.example", // u and the dots apart
		"ＢÜＣＨＥＲ.example":          "bücher.example",
		"straße.example":          "straße.example",
		"xn--strae-oqa.example":   "straße.example",
		"例え.example":              "例え.example",
		"xn--r8jz45g.example":     "例え.example",
		"例え。example":              "例え.example", // an ideographic full stop
		"xn--pple-43d.example":    "xn--pple-43d.example",
		"аpple.example":           "xn--pple-43d.example", // the first letter is Cyrillic
		"почта.example":           "почта.example",
		"xn--":                    "xn--",
		"xn--a.example":           "xn--a.example", // no Punycode
		"my_host.example":         "my_host.example",
		"my_bücher.example":       "my_bücher.example",
		"2001:db8::1":             "2001:db8::1",
		"com.example.app":         "com.example.app",
		"xn--bcher-kva.xn--p1ai":  "bücher.рф",
		"blog.xn--bcher-kva.test": "blog.bücher.test",
	} {
		if got := Host(host); got != want {
			t.Errorf("%q: got %q, want %q", host, got, want)
		}
	}
}

// FuzzHost: the form of a form is itself, and text stays text.
func FuzzHost(f *testing.F) {
	f.Add("xn--bcher-kva.example")
	f.Add("例え。example")
	f.Fuzz(func(t *testing.T, host string) {
		once := Host(host)
		if again := Host(once); again != once {
			t.Fatalf("%q, then %q, then %q", host, once, again)
		}
		if utf8.ValidString(host) && !utf8.ValidString(once) {
			t.Fatalf("%q became %q", host, once)
		}
	})
}
