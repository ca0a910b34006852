package dialect

import (
	"strings"
	"testing"
)

func TestLanguagesHaveOneForm(t *testing.T) {
	for tag, want := range map[string]string{
		"": "", "*": "", "de": "de", "DE": "de", "en-GB": "en-GB", "en-gb": "en-GB", "pt_br": "pt-BR", "zh-hans-cn": "zh-Hans-CN", "zh-Hant": "zh-Hant",
		"es-419": "es-419", "en-GB,en;q=0.9,de;q=0.8": "en-GB", " fr-CH ;q=0.9": "fr-CH", "ja-JP-u-ca-japanese": "ja-JP", "de-1996": "de", "fil-PH": "fil-PH",
		"C": "", "english": "", "en-": "en", "de-<script>": "de", "é": "",
	} {
		if got := Language(tag); got != want {
			t.Errorf("%q: got %q, want %q", tag, got, want)
		}
	}
}

func TestScreensAreReadAsTrackersWriteThem(t *testing.T) {
	for text, want := range map[string]int{
		"1920x1080": 1920, "1920X1080": 1920, "390,844,3": 390, "1440": 1440, "1536.5x864": 1536, "": 0, "x1080": 0, "0x0": 0, "-1": 0, "1e9": 0, "NaN": 0, "Inf": 0,
	} {
		if got := screenWidth(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

// FuzzLanguage: the form of a form is itself, short and plain.
func FuzzLanguage(f *testing.F) {
	f.Add("en-GB,en;q=0.9")
	f.Add("zh_hans_cn")
	f.Fuzz(func(t *testing.T, tag string) {
		got := Language(tag)
		if Language(got) != got || len(got) > len("abc-Abcd-419") || strings.ContainsAny(got, " ,;_<") {
			t.Fatalf("%q: %q, then %q", tag, got, Language(got))
		}
		if width := screenWidth(tag); width < 0 || width > maxScreen {
			t.Fatalf("%q: %d", tag, width)
		}
	})
}
