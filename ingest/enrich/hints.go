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

// SystemVersion reads the Sec-CH-UA-Platform-Version hint, "14.5.0", of a system. Chromium freezes the version in its agent string, at Android
// 10, macOS 10.15 and Windows 10, so only the hint tells. It returns "" when the hint says nothing.
func SystemVersion(hint, system string) string {
	text := strings.Trim(hint, `" `)
	switch system {
	case "Windows":
		return windowsRelease(text)
	case "Android", "Chrome OS":
		return version(text, 1)
	case "macOS":
		return strings.TrimSuffix(version(text, 2), ".0")
	}
	return ""
}

// windowsRelease reads what Windows answers: 13 and up are Windows 11, 1 to 12 are Windows 10.
func windowsRelease(hint string) string {
	major, _, _ := strings.Cut(hint, ".")
	n, err := strconv.Atoi(major)
	switch {
	case err != nil || n < 1:
		return ""
	case n >= 13:
		return "11"
	}
	return "10"
}

// Device tells the kind of device by the hints Sec-CH-UA-Form-Factors, `"Tablet"`, and Sec-CH-UA-Model, `"SM-X200"`, which tell what a frozen agent
// string leaves out. It returns "" when they say nothing.
func Device(formFactors, model string) string {
	for _, f := range formKinds {
		if strings.Contains(formFactors, f.form) {
			return f.kind
		}
	}
	return kindOfModel(strings.Trim(model, `" `))
}

// formKinds are what form factors are called here; a tablet in a car is the car's.
var formKinds = []struct{ form, kind string }{
	{"Automotive", "car browser"}, {"XR", "wearable"}, {"Watch", "wearable"}, {"Tablet", "tablet"}, {"EInk", "tablet"}, {"Mobile", "mobile"}, {"Desktop", "desktop"},
}

func versionOf(text string) string { return version(text, 1) }
