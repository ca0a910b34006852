package source

import "strings"

// known is a source in the lists.
type known struct {
	name string
	kind Channel
}

// lists hold one source a line: its name, then hosts, and words that campaigns name it by. A word that ends in ".*" is a host under any
// registry's ending.
var lists = map[Channel]string{
	Search: `Google: google.* google com.google.android.googlequicksearchbox com.google.android.apps.searchlite 284815942 googleadservices.com adwords googleads
Bing: bing.com bing cn.bing.com com.microsoft.bing
DuckDuckGo: duckduckgo.com duckduckgo ddg com.duckduckgo.mobile.android
Yahoo!: yahoo.* yahoo search.yahoo.com
Yandex: yandex.* yandex ya.ru
Baidu: baidu.com baidu
Ecosia: ecosia.org ecosia
Qwant: qwant.com qwant
Startpage: startpage.com startpage
Brave: search.brave.com brave
Kagi: kagi.com kagi
Naver: naver.com search.naver.com
Seznam: seznam.cz search.seznam.cz
Sogou: sogou.com
Mojeek: mojeek.com
Swisscows: swisscows.com
AOL: aol.com search.aol.com
Ask: ask.com
MSN: msn.com
360 Search: so.com m.so.com
Daum: daum.net search.daum.net
Cốc Cốc: coccoc.com
MetaGer: metager.org metager.de
Presearch: presearch.com presearch.org
Yep: yep.com
Dogpile: dogpile.com
Petal Search: petalsearch.com
Rambler: rambler.ru nova.rambler.ru
Lilo: search.lilo.org lilo.org`,
	Assistant: `ChatGPT: chatgpt.com chat.openai.com chatgpt openai com.openai.chatgpt
Perplexity: perplexity.ai perplexity ai.perplexity.app.android
Claude: claude.ai claude com.anthropic.claude
Gemini: gemini.google.com bard.google.com gemini com.google.android.apps.bard
Copilot: copilot.microsoft.com copilot copilot.cloud.microsoft m365.cloud.microsoft com.microsoft.copilot
DeepSeek: chat.deepseek.com deepseek.com deepseek com.deepseek.chat
Grok: grok.com grok ai.x.grok
Mistral: chat.mistral.ai mistral
Meta AI: meta.ai
Phind: phind.com
You.com: you.com
Poe: poe.com
Kimi: kimi.com kimi.moonshot.cn
Qwen: chat.qwen.ai qwen.ai tongyi.aliyun.com
Doubao: doubao.com
NotebookLM: notebooklm.google.com
Duck.ai: duck.ai
Character.AI: character.ai
Pi: pi.ai
iAsk: iask.ai
Felo: felo.ai
Genspark: genspark.ai`,
	Social: `Facebook: facebook.com fb facebook fb.com fb.me l.facebook.com lm.facebook.com m.facebook.com com.facebook.katana com.facebook.lite com.facebook.orca 284882215 facebook-ads
Instagram: instagram.com instagram ig l.instagram.com com.instagram.android 389801252
Threads: threads.net threads.com threads l.threads.net com.instagram.barcelona
Twitter: twitter.com x.com t.co twitter x com.twitter.android 333903271
LinkedIn: linkedin.com linkedin lnkd.in com.linkedin.android 288429040
Reddit: reddit.com reddit out.reddit.com old.reddit.com com.reddit.frontpage 1064216828
Pinterest: pinterest.* pinterest pin.it com.pinterest
TikTok: tiktok.com tiktok com.zhiliaoapp.musically
Snapchat: snapchat.com snapchat com.snapchat.android
Mastodon: mastodon.social mastodon.online org.joinmastodon.android mstdn.social fosstodon.org hachyderm.io mastodon
Bluesky: bsky.app bluesky go.bsky.app xyz.blueskyweb.app
Telegram: t.me telegram.org telegram web.telegram.org org.telegram.messenger
WhatsApp: whatsapp.com whatsapp wa.me web.whatsapp.com com.whatsapp
Discord: discord.com discord discordapp.com com.discord
Slack: slack.com slack app.slack.com com.slack
VK: vk.com vkontakte.ru vk away.vk.com
Hacker News: news.ycombinator.com hackernews hn
Lobsters: lobste.rs lobsters
Quora: quora.com quora
Tumblr: tumblr.com t.umblr.com
Weibo: weibo.com weibo.cn
Xing: xing.com
Microsoft Teams: teams.microsoft.com com.microsoft.teams statics.teams.cdn.office.net
LINE: line.me jp.naver.line.android
Viber: viber.com com.viber.voip
WeChat: weixin.qq.com mp.weixin.qq.com com.tencent.mm wechat
KakaoTalk: com.kakao.talk
Signal: org.thoughtcrime.securesms
Odnoklassniki: ok.ru
Zhihu: zhihu.com
Douban: douban.com
Lemmy: lemmy.world lemmy.ml
Medium: medium.com
Product Hunt: producthunt.com producthunt
Stack Overflow: stackoverflow.com`,
	Video: `YouTube: youtube.com youtube youtu.be m.youtube.com com.google.android.youtube 544007664
Vimeo: vimeo.com vimeo
Twitch: twitch.tv twitch
Dailymotion: dailymotion.com
Bilibili: bilibili.com`,
	Email: `Gmail: mail.google.com com.google.android.gm gmail gmail.com
Outlook: outlook.live.com outlook.office.com outlook.office365.com outlook.com outlook com.microsoft.office.outlook
Yahoo! Mail: mail.yahoo.com com.yahoo.mobile.client.android.mail
Proton Mail: mail.proton.me mail.protonmail.com
Newsletter: newsletter
Fastmail: app.fastmail.com fastmail.com
HEY: app.hey.com
Tuta: app.tuta.com mail.tutanota.com
Zoho Mail: mail.zoho.com mail.zoho.eu
QQ Mail: mail.qq.com
163 Mail: mail.163.com
Samsung Email: com.samsung.android.email.provider
Mailchimp: mailchimp mailchi.mp campaign-archive.com
Klaviyo: klaviyo
GMX: gmx.net navigator.gmx.net
Web.de: web.de
Mail.ru: mail.ru e.mail.ru`,
	Shopping: `Amazon: amazon.* amazon com.amazon.mShop.android.shopping
eBay: ebay.* ebay
Etsy: etsy.com etsy
AliExpress: aliexpress.com
Walmart: walmart.com
Google Shopping: shopping.google.com shopping`,
}

