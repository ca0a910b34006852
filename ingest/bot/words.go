package bot

import "strings"

// word is a part of an agent string, in lower case, that only machines have.
type word struct {
	text string
	kind string
}

// words are looked for in order. Where a person's device has the text too, except takes it out first.
var words = []word{
	{"headless", KindHeadless}, {"phantomjs", KindHeadless}, {"puppeteer", KindHeadless}, {"playwright", KindHeadless},
	{"selenium", KindHeadless}, {"webdriver", KindHeadless}, {"cypress", KindHeadless}, {"slimerjs", KindHeadless},

	{"facebookexternal", KindPreview}, {"facebookcatalog", KindPreview}, {"preview", KindPreview}, {"embedly", KindPreview},
	{"whatsapp/", KindPreview}, {"iframely", KindPreview}, {"imgproxy", KindPreview}, {"imageproxy", KindPreview}, {"favicon", KindPreview},
	{"slackbot-link", KindPreview}, {"slack-img", KindPreview}, {"twitterbot", KindPreview}, {"telegrambot", KindPreview}, {"discordbot", KindPreview},
	{"linkedinbot", KindPreview}, {"redditbot", KindPreview}, {"vkshare", KindPreview}, {"cardyb", KindPreview}, {"synapse (", KindPreview},
	{"zoombot", KindPreview}, {"bitlybot", KindPreview}, {"mattermost-bot", KindPreview}, {"line-poker", KindPreview}, {"viberbot", KindPreview},
	{"akkoma", KindPreview}, {"friendica", KindPreview}, {"gotosocial", KindPreview}, {"lemmy/", KindPreview}, {"peertube/", KindPreview},
	{"mastodon", KindPreview}, {"pleroma", KindPreview}, {"misskey", KindPreview},

	{"uptime", KindMonitor}, {"pingdom", KindMonitor}, {"statuscake", KindMonitor}, {"synthetic", KindMonitor},
	{"healthcheck", KindMonitor}, {"health-check", KindMonitor}, {"catchpoint", KindMonitor}, {"lighthouse", KindMonitor},
	{"pagespeed", KindMonitor}, {"gtmetrix", KindMonitor}, {"ptst/", KindMonitor}, {"nagios", KindMonitor}, {"zabbix", KindMonitor},

	{"bot", KindAgent}, {"crawl", KindAgent}, {"spider", KindAgent}, {"spyder", KindAgent}, {"sipder", KindAgent}, {"slurp", KindAgent},
	{"scrap", KindAgent}, {"fetch", KindAgent}, {"checker", KindAgent},
	{"validator", KindAgent}, {"transcoder", KindAgent}, {"indexer", KindAgent}, {"analyzer", KindAgent}, {"search engine", KindAgent},
	{"mediapartners", KindAgent}, {"adsbot", KindAgent}, {"google-", KindAgent}, {"google web", KindAgent}, {"appengine", KindAgent},
	{"apis-google", KindAgent}, {"chatgpt", KindAgent}, {"claude-", KindAgent}, {"gpt-", KindAgent}, {"yandex.com/", KindAgent},
	{"gomezagent", KindMonitor}, {"httpclient", KindAgent}, {"http client", KindAgent}, {"http_", KindAgent}, {"httpx", KindAgent},
	{"http.rb", KindAgent}, {"libwww-perl", KindAgent}, {"lwp::", KindAgent}, {"lwp-", KindAgent}, {"python", KindAgent}, {"curl/", KindAgent}, {"libcurl", KindAgent}, {"wget", KindAgent},
	{"go-http", KindAgent}, {"java/", KindAgent}, {"okhttp", KindAgent}, {"axios", KindAgent}, {"node-fetch", KindAgent}, {"guzzle", KindAgent},
	{"scrapy", KindAgent}, {"postman", KindAgent}, {"insomnia", KindAgent}, {"zgrab", KindAgent}, {"masscan", KindAgent}, {"nmap", KindAgent},
	{"nikto", KindAgent}, {"sqlmap", KindAgent}, {"nuclei", KindAgent}, {"acunetix", KindAgent}, {"wappalyzer", KindAgent},
	{"http://", KindAgent}, {"https://", KindAgent}, {"www.", KindAgent}, {"wechatdevtools", KindAgent}, {"sogoumse", KindAgent},
	{"link check", KindAgent},
	{"harvest", KindAgent},
	{"heritrix", KindAgent}, {"nutch", KindAgent}, {"qcloudcdn", KindAgent},
	{"cloudflare", KindMonitor}, {"googleweblight", KindAgent}, {"convertify", KindAgent}, {"firephp", KindAgent}, {"cursor/", KindAgent},
	{"trae/", KindAgent}, {"windsurf/", KindAgent}, {" code/1.", KindAgent}, {"ips-agent", KindAgent}, {"thousandeyes", KindMonitor},
	{"datanyze", KindAgent}, {"appinsights", KindMonitor}, {"adbeat", KindAgent}, {"hotjar", KindAgent}, {"watchtowr", KindAgent}, {"(at)", KindAgent},
	{"nitro-optimizer", KindAgent},
}

// weakWords speak for a machine too, but occur in names of telephones and apps, so they do not count on a telephone's browser.
var weakWords = []word{
	{"feed", KindPreview}, {"rss", KindPreview}, {"monitor", KindMonitor}, {"scan", KindAgent}, {"proxy", KindAgent}, {"research", KindAgent},
	{"survey", KindAgent}, {"download", KindAgent}, {"audit", KindAgent}, {"optimizer", KindAgent}, {"extract", KindAgent}, {"probe", KindAgent},
	{"security", KindAgent}, {"archive", KindAgent}, {"agent", KindAgent},
}

// except are parts of people's agent strings that hold a word from above.
var except = []string{
	"cubot",        // a maker of telephones
	"pinterest/0.", // an old app names its site
}

// byWord returns the kind of bot whose word is in a lower-case agent string.
func byWord(lower string) string {
	for _, text := range except {
		if strings.Contains(lower, text) {
			lower = strings.ReplaceAll(lower, text, "")
			if text == "pinterest/0." {
				return ""
			}
		}
	}
	for i := range words {
		if strings.Contains(lower, words[i].text) {
			return words[i].kind
		}
	}
	if !isPhone(lower) {
		for i := range weakWords {
			if strings.Contains(lower, weakWords[i].text) {
				return weakWords[i].kind
			}
		}
	}
	if at := strings.IndexByte(lower, '@'); at > 0 && !strings.Contains(lower, "ecosia ") && strings.Contains(lower[at:], ".") {
		return KindAgent // an address to write to
	}
	return ""
}

// isPhone reports whether a lower-case agent string is that of a browser on a telephone or tablet.
func isPhone(lower string) bool {
	return strings.Contains(lower, "applewebkit") && (strings.Contains(lower, "android") || strings.Contains(lower, "iphone") || strings.Contains(lower, "ipad"))
}
