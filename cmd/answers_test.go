package cmd

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/testkit"
)

const (
	answersAgent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36"
	answersPage  = `{"n":"pageview","u":"https://shop.example.com/","d":"shop.example.com"}`
)

// TestAnswersAreAsThePagePromises: each row of docs/answers.md that a sender can bring about, on a running node. Those of a log that takes nothing
// are shown where the log can be made to.
func TestAnswersAreAsThePagePromises(t *testing.T) {
	n := testkit.StartNode(t, t.TempDir(), "--address-rate", "1", "--address-burst", "1000")
	n.Run("", "site", "add", "shop.example.com")
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "answers.md"))
	if err != nil {
		t.Fatal(err)
	}
	promised := func(status, reason, outcome string) {
		t.Helper()
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "| "+status) && strings.Contains(line, "| "+outcome+" |") && (reason == "" || strings.Contains(line, "`"+reason+"`")) {
				return
			}
		}
		t.Errorf("the page has no row for %s %s, %s", status, reason, outcome)
	}
	const done, part, not = "done", "done in part", "certainly not done"
	for _, c := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		reason, outcome, ack     string
		hits                     int64
	}{
		{"taken", "POST", "/api/event", answersPage, nil, 202, "", done, "", 1},
		{"committed", "POST", "/api/event?ack=committed", answersPage, nil, 202, "", done, "committed", 1},
		{"a word that is none", "POST", "/api/event?ack=soon", answersPage, nil, 202, "", done, "committed", 1},
		{"queued", "POST", "/api/event?ack=none", answersPage, nil, 202, "", done, "none", 1},
		{"counted", "POST", "/api/event?ack=counted", answersPage, nil, 202, "", done, "counted", 1},
		{"clicks counted", "POST", "/api/clicks?ack=counted", `{"link":"a","site":"shop.example.com"}`, nil, 202, "", done, "counted", 1},
		{"picture counted", "GET", "/p.gif?ack=counted&d=shop.example.com&u=https://shop.example.com/", "", nil, 200, "", done, "counted", 1},
		{"compressed in a way not known", "POST", "/api/event", answersPage, []string{"Content-Encoding", "br"}, 415, "content-type", not, "", 0},
		{"of a type not known", "POST", "/api/event", answersPage, []string{"Content-Type", "application/xml"}, 415, "content-type", not, "", 0},
		{"some lines are wrong", "POST", "/api/clicks", "{\"link\":\"a\",\"site\":\"shop.example.com\"}\nnonsense\n", nil, 202, "", part, "", 1},
		{"one site of two", "POST", "/api/event", strings.Replace(answersPage, `"d":"`, `"d":"nowhere.example,`, 1), nil, 202, "unknown-site", part, "", 1},
		{"no such site", "POST", "/api/event", `{"n":"pageview","u":"https://nowhere.example/"}`, nil, 400, "unknown-site", not, "", 0},
		{"no page", "POST", "/api/event", `{"n":"pageview","d":"shop.example.com","u":"javascript:1"}`, nil, 400, "invalid", not, "", 0},
		{"no JSON", "POST", "/api/event?ack=counted", `{"n":`, nil, 400, "not-json", not, "", 0},
		{"no text", "POST", "/api/event", "{\"n\":\"\xff\"}", nil, 400, "not-utf8", not, "", 0},
		{"tomorrow", "POST", "/api/clicks", `{"link":"a","site":"shop.example.com","ts":"2999-01-01T00:00:00Z"}`, nil, 400, "", not, "", 0},
		{"no token", "POST", "/api/clicks", `{"link":"a","site":"shop.example.com"}`, []string{"X-Forwarded-For", "81.2.69.142"}, 401, "unauthorized", not, "", 0},
		{"no such method", "PUT", "/api/event", answersPage, nil, 405, "", not, "", 0},
		{"much too large", "POST", "/api/event", strings.Repeat(" ", 8<<20), nil, 413, "too-large", not, "", 0},
		{"Google is answered as Google does", "GET", "/g/collect?v=2&tid=G-1&en=page_view&dl=https%3A%2F%2Fnowhere.example%2F", "", nil, 204, "unknown-site", "", "", 0},
	} {
		before := hitsOf(t, n)
		status, header, text := answersSend(t, n, c.method, c.path, c.body, c.header...)
		if status != c.status || header.Get("X-Weir-Dropped") != c.reason || header.Get("X-Weir-Ack") != c.ack {
			t.Errorf("%s: got %d, %v, %s", c.name, status, header, text)
		}
		if c.outcome != "" && (status == 202 || status >= 400) {
			promised(strconv.Itoa(status), c.reason, c.outcome)
		}
		if c.ack == "counted" { // the next question has it
			if got := hitsOf(t, n); got != before+c.hits {
				t.Errorf("%s: %d hits are counted, want %d", c.name, got, before+c.hits)
			}
			continue
		}
		testkit.Wait(t, c.name+": the hits are counted", 20*time.Second, func() bool { return hitsOf(t, n) == before+c.hits })
	}
	promised("429", "rate", not)
	promised("503", "queue-full", not)
	promised("503", "not-written", not)
	promised("503", "write-unknown", "unknown")
	limited := false
	for range 1100 {
		status, header, _ := answersSend(t, n, "POST", "/api/event", answersPage, "X-Forwarded-For", "81.2.69.142")
		if status == 429 {
			limited = header.Get("Retry-After") != "" && header.Get("X-Weir-Dropped") == "rate"
			break
		}
	}
	if !limited {
		t.Error("an address that sends too much is not told to wait")
	}
}

