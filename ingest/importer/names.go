package importer

import "strings"

// browserNames are what others call browsers, in lower case, and what we call them. Names that are the same but for case are not here.
var browserNames = map[string]string{
	"edge-chromium": "Edge", "edge-ios": "Edge", "microsoft edge": "Edge", "crios": "Chrome", "chromium-webview": "Android WebView", "chrome webview": "Android WebView",
	"android webview": "Android WebView", "ios": "Mobile Safari", "safari": "Safari", "mobile safari": "Mobile Safari", "ios-webview": "iOS WebView",
	"safari (in-app)": "iOS WebView", "fxios": "Firefox", "firefox": "Firefox", "firefox mobile": "Firefox", "samsung": "Samsung Internet", "samsung internet": "Samsung Internet",
	"opera": "Opera", "opera-mini": "Opera Mini", "opera mini": "Opera Mini", "ie": "Internet Explorer", "internet explorer": "Internet Explorer", "yandexbrowser": "Yandex Browser",
	"miui": "MIUI Browser", "silk": "Amazon Silk", "amazon silk": "Amazon Silk", "ucbrowser": "UC Browser", "uc browser": "UC Browser", "chrome": "Chrome", "edge": "Edge",
	"instagram": "Instagram", "facebook": "Facebook", "brave": "Brave", "vivaldi": "Vivaldi",
}

// browserName is our name of a browser; unknown ones stay as they are.
func browserName(name string) string { return renamed(browserNames, name) }

var systemNames = map[string]string{
	"mac os": "macOS", "mac os x": "macOS", "os x": "macOS", "macintosh": "macOS", "macos": "macOS", "android os": "Android", "android": "Android", "chrome os": "Chrome OS",
	"chromeos": "Chrome OS", "ios": "iOS", "linux": "Linux", "windows": "Windows",
}

// systemName is our name of a system.
func systemName(name string) string { return renamed(systemNames, name) }

func renamed(names map[string]string, name string) string {
	name = strings.TrimSpace(name)
	if ours, ok := names[strings.ToLower(name)]; ok {
		return ours
	}
	if name == "(not set)" || strings.EqualFold(name, "unknown") {
		return ""
	}
	return name
}

// windowsVersion takes the version off a name such as "Windows 10", which others have as the name of a system.
func windowsVersion(system string) (name, version string) {
	if rest, ok := strings.CutPrefix(system, "Windows "); ok {
		return "Windows", rest
	}
	return system, ""
}

// deviceName is our kind of a device.
func deviceName(name string) string {
	switch name = strings.ToLower(strings.TrimSpace(name)); name {
	case "desktop", "laptop":
		return "desktop"
	case "mobile", "tablet":
		return name
	case "smart tv", "tv":
		return "tv"
	}
	return ""
}