// exact finds sources by host or word, anywhere by the part of a host before its ending. Both in lower case.
var exact, anywhere = func() (map[string]known, map[string]known) {
	exact, anywhere := map[string]known{}, map[string]known{}
	for kind, list := range lists {
		for line := range strings.SplitSeq(list, "\n") {
			name, words, _ := strings.Cut(line, ": ")
			for word := range strings.FieldsSeq(strings.ToLower(words)) {
				if base, ok := strings.CutSuffix(word, ".*"); ok {
					anywhere[base] = known{name, kind}
				} else {
					exact[word] = known{name, kind}
				}
			}
			exact[strings.ToLower(name)] = known{name, kind}
		}
	}
	return exact, anywhere
}()

// lookUp finds a source by a host or the name that a campaign gives it.
func lookUp(text string) (known, bool) {
	if text == "" {
		return known{}, false
	}
	name := strings.TrimPrefix(strings.ToLower(text), "www.")
	for {
		if k, ok := exact[name]; ok {
			return k, true
		}
		base, ending, ok := strings.Cut(name, ".")
		if !ok {
			return known{}, false
		}
		if k, ok := anywhere[base]; ok && isEnding(ending) {
			return k, true
		}
		if strings.IndexByte(ending, '.') < 0 {
			return known{}, false // what is left is the ending
		}
		name = ending
	}
}

// isEnding reports whether text is what stands behind a registered name: "com", "de", "co.uk", "com.br".
func isEnding(text string) bool {
	first, second, two := strings.Cut(text, ".")
	if !two {
		return len(first) >= 2 && len(first) <= 4
	}
	return len(second) == 2 && len(first) <= 3
}
