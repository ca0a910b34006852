package ingest

import "testing"

// TestClientHintsCorrectTheAgent: what the agent string hides, and the hints tell.
func TestClientHintsCorrectTheAgent(t *testing.T) {
	const (
		windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36"
		mac     = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36"
		android = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36"
		edge    = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36 Edg/138.0.0.0"
		firefox = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0"
	)
	brands := func(name, v string) string {
		return `"Not)A;Brand";v="8", "Chromium";v="138", "` + name + `";v="` + v + `"`
	}
	for _, test := range []struct {
		name, agent, brands, platform                  string
		browser, browserVersion, os, osVersion, device string
	}{
		{"no hints, Windows", windows, "", "", "Chrome", "138", "Windows", "10", "desktop"},
		{"no hints, Android", android, "", "", "Chrome", "138", "Android", "", "mobile"},
		{"no hints, Firefox", firefox, "", "", "Firefox", "143", "Windows", "10", "desktop"},
		{"Windows 11", windows, brands("Google Chrome", "138"), `"15.0.0"`, "Chrome", "138", "Windows", "11", "desktop"},
		{"Windows 10", windows, brands("Google Chrome", "138"), `"10.0.0"`, "Chrome", "138", "Windows", "10", "desktop"},
		{"Windows 8.1 says 0.3", windows, brands("Google Chrome", "138"), `"0.3.0"`, "Chrome", "138", "Windows", "10", "desktop"},
		{"Brave on Windows 11", windows, brands("Brave", "138"), `"13.0.0"`, "Brave", "138", "Windows", "11", "desktop"},
		{"Vivaldi", windows, brands("Vivaldi", "7.5"), "", "Vivaldi", "7", "Windows", "10", "desktop"},
		{"Opera", windows, brands("Opera", "120"), "", "Opera", "120", "Windows", "10", "desktop"},
		{"Edge names itself twice", edge, brands("Microsoft Edge", "138"), `"15.0.0"`, "Edge", "138", "Windows", "11", "desktop"},
		{"macOS", mac, brands("Google Chrome", "138"), `"15.5.0"`, "Chrome", "138", "macOS", "15.5", "desktop"},
		{"macOS, whole number", mac, brands("Google Chrome", "138"), `"26.0.0"`, "Chrome", "138", "macOS", "26", "desktop"},
		{"Android", android, brands("Google Chrome", "138"), `"16.0.0"`, "Chrome", "138", "Android", "16", "mobile"},
		{"WebView", android, brands("Android WebView", "138"), `"14"`, "Chrome WebView", "138", "Android", "14", "mobile"},
		{"empty hint", android, brands("Google Chrome", "138"), `""`, "Chrome", "138", "Android", "", "mobile"},
		{"garbage", windows, `"`, `"x"`, "Chrome", "138", "Windows", "10", "desktop"},
	} {
		f := start(t, nil)
		header := []string{"User-Agent", test.agent}
		if test.brands != "" {
			header = append(header, "Sec-CH-UA", test.brands)
		}
		if test.platform != "" {
			header = append(header, "Sec-CH-UA-Platform-Version", test.platform)
		}
		h := f.one(t, pageview, header...)
		if h.Browser != test.browser || h.BrowserVersion != test.browserVersion || h.OS != test.os || h.OSVersion != test.osVersion || h.Device != test.device || h.Bot {
			t.Errorf("%s: got %s %s on %s %s, %s, bot %v", test.name, h.Browser, h.BrowserVersion, h.OS, h.OSVersion, h.Device, h.Bot)
		}
	}
}

func TestHintsTellTheKindOfDeviceThatAFrozenAgentHides(t *testing.T) {
	const frozen = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36"
	for _, test := range []struct{ name, header, value, want string }{
		{"neither", "Accept", "*/*", "tablet"}, // as Chrome on a tablet writes itself
		{"model of a phone that asks for the desktop's page", "Sec-CH-UA-Model", `"Pixel 8"`, "mobile"},
		{"model of a tablet", "Sec-CH-UA-Model", `"SM-X200"`, "tablet"},
		{"form", "Sec-CH-UA-Form-Factors", `"Desktop"`, "desktop"},
	} {
		f := start(t, nil)
		h := f.one(t, pageview, "User-Agent", frozen, "Sec-CH-UA", `"Chromium";v="138", "Google Chrome";v="138"`, test.header, test.value)
		if h.Device != test.want {
			t.Errorf("%s: got %q, want %q", test.name, h.Device, test.want)
		}
	}
}
