package enrich

import (
	"strconv"
	"strings"
)

// brands are browsers that send Chrome's agent string and give their name only in the hint of brands.
var brands = []struct{ brand, name string }{
	{"Brave", "Brave"}, {"Vivaldi", "Vivaldi"}, {"Opera GX", "Opera"}, {"Opera", "Opera"}, {"YaBrowser", "Yandex Browser"}, {"Yandex", "Yandex Browser"},
	{"DuckDuckGo", "DuckDuckGo"}, {"Whale", "Whale"}, {"CocCoc", "Coc Coc"}, {"Samsung Internet", "Samsung Internet"},
	{"Avast Secure Browser", "Avast Secure Browser"}, {"Microsoft Edge", "Edge"}, {"Android WebView", "Chrome WebView"},
}

// Brand reads the Sec-CH-UA hint, `"Brave";v="138", "Chromium";v="138"`, for a browser whose agent string says Chrome. It returns "" when the
// hint names no other browser.
func Brand(hint, browser string) (name, version string) {
	if browser != "Chrome" {
		return "", ""
	}
	for _, b := range brands {
		at := strings.Index(hint, `"`+b.brand+`"`)
		if at < 0 {
			continue
		}
		rest := hint[at+len(b.brand)+2:]
		if v, ok := strings.CutPrefix(strings.TrimLeft(rest, "; "), `v="`); ok {
			version = versionOf(v)
		}
		return b.name, version
	}
	return "", ""
}

// WindowsVersion reads the Sec-CH-UA-Platform-Version hint of Windows: 13 and up are Windows 11, 1 to 12 are Windows 10.
func WindowsVersion(hint string) string {
	major, _, _ := strings.Cut(strings.Trim(hint, `" `), ".")
	n, err := strconv.Atoi(major)
	switch {
	case err != nil || n < 1:
		return ""
	case n >= 13:
		return "11"
	}
	return "10"
}

func versionOf(text string) string { return version(text, 1) }
