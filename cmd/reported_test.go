package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/testkit"
)

// What users of other products reported, on a running node: each test is named by what has to hold.

const secondAgent = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:143.0) Gecko/20100101 Firefox/143.0"

// logOf writes an access log of one line for each visit.
func logOf(t *testing.T, visits ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(file, []byte(strings.Join(visits, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func visitOf(address string, at time.Time, path, agent string) string {
	return fmt.Sprintf(`%s - - [%s] "GET %s HTTP/1.1" 200 5 "-" "%s"`, address, at.Format("02/Jan/2006:15:04:05 -0700"), path, agent)
}

// figures asks for one row of counts.
func figures(t *testing.T, n *testkit.Node, args ...string) (countRow, string) {
	t.Helper()
	doc := stats(t, n, args...)
	if len(doc.Rows) != 1 {
		t.Fatalf("stats %v: %d rows", args, len(doc.Rows))
	}
	return doc.Rows[0], doc.VisitorsAre
}

func TestVisitorsOfDaysNightsAndOffices(t *testing.T) {
	n := testkit.StartNode(t, t.TempDir())
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here")
	}
	at := func(text string) time.Time {
		when, err := time.ParseInLocation("2006-01-02 15:04", text, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return when.UTC()
	}
	for site, visits := range map[string][]string{
		"week.example": func() (lines []string) {
			for day := range 7 {
				lines = append(lines, visitOf("81.2.69.142", at("2026-01-05 12:00").AddDate(0, 0, day), "/", answersAgent))
			}
			return lines
		}(),
		"night.example": {visitOf("81.2.69.142", at("2026-01-31 23:55"), "/", answersAgent), visitOf("81.2.69.142", at("2026-02-01 00:01"), "/", answersAgent),
			visitOf("81.2.69.142", at("2026-02-01 09:00"), "/", answersAgent)},
		"office.example": {visitOf("81.2.69.142", at("2026-01-05 12:00"), "/", answersAgent), visitOf("81.2.69.142", at("2026-01-05 12:01"), "/", answersAgent),
			visitOf("81.2.69.142", at("2026-01-05 12:02"), "/", secondAgent), visitOf("2001:218::1", at("2026-01-05 12:03"), "/", answersAgent),
			visitOf("::ffff:81.2.69.142", at("2026-01-05 12:04"), "/", answersAgent)},
	} {
		n.Run("", "site", "add", site, "--timezone", "Europe/Berlin")
		n.Run("", "import", "--site", site, logOf(t, visits...))
	}
	for _, test := range []struct {
		name, site, from, to string
		pageviews, visitors  int64
		are                  string
	}{
		{"seven days of one person are labelled a sum", "week.example", "2026-01-05", "2026-01-11", 7, 7, "sum of daily"},
		{"one day of them is exact", "week.example", "2026-01-07", "2026-01-07", 1, 1, "exact"},
		{"the evening", "night.example", "2026-01-31", "2026-01-31", 1, 1, "exact"},
		{"the night and the morning after it are one", "night.example", "2026-02-01", "2026-02-01", 2, 1, "exact"},
		{"over the turn of a month, and said so", "night.example", "2026-01-31", "2026-02-01", 3, 2, "sum of daily"},
		{"two agents at one address, and an address that is another", "office.example", "2026-01-05", "2026-01-05", 5, 3, "exact"},
	} {
		row, are := figures(t, n, test.site, "--from", test.from, "--to", test.to)
		if row.Pageviews != test.pageviews || row.Visitors != test.visitors || are != test.are {
			t.Errorf("%s: %d page views, %d visitors (%s); want %d, %d (%s)", test.name, row.Pageviews, row.Visitors, are, test.pageviews, test.visitors, test.are)
		}
	}
}

func TestALinkThatIsChangedKeepsItsClicksInEveryBucket(t *testing.T) {
	n := testkit.StartNode(t, t.TempDir())
	n.Run("", "site", "add", "go.example")
	click := func(times int) {
		for range times {
			status, _, text := answersSend(t, n, "POST", "/api/clicks?ack=counted", `{"link":"spring","site":"go.example","ip":"81.2.69.142","ua":"`+answersAgent+`"}`)
			if status != 202 {
				t.Fatalf("%d %s", status, text)
			}
		}
	}
	n.Run("", "links", "add", "--site", "go.example", "https://shop.example.com/old", "--slug", "spring")
	click(10)
	n.Run("", "links", "add", "--site", "go.example", "https://shop.example.com/changed", "--slug", "spring", "--replace")
	click(9)
	n.Run("", "links", "remove", "spring")
	n.Run("", "links", "add", "--site", "go.example", "https://shop.example.com/again", "--slug", "spring")
	click(6)
	total, _ := figures(t, n, "go.example", "--last", "48h", "--by", "link")
	var buckets, visitors int64
	for _, row := range stats(t, n, "go.example", "--last", "120m", "--link", "spring", "--every", "minute").Rows {
		buckets += row.Clicks
		visitors = max(visitors, row.Visitors)
		if row.Visitors > row.Clicks {
			t.Errorf("%s: %d visitors of %d clicks", row.Start, row.Visitors, row.Clicks)
		}
	}
	if total.Key != "spring" || total.Clicks != 25 || buckets != 25 || visitors != 1 || total.Visitors > 2 {
		t.Errorf("total %+v, sum over the buckets %d, most visitors %d", total, buckets, visitors)
	}
}

func TestProbesOfScannersAreSetApartByPathAndAddress(t *testing.T) {
	n := testkit.StartNode(t, t.TempDir())
	n.Run("", "site", "add", "shop.example.com")
	view := func(path, from string) {
		status, _, text := answersSend(t, n, "POST", "/api/event?ack=counted", `{"n":"pageview","u":"https://shop.example.com`+path+`"}`, "X-Forwarded-For", from, "User-Agent", answersAgent)
		if status != 202 {
			t.Fatalf("%d %s", status, text)
		}
	}
	view("/wp-login.php", "203.0.113.9")
	n.Run("", "site", "set", "shop.example.com", "--own-paths", "/wp-*,/wordpress/*", "--own-addresses", "203.0.113.0/24")
	view("/wp-login.php", "81.2.69.142")
	view("/wordpress/wp-includes/x.php", "81.2.69.142")
	view("/", "203.0.113.77")
	view("/", "81.2.69.142")
	if row, _ := figures(t, n, "shop.example.com", "--last", "48h"); row.Hits != 5 || row.Bots != 3 || row.Humans != 2 {
		t.Errorf("got %+v", row)
	}
}

func TestOneSourceIsOneRowHoweverItIsWritten(t *testing.T) {
	n := testkit.StartNode(t, t.TempDir())
	n.Run("", "site", "add", "shop.example.com")
	for _, body := range []string{`"u":"https://shop.example.com/","r":"https://chatgpt.com/"`, `"u":"https://shop.example.com/","r":"chatgpt.com"`, `"u":"https://shop.example.com/","r":"https://www.ChatGPT.com"`} {
		if status, _, text := answersSend(t, n, "POST", "/api/event?ack=counted", `{"n":"pageview",`+body+`}`, "User-Agent", answersAgent); status != 202 {
			t.Fatalf("%d %s", status, text)
		}
	}
	if row, _ := figures(t, n, "shop.example.com", "--last", "48h", "--by", "referrer"); row.Key != "chatgpt.com" || row.Pageviews != 3 {
		t.Errorf("got %+v", row)
	}
}
