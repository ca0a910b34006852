package demo

import (
	"fmt"
	"math/rand/v2"
)

// weighted is something that is chosen as often as its weight says.
type weighted[T any] struct {
	weight int
	value  T
}

func pick[T any](rng *rand.Rand, from []weighted[T]) T {
	total := 0
	for _, w := range from {
		total += w.weight
	}
	n := rng.IntN(total)
	for _, w := range from {
		if n -= w.weight; n < 0 {
			return w.value
		}
	}
	panic("BUG: weights do not add up")
}

// network is the first two bytes of IPv4 addresses that a provider in one country hands out to homes and telephones, with the range of the
// second byte.
type network struct {
	first, low, high int
}

// networks are from the address plans of large providers, in the order US GB DE FR NL ES IT PL SE CA BR IN JP KR AU ZA TR MX.
var networks = []weighted[network]{
	{26, network{73, 0, 255}}, {10, network{86, 128, 191}}, {18, network{91, 0, 63}}, {8, network{90, 0, 127}}, {5, network{84, 80, 87}},
	{4, network{83, 32, 63}}, {5, network{79, 0, 63}}, {4, network{83, 0, 31}}, {3, network{78, 64, 79}}, {5, network{99, 224, 255}},
	{6, network{177, 32, 63}}, {9, network{106, 192, 223}}, {5, network{126, 0, 255}}, {3, network{121, 128, 191}}, {3, network{1, 128, 159}},
	{2, network{105, 224, 255}}, {3, network{88, 224, 255}}, {3, network{189, 128, 255}},
}

func address(rng *rand.Rand) string {
	n := pick(rng, networks)
	return fmt.Sprintf("%d.%d.%d.%d", n.first, n.low+rng.IntN(n.high-n.low+1), rng.IntN(256), 1+rng.IntN(254))
}

var agents = []weighted[string]{
	{22, "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"},
	{18, "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36"},
	{17, "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1"},
	{9, "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15"},
	{8, "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"},
	{7, "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0"},
	{6, "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0"},
	{4, "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"},
	{4, "Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36"},
	{2, "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 OPR/124.0.0.0"},
	{3, "Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1"},
}

var robots = []weighted[string]{
	{5, "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"},
	{3, "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"},
	{3, "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"},
	{2, "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)"},
	{1, "curl/8.14.1"},
}

var referrers = []weighted[string]{
	{42, ""}, {24, "https://www.google.com/"}, {5, "https://duckduckgo.com/"}, {4, "https://www.bing.com/"}, {5, "https://chatgpt.com/"},
	{5, "https://www.reddit.com/r/webdev/"}, {4, "https://news.ycombinator.com/"}, {4, "https://t.co/x7Kq2"}, {3, "https://www.linkedin.com/feed/"},
	{2, "https://mastodon.social/"}, {2, "https://blog.hazel.example/"},
}
