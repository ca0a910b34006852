package source

import (
	"testing"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/pageurl"
)

func TestSourcesHaveOneName(t *testing.T) {
	for _, test := range []struct {
		referrer, query string
		name            string
		channel         Channel
	}{
		{"", "", NameDirect, Direct},
		{"https://shop.example.com/a", "", NameInternal, Internal},
		{"https://www.linkedin.com/feed/", "", "LinkedIn", Social},
		{"", "utm_source=linkedin", "LinkedIn", Social},
		{"", "utm_source=LinkedIn", "LinkedIn", Social},
		{"https://chatgpt.com/", "", "ChatGPT", Assistant},
		{"chatgpt.com", "", "ChatGPT", Assistant},
		{"", "utm_source=chatgpt.com", "ChatGPT", Assistant},
		{"android-app://com.google.android.googlequicksearchbox/", "", "Google", Search},
		{"android-app://com.example.reader/", "", "com.example.reader", App},
		{"https://www.google.co.uk/", "", "Google", Search},
		{"https://mail.google.com/", "", "Gmail", Email},
		{"https://gemini.google.com/app", "", "Gemini", Assistant},
		{"https://www.google.com/", "gclid=x", "Google", PaidSearch},
		{"", "gclid=x", "Google", PaidSearch},
		{"https://l.facebook.com/", "fbclid=x", "Facebook", Social},
		{"", "fbclid=x", "Facebook", Social},
		{"", "utm_source=facebook&utm_medium=cpc", "Facebook", PaidSocial},
		{"", "gclid=%2A%2A%2A", "Google", PaidSearch},
		{"", "ttclid=x", "TikTok", PaidSocial},
		{"", "utm_source=spring&twclid=x", "spring", PaidSocial},
		{"", "mc_eid=x", "Mailchimp", Email},
		{"", "utm_source=blog&irclickid=x", "blog", Affiliate},
		{"", "fbclid=x&gclid=y", "Google", PaidSearch},
		{"https://t.co/abc", "", "Twitter", Social},
		{"ios-app://544007664/vnd.youtube/www.youtube.com", "", "YouTube", Video},
		{"android-app://com.anthropic.claude/", "", "Claude", Assistant},
		{"https://www.perplexity.ai/search/x", "", "Perplexity", Assistant},
		{"https://copilot.microsoft.com/", "", "Copilot", Assistant},
		{"https://notebooklm.google.com/", "", "NotebookLM", Assistant},
		{"https://duckduckgo.com/", "", "DuckDuckGo", Search},
		{"https://yandex.com.tr/", "", "Yandex", Search},
		{"https://search.brave.com/", "", "Brave", Search},
		{"https://app.fastmail.com/mail/", "", "Fastmail", Email},
		{"android-app://com.google.android.gm/", "", "Gmail", Email},
		{"https://xn--bcher-kva.example/a", "", "bücher.example", Referral},
		{"https://BÜCHER.example/b", "", "bücher.example", Referral},
		{"javascript:alert(1)", "", NameDirect, Direct},
		{"data:text/html,x", "", NameDirect, Direct},
		{"https://news.ycombinator.com/", "", "Hacker News", Social},
		{"https://blog.example.org/post", "", "blog.example.org", Referral},
		{"https://google.evil.example/", "", "google.evil.example", Referral},
		{"https://notgoogle.com/", "", "notgoogle.com", Referral},
		{"", "utm_source=spring-mail&utm_medium=email", "spring-mail", Email},
		{"", "utm_source=partner&utm_medium=affiliate", "partner", Affiliate},
		{"", "utm_source=poster&utm_medium=print", "poster", Campaign},
		{"", "ref=producthunt", "Product Hunt", Social},
		{"https://www.youtube.com/watch", "", "YouTube", Video},
		{"https://smile.amazon.de/", "", "Amazon", Shopping},
	} {
		address, host := pageurl.Referrer(test.referrer)
		h := hit.Hit{Site: "shop.example.com", Host: "shop.example.com", Referrer: address, RefHost: host, Query: test.query, Campaign: pageurl.Campaign(test.query)}
		if name, channel := OfHit(&h); name != test.name || channel != test.channel {
			t.Errorf("%q, %q: got %s, %s; want %s, %s", test.referrer, test.query, name, channel, test.name, test.channel)
		}
	}
}

// Every click id that a hit may have says whose it is, and the other way round.
func TestClickIDsAreKnownOnBothSides(t *testing.T) {
	names := pageurl.ClickIDs()
	if len(names) != len(clickIDs) {
		t.Errorf("%d names, %d sources", len(names), len(clickIDs))
	}
	for _, name := range names {
		if clickIDs[name].source == "" {
			t.Errorf("%s: nobody's", name)
		}
		if got := pageurl.ClickID("a=1&" + name + "=x"); got != name {
			t.Errorf("%s: got %q", name, got)
		}
		if got := pageurl.Query("a=1&" + name + "=Abc"); got != "a=1&"+name+"=***" {
			t.Errorf("%s: kept as %q", name, got)
		}
	}
}

// FuzzOf: every visit has a source and a channel.
func FuzzOf(f *testing.F) {
	f.Add("google.co.uk", "https://google.co.uk", "gclid=1&utm_medium=cpc", "x")
	f.Fuzz(func(t *testing.T, host, referrer, query, source string) {
		name, channel := Of(Visit{RefHost: host, Referrer: referrer, Query: query, Campaign: hit.Campaign{Source: source}})
		if name == "" || channel == "" {
			t.Fatalf("got %q, %q", name, channel)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	v := Visit{RefHost: "www.google.co.uk", Query: "utm_source=x&utm_medium=email"}
	b.ReportAllocs()
	for b.Loop() {
		Of(v)
	}
}
