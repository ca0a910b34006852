package enrich

import "strings"

// deviceWords name kinds of devices by words that makers put into agent strings. Tried in order.
var deviceWords = []struct{ word, kind string }{
	{"PlayStation", "console"}, {"PLAYSTATION", "console"}, {"Xbox", "console"}, {"Nintendo", "console"},
	{"SmartTV", "tv"}, {"SMART-TV", "tv"}, {"Smart-TV", "tv"}, {"smarttv", "tv"}, {"HbbTV", "tv"}, {"GoogleTV", "tv"}, {"AppleTV", "tv"},
	{"Apple TV", "tv"}, {"Android TV", "tv"}, {"BRAVIA", "tv"}, {"NetCast", "tv"}, {"Web0S", "tv"}, {"CrKey", "tv"}, {"Roku", "tv"},
	{"OMI/", "tv"}, {"Andr0id", "tv"}, {"OculusBrowser", "wearable"}, {"PicoBrowser", "wearable"}, {"DTV", "tv"}, {"TV Safari", "tv"}, {"(TV;", "tv"}, {"TvBrowser", "tv"}, {"AFT", "tv"}, {"MiTV", "tv"}, {"TV Box", "tv"}, {"TVBOX", "tv"}, {"stbapp", "tv"},
	{"TV ", "tv"}, {"TV;", "tv"}, {"TV)", "tv"}, {"Build/RTT", "tv"}, {"Build/RTK", "tv"}, {"AEOHP", "smart speaker"}, {"AEOAT", "smart speaker"},
	{"QtCarBrowser", "car browser"}, {"Tesla/", "car browser"},
	{"Watch", "wearable"}, {"SM-R8", "wearable"}, {"SM-R9", "wearable"}, {"Wear OS", "wearable"},
	{"Tablet", "tablet"}, {"iPad", "tablet"}, {"Kindle", "tablet"}, {"KFTT", "tablet"}, {"PlayBook", "tablet"}, {"apad", "tablet"}, {"Pad", "tablet"}, {"Tab ", "tablet"},
	{"-W09", "tablet"}, {"-W10", "tablet"}, {"-W19", "tablet"}, {"-W29", "tablet"}, {"; TB", "tablet"}, {"SM-T", "tablet"}, {"SM-X", "tablet"},
	{"iPhone", "mobile"}, {"iPod", "mobile"},
}

// device names the kind of device of an agent string.
func device(ua, os string) string {
	byModel := kindOfModel(model(ua))
	if byModel != "" && byModel != "mobile" {
		return byModel
	}
	for _, d := range deviceWords {
		if strings.Contains(ua, d.word) {
			return d.kind
		}
	}
	switch os {
	case "Android", "HarmonyOS", "Fire OS":
		if byModel != "" || strings.Contains(ua, "Mobile") || strings.Contains(ua, "Dalvik") {
			return "mobile"
		}
		return "tablet" // Chrome on a tablet leaves "Mobile" out
	case "iOS", "KaiOS", "Windows Phone", "BlackBerry OS", "Symbian OS":
		return "mobile"
	case "Windows", "macOS", "Linux", "Chrome OS", "FreeBSD", "OpenBSD", "NetBSD", "Solaris":
		return "desktop"
	case "Tizen", "webOS", "Chromecast":
		return "tv"
	}
	if strings.Contains(ua, "Mobile") || strings.Contains(ua, "MIDP") || strings.Contains(ua, "J2ME") || strings.Contains(ua, "UCWEB") {
		return "mobile"
	}
	return ""
}
