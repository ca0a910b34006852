package bot

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type row struct{ ua, source, note, era string }

func rows(t testing.TB, name string) []row {
	t.Helper()
	for _, dir := range []string{os.Getenv("WEIR_CORPUS"), "../../../shared/corpus"} {
		f, err := os.Open(filepath.Join(dir, "user-agents", name))
		if dir == "" || err != nil {
			continue
		}
		defer f.Close()
		var rows []row
		lines := bufio.NewScanner(f)
		lines.Scan()
		for lines.Scan() {
			col := strings.Split(lines.Text(), "\t")
			rows = append(rows, row{col[0], col[6], col[7], col[8]})
		}
		return rows
	}
	t.Skip("the corpus is not here; set WEIR_CORPUS")
	return nil
}

func TestBotsAreFound(t *testing.T) {
	found, all := 0, 0
	bySource := map[string][2]int{}
	for _, r := range rows(t, "ua-truth-bots.tsv") {
		all++
		count := bySource[r.source]
		count[1]++
		if Agent(r.ua) != "" {
			found++
			count[0]++
		} else if os.Getenv("WEIR_AGENTS") != "" {
			t.Logf("missed (%s, %s): %s", r.source, r.era, r.ua)
		}
		bySource[r.source] = count
	}
	t.Logf("%d of %d: %v", found, all, bySource)
	if found*100 < all*99 {
		t.Errorf("%d of %d bots found, want 99 %%", found, all)
	}
}

func TestPeopleAreNotCalledBots(t *testing.T) {
	wrong := map[string]int{}
	for _, r := range rows(t, "ua-truth-humans.tsv") {
		kind := Agent(r.ua)
		if kind == "" {
			continue
		}
		wrong[r.era]++
		if r.era == "modern" {
			t.Errorf("%s: %s", kind, r.ua)
		} else if os.Getenv("WEIR_AGENTS") != "" {
			t.Logf("%s (%s, %s): %s", kind, r.era, r.source, r.ua)
		}
	}
	t.Logf("called bots: %v", wrong)
}

func TestBotsAreNamed(t *testing.T) {
	for ua, want := range map[string]string{
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)":                                      "Googlebot",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/131.0.0.0 Safari/537.36": "HeadlessChrome",
		"Go-http-client/1.1": "Go-http-client", "curl/7.68.0": "curl", "Twitterbot/1.0": "Twitterbot", "node": "node", "-": "", "": "",
		"Mozilla/5.0": "", "http.rb/5.1.0 (Mastodon/4.0.2; +https://inst.example/)": "http.rb",
	} {
		if got := Name(ua); got != want {
			t.Errorf("%s: got %q, want %q", ua, got, want)
		}
	}
	if got := Name("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot"); got != "ChatGPT-User" {
		t.Errorf("got %q", got)
	}
}

func TestPrefetchesAreNotVisits(t *testing.T) {
	for name, test := range map[string]struct {
		method, header, value, want string
	}{
		"plain":       {"GET", "Accept", "*/*", ""},
		"prerender":   {"GET", "Sec-Purpose", "prefetch;prerender", KindPrefetch},
		"old Firefox": {"GET", "X-Moz", "prefetch", KindPrefetch},
		"Purpose":     {"POST", "Purpose", "Prefetch", KindPrefetch},
		"HEAD":        {"HEAD", "Accept", "*/*", KindHead},
	} {
		h := http.Header{}
		h.Set(test.header, test.value)
		if got := Request(test.method, h); got != test.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// FuzzAgent: no panic, whatever the string.
func FuzzAgent(f *testing.F) {
	f.Add("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko; compatible; x) [a(b]c")
	f.Fuzz(func(t *testing.T, ua string) { Agent(ua) })
}

func BenchmarkAgent(b *testing.B) {
	ua := "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36"
	b.ReportAllocs()
	for b.Loop() {
		Agent(ua)
	}
}