// hitsOf returns how many hits of the site are counted.
func hitsOf(t *testing.T, n *testkit.Node) (hits int64) {
	t.Helper()
	for _, row := range stats(t, n, "shop.example.com").Rows {
		hits += row.Hits
	}
	return hits
}

func answersSend(t *testing.T, n *testkit.Node, method, path, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(method, n.HTTP+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("User-Agent", answersAgent)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// payloadAnswers is what each request of the corpus is answered with, and how many hits it makes.
var payloadAnswers = map[string]struct {
	status int
	body   string // part of it
	hits   int
}{
	"bitly-webhook-like.http":                 {202, `"accepted":1`, 1},
	"dub-link-clicked-webhook.http":           {202, `"accepted":1`, 1},
	"edge-clock.http":                         {200, `"errors":`, -1}, // some of its times are times: see the test of clocks
	"edge-very-long.http":                     {202, "ok", 1},
	"edge-xff-ports-and-brackets.http":        {202, "ok", 1},
	"fathom-lite-collect.http":                {200, "GIF", 1},
	"ga4-collect-batched.http":                {204, "", -1}, // scroll and engagement belong to a view
	"ga4-collect-get.http":                    {204, "", 1},
	"goatcounter-api-count.http":              {400, `{"errors":{"2":"path`, 2}, // the third has no path; as GoatCounter answers, the others are taken
	"goatcounter-event-beacon-webdriver.http": {200, "GIF", 1},
	"goatcounter-pageview.http":               {200, "GIF", 1},
	"goatcounter-prefetch.http":               {200, "GIF", 1}, // kept, and set apart
	"matomo-bulk.http":                        {200, `"tracked":1`, 1},
	"matomo-image-get.http":                   {200, "GIF", 1},
	"matomo-noscript-pixel.http":              {200, "GIF", 1},
	"plausible-custom-event-revenue.http":     {202, "ok", 2},
	"plausible-engagement.http":               {202, "ok", 1},
	"plausible-legacy-long-keys.http":         {202, "ok", 1},
	"plausible-pageview.http":                 {202, "ok", 1},
	"shlink-orphan-visit-webhook.http":        {202, `"accepted":1`, 1},
	"shlink-visit-webhook.http":               {202, `"accepted":1`, 1},
	"umami-batch.http":                        {200, `"errors":1`, -1},
	"umami-custom-event.http":                 {200, `"sessionId"`, 1},
	"umami-identify.http":                     {200, `"sessionId"`, 0},
	"umami-pageview.http":                     {200, `"sessionId"`, 1},
	"umami-pixel.http":                        {200, "GIF", 1},
	"umami-server-side-with-ip-and-time.http": {200, "", 1},
	"yourls-log-row.http":                     {202, `"accepted":2`, 2},
	"clicks-good.ndjson":                      {202, `"accepted":12,"rejected":0`, 12},
	"clicks-crlf-blank-lines.ndjson":          {202, `"accepted":12,"rejected":0`, 12},
	"clicks-bom-no-final-newline.ndjson":      {202, `"accepted":12,"rejected":0`, 12},
	"clicks-bad-lines.ndjson":                 {202, `"accepted":13,"rejected":7`, 13},
}

// TestEveryPayloadGetsItsAnswer sends every request of the corpus to a running node, byte for byte.
func TestEveryPayloadGetsItsAnswer(t *testing.T) {
	dir := testkit.Corpus(t, "payloads")
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := testkit.StartNode(t, t.TempDir())
	for _, site := range []string{"shop.example.com", "rollup.example.com", "s.example.com", "gc.example.com", "bit.ly"} {
		n.Run("", "site", "add", site)
	}
	token := strings.TrimSpace(n.Run("", "token", "add", "invented", "--scope", "ingest"))
	for _, file := range files {
		name := file.Name()
		if !strings.HasSuffix(name, ".http") && !strings.HasSuffix(name, ".ndjson") {
			continue
		}
		want, known := payloadAnswers[name]
		if !known {
			t.Errorf("%s has no answer in the list", name)
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		method, path, header, body := "POST", "/api/clicks?site=s.example.com", []string{"Content-Type", "application/x-ndjson"}, raw
		if strings.HasSuffix(name, ".http") {
			method, path, header, body = readPayload(t, raw)
		}
		for i := range header {
			header[i] = strings.Replace(header[i], "invented-token", token, 1)
		}
		if strings.HasPrefix(name, "umami") {
			body = bytes.ReplaceAll(body, []byte("11111111-2222-4333-8444-555555555555"), []byte("shop.example.com"))
		}
		if strings.HasPrefix(path, "/hooks/") {
			path += "?site=s.example.com"
		}
		if strings.HasPrefix(name, "edge-clock") { // a time is taken with a token
			header = append(header, "Authorization", "Bearer "+token)
		}
		taken := hitsInLog(t, n)
		status, answered, text := answersSend(t, n, method, path, string(body), header...)
		if status != want.status || !strings.Contains(text, want.body) {
			t.Errorf("%s: got %d, %s, %v, want %d with %q", name, status, text, answered, want.status, want.body)
		}
		if got := hitsInLog(t, n) - taken; want.hits >= 0 && got != want.hits {
			t.Errorf("%s: made %d hits, want %d", name, got, want.hits)
		}
	}
}

func readPayload(t *testing.T, raw []byte) (method, path string, header []string, body []byte) {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(raw))
	line := func() string {
		text, err := in.ReadString('\n')
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		return strings.TrimRight(text, "\r\n")
	}
	first := line()
	for strings.HasPrefix(first, "#") {
		first = line()
	}
	fields := strings.Fields(first)
	for text := line(); text != ""; text = line() {
		name, value, _ := strings.Cut(text, ": ")
		header = append(header, name, value)
	}
	body, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return fields[0], fields[1], header, bytes.TrimRight(body, "\n")
}

// hitsInLog counts the records of the topic events.
func hitsInLog(t *testing.T, n *testkit.Node) int {
	t.Helper()
	return strings.Count(n.Run("", "consume", "events"), `"topic":"events"`)
}
