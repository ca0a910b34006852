package enrich

import "strings"

// browserRule names a browser by a word in the agent string.
type browserRule struct {
	word    string
	name    string
	version string // word that the version stands behind; "" is word itself, "-" means that there is none
}

// browserRules are tried in order: apps first, since they carry the words of the web view they show pages in, then browsers built on
// others, then the others.
var browserRules = []browserRule{
	// Apps.
	{"FBAN/MessengerForiOS", "Facebook Messenger", "FBAV/"},
	{"FBAN/MessengerLite", "Facebook Messenger", "FBAV/"},
	{"FB_IAB/Orca", "Facebook Messenger", "FBAV/"},
	{"FB_IAB/MESSENGER", "Facebook Messenger", "FBAV/"},
	{"FBAN/", "Facebook", "FBAV/"},
	{"FB_IAB/", "Facebook", "FBAV/"},
	{"FBIOS", "Facebook", "FBAV/"},
	{"Instagram", "Instagram", ""},
	{"Threads/", "Threads", "-"},
	{"MicroMessenger/", "WeChat", ""},
	{"Line/", "LINE", ""},
	{"musical_ly", "TikTok", "musical_ly_"},
	{"trill_", "TikTok", ""},
	{"TikTok", "TikTok", ""},
	{"BytedanceWebview", "TikTok", "-"},
	{"Snapchat", "Snapchat", ""},
	{"Pinterest", "Pinterest", ""},
	{"pinterest/", "Pinterest", ""},
	{"GSA/", "Google Search App", ""},
	{"GoogleApp/", "Google Search App", ""},
	{"LinkedInApp", "LinkedIn", ""},
	{"TwitterAndroid", "Twitter", ""},
	{"Twitter for", "Twitter", "iPhone"},
	{"KAKAOTALK", "KakaoTalk", ""},
	{"NAVER(", "Naver", "-"},
	{"baiduboxapp", "Baidu App", ""},
	{"AlipayClient/", "Alipay", ""},
	{"DingTalk/", "DingTalk", ""},
	{"Reddit/", "Reddit", ""},
	{"Slack/", "Slack", ""},
	{"Teams/", "Microsoft Teams", ""},

	// Browsers built on others.
	{"YaBrowser/", "Yandex Browser", ""},
	{"YaSearchBrowser/", "Yandex Browser", ""},
	{"YaSearchApp/", "Yandex Browser", ""},
	{"YaApp_", "Yandex Browser", "-"},
	{"YandexSearchBrowser/", "Yandex Browser", ""},
	{"YandexSearch/", "Yandex Browser", ""},
	{"Wolvic/", "Wolvic", ""},
	{"PicoBrowser/", "PICO Browser", ""},
	{"OculusBrowser/", "Oculus Browser", ""},
	{"UCPC/", "UC Browser", ""},
	{"UCBrowser", "UC Browser", ""},
	{"UC Browser", "UC Browser", ""},
	{"UCWEB", "UC Browser", ""},
	{"UCMobile/", "UC Browser", ""},
	{"UBrowser/", "UC Browser", ""},
	{"uc mini browser", "UC Browser", ""},
	{"UCURSOS/", "UC Browser", ""},
	{"Opera Mini", "Opera Mini", ""},
	{"OPRGX/", "Opera", ""},
	{"OPR/", "Opera", ""},
	{"OPT/", "Opera", ""},
	{"OPX/", "Opera", ""},
	{"OPiOS/", "Opera", ""},
	{"OMI/", "Opera", "-"},
	{"Opera", "Opera", "Version/"},
	{"bdbrowser", "Baidu Browser", "-"},
	{"baidubrowser/", "Baidu Browser", ""},
	{"BIDUBrowser", "Baidu Browser", ""},
	{"baidubrowserpad", "Baidu Browser", "-"},
	{"FlyFlow/", "Baidu Browser", ""},
	{"SamsungBrowser/", "Samsung Internet", ""},
	{"MiuiBrowser/", "MIUI Browser", ""},
	{"MIUIBrowser/", "MIUI Browser", ""},
	{"HuaweiBrowser/", "Huawei Browser", ""},
	{"HBPC/", "Huawei Browser", ""},
	{"HeyTapBrowser/", "HeyTap Browser", ""},
	{"HeyTapHTTPDNS", "HeyTap Browser", "-"},
	{"OppoBrowser/", "HeyTap Browser", ""},
	{"RealmeBrowser/", "HeyTap Browser", ""},
	{"VivoBrowser/", "vivo Browser", ""},
	{"Quark/", "Quark", ""},
	{"QuarkPC/", "Quark", ""},
	{"MQQBrowser", "QQ Browser", ""},
	{"QQBrowser", "QQ Browser", ""},
	{"QQ/", "QQ", ""},
	{"SogouMobileBrowser", "Sogou", ""},
	{"MetaSr", "Sogou", ""},
	{"Sogou", "Sogou", ""},
	{"coc_coc_browser/", "Coc Coc", ""},
	{"coc_coc_browser", "Coc Coc", "-"},
	{"CocCoc", "Coc Coc", "-"},
	{"Whale/", "Whale", ""},
	{"DuckDuckGo/", "DuckDuckGo", ""},
	{"Ddg/", "DuckDuckGo", ""},
	{"Ecosia", "Ecosia", "@"},
	{"Vivaldi", "Vivaldi", ""},
	{"Puffin/", "Puffin", ""},
	{"Silk", "Amazon Silk", ""},
	{"Brave", "Brave", ""},
	{"brave/", "Brave", ""},
	{"Maxthon", "Maxthon", ""},
	{"MxBrowser", "Maxthon", ""},
	{"Epiphany/", "GNOME Web", ""},
	{"Falkon/", "Falkon", ""},
	{"PaleMoon/", "Pale Moon", ""},
	{"Waterfox/", "Waterfox", ""},
	{"SeaMonkey/", "SeaMonkey", ""},
	{"Arc/", "Arc", ""},
	{"AvastSecureBrowser/", "Avast Secure Browser", ""},
	{"Avast/", "Avast Secure Browser", ""},
	{"AVG/", "AVG Secure Browser", ""},
	{"CCleaner/", "CCleaner Browser", ""},
	{"AVGfil", "Avast Secure Browser", "-"},
	{"Avira/", "Avira Secure Browser", ""},
	{"Dragon/", "Comodo Dragon", ""},
	{"PHX/", "Phoenix Browser", ""},
	{"HiBrowser/", "Hi Browser", "HiBrowser/v"},
	{"MZBrowser/", "Meizu Browser", ""},
	{"HonorBrowser/", "Honor Browser", ""},
	{"SznProhlizec/", "Seznam Browser", ""},
	{"RakutenBrowser/", "Rakuten Browser", ""},
	{"RakutenWebsearch/", "Rakuten Browser", ""},
	{"JioSphere/", "JioSphere", ""},
	{"SberBrowser/", "SberBrowser", ""},
	{"TeslaBrowser/", "Tesla Browser", ""},
	{"PiBrowser/", "Pi Browser", ""},
	{"Soul/", "Soul Browser", ""},
	{"ABB/", "AdBlock Browser", ""},
	{"SX/", "SecureX", ""},
	{"Tenta/", "Tenta Browser", ""},
	{"Atlas/", "ChatGPT Atlas", ""},
	{"SamanthaDoubao/", "Doubao", ""},
	{"MixerBox", "MixerBox AI", "-"},
	{"VIDAA/", "VIDAA", ""},
	{"com.roku", "Roku Browser", "-"},
	{"WhaleBrowser/", "Whale TV Browser", ""},
	{"TiVoOS/", "TiVo OS", ""},
	{"harmony360Browser/", "360 Browser", ""},
	{"360SE", "360 Browser", "-"},
	{"QIHU", "360 Browser", "-"},
	{"ArkWeb/", "Huawei Browser", "-"},
	{"EdgiOS/", "Edge", ""},
	{"EdgA/", "Edge", ""},
	{"Edg/", "Edge", ""},
	{"EdgW/", "Edge", ""},
	{"Edge/", "Edge", ""},

	// The others.
	{"FxiOS/", "Firefox", ""},
	{"Focus/", "Firefox", ""},
	{"Klar/", "Firefox", ""},
	{"CriOS/", "Chrome", ""},
	{"IEMobile", "Internet Explorer", ""},
	{"MSIE", "Internet Explorer", ""},
	{"Trident/", "Internet Explorer", "rv:"},
	{"Firefox", "Firefox", ""},
	{"Chromium", "Chromium", ""},
}

