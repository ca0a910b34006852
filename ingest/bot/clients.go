package bot

import "strings"

// otherClients are what agent strings of people begin with when they do not begin with Mozilla: old telephones, apps, text browsers.
// In lower case.
var otherClients = []string{
	"opera/", "opera%20", "operagx/", "opera ", "(opera)", "htc", "nokia", "blackberry", "sonyericsson", "samsung", "lg-", "lge-", "mot-", "motorola",
	"sie-", "sagem", "alcatel", "zte", "huawei", "lenovo", "pantech", "sharp", "sanyo", "kddi", "docomo", "softbank", "vodafone", "portalmmm",
	"j2me/", "ucweb/", "mqqbrowser", "qqbrowser", "onebrowser", "ibrowser", "ibrowse/", "icab", "safari", "mobilesafari", "firefox", "edge/", "lynx/",
	"links (", "elinks", "w3m/", "netsurf", "dillo", "dalvik/", "[fban/", "[fb_iab", "pinterest", "tiktok", "outlook", "quicktime/",
	"microsoft office", "microsoft outlook", "linux upnp/", "smarttv_", "ozilla/", "com.apple.webkit", "networkingextension", "hulu/", "espn",
	"apple", "itunes/", "spotify/", "instagram", "twitter", "snapchat", "reddit/", "vlc/", "duckduckgo", "chrome/", "vivaldi", "brave",
}

// isReporter reports whether a lower-case agent string is that of a library with which servers tell what people did on them, and which says
// nothing else: "Mozilla/5.0 Umami/v20.11.1".
func isReporter(lower string) bool { return strings.HasPrefix(lower, "mozilla/5.0 umami/v") }

// isOtherClient reports whether a lower-case agent string that does not begin with Mozilla is a person's.
func isOtherClient(lower string) bool {
	for _, start := range otherClients {
		if strings.HasPrefix(lower, start) {
			return true
		}
	}
	// Apps on Apple's systems: "Name/1.0 CFNetwork/1568 Darwin/24.2.0". Apps that embed a browser's string behind their own.
	return strings.Contains(lower, "cfnetwork/") && strings.Contains(lower, "darwin/") ||
		strings.Contains(lower, "mozilla/5.0 (") || strings.Contains(lower, "profile/midp") || strings.Contains(lower, "dalvik/") ||
		strings.Contains(lower, "ucbrowser") || strings.Contains(lower, "ucweb") || strings.Contains(lower, "up.browser")
}