// browser names the browser of an agent string.
func browser(ua, os string) (name, ver string) {
	for i := range browserRules {
		rule := &browserRules[i]
		at := token(ua, rule.word)
		if at < 0 {
			continue
		}
		switch rule.version {
		case "":
			return rule.name, major(ua, at)
		case "-":
			return rule.name, ""
		}
		if i := strings.Index(ua, rule.version); i >= 0 {
			return rule.name, major(ua, i+len(rule.version))
		}
		return rule.name, major(ua, at)
	}
	return engineBrowser(ua, os)
}

// engineBrowser names what no rule names, by the engine and the system.
func engineBrowser(ua, os string) (name, ver string) {
	if at := token(ua, "Chrome/"); at >= 0 {
		if os == "Android" && (strings.Contains(ua, "; wv)") || strings.Contains(ua, "Version/4.0 Chrome/")) {
			return "Chrome WebView", major(ua, at)
		}
		return "Chrome", major(ua, at)
	}
	ver = major(ua, token(ua, "Version/"))
	switch {
	case os == "Android" && strings.Contains(ua, "AppleWebKit"):
		return "Android Browser", ver
	case os == "iOS" && strings.Contains(ua, "AppleWebKit") && !strings.Contains(ua, "Safari"):
		return "WebKit WebView", ""
	case strings.Contains(ua, "Safari"):
		return "Safari", ver
	case os == "macOS" && strings.Contains(ua, "AppleWebKit"):
		return "WebKit WebView", ""
	}
	return "", ""
}
