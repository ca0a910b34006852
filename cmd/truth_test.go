package cmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/testkit"
)

// truth is an expected-*.tsv of the corpus: metric, key, value.
type truth map[string]map[string]int64

func readTruth(t *testing.T, path string) truth {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tr := truth{}
	for line := range strings.Lines(string(b)) {
		fields := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		var n int64
		if len(fields) != 3 {
			continue
		}
		if _, err := fmt.Sscan(fields[2], &n); err != nil {
			continue // the head
		}
		if tr[fields[0]] == nil {
			tr[fields[0]] = map[string]int64{}
		}
		tr[fields[0]][fields[1]] = n
	}
	return tr
}

func stats(t *testing.T, n *testkit.Node, args ...string) countsDoc {
	t.Helper()
	var doc countsDoc
	out := n.Run("", append([]string{"stats", "--json", "--limit", "100000"}, args...)...)
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("stats %v: %v: %s", args, err, out)
	}
	return doc
}

// column returns one column of the rows by their key, leaving zeros out.
func column(rows []countRow, key func(countRow) string, value func(countRow) int64) map[string]int64 {
	got := map[string]int64{}
	for _, r := range rows {
		if v := value(r); v != 0 {
			got[key(r)] += v
		}
	}
	return got
}

func hits(r countRow) int64    { return r.Hits }
func humans(r countRow) int64  { return r.Humans }
func rowKey(r countRow) string { return r.Key }

func startAs(form string) func(countRow) string {
	return func(r countRow) string { return r.Start.Format(form) }
}

func equal(t *testing.T, what string, got, want map[string]int64) {
	t.Helper()
	if len(want) == 0 {
		t.Errorf("%s: the truth has no rows", what)
	}
	if maps.Equal(got, want) {
		return
	}
	shown := 0
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if got[k] != want[k] && shown < 10 {
			t.Errorf("%s: %s is %d, want %d", what, k, got[k], want[k])
			shown++
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok && shown < 10 {
			t.Errorf("%s: %s is %d, want none", what, k, got[k])
			shown++
		}
	}
}

// coarse maps browsers to the families that the corpus lets pass for one another.
var coarse = map[string]string{"Chrome WebView": "Chrome", "WebKit WebView": "Safari"}

func byFamily(counts map[string]int64) map[string]int64 {
	got := map[string]int64{}
	for name, n := range counts {
		if name == "*" {
			continue
		}
		if family, ok := coarse[name]; ok {
			name = family
		}
		got[name] += n
	}
	return got
}

var zones = []struct{ site, zone, hourForm string }{
	{"utc.example", "UTC", "2006-01-02T15Z"},
	{"berlin.example", "Europe/Berlin", "2006-01-02T15-0700"},
	{"york.example", "America/New_York", "2006-01-02T15-0700"},
}

func TestImportedCountsEqualTheTruth(t *testing.T) {
	log := testkit.Corpus(t, "access-logs", "made-modern", "access-berlin-clean.log")
	want := readTruth(t, testkit.Corpus(t, "access-logs", "made-modern", "expected-access-berlin-clean.tsv"))
	n := testkit.StartNode(t, "", "--geoip", testkit.Corpus(t, "geoip", "mmdb", "GeoIP2-Country-Test.mmdb"))
	for _, z := range zones {
		n.Run("", "site", "add", z.site, "--timezone", z.zone)
		n.Run("", "import", "--site", z.site, log)
	}
	n.Run("", "import", "--site", zones[0].site, log) // again: counts nothing twice
	for _, z := range zones {
		checkAPI(t, n, z.site, z.zone, z.hourForm, want)
	}
	checkTopics(t, n, want)

	n.Kill() // what was counted comes back
	n.Restart("--geoip", testkit.Corpus(t, "geoip", "mmdb", "GeoIP2-Country-Test.mmdb"))
	testkit.Wait(t, "the counts to be back", 30*time.Second, func() bool {
		doc := stats(t, n, zones[1].site)
		return len(doc.Rows) == 1 && doc.Rows[0].Hits == want["hits"][""]
	})
	checkAPI(t, n, zones[1].site, zones[1].zone, zones[1].hourForm, want)
}

func checkAPI(t *testing.T, n *testkit.Node, site, zone, hourForm string, want truth) {
	t.Helper()
	total := stats(t, n, site)
	if len(total.Rows) != 1 {
		t.Fatalf("%s: %d rows of totals", site, len(total.Rows))
	}
	if r := total.Rows[0]; r.Hits != want["hits"][""] || r.Humans != want["hits_human"][""] || r.Bots != want["hits_bot"][""] {
		t.Errorf("%s: hits %d, humans %d, bots %d, want %d, %d, %d", site, r.Hits, r.Humans, r.Bots, want["hits"][""], want["hits_human"][""], want["hits_bot"][""])
	}
	countries := stats(t, n, site, "--by", "country").Rows
	equal(t, site+" country_all", column(countries, rowKey, hits), want["country_all"])
	equal(t, site+" country_human", column(countries, rowKey, humans), want["country_human"])
	browsers := byFamily(column(stats(t, n, site, "--by", "browser").Rows, rowKey, humans))
	delete(browsers, "(unknown)")
	wantBrowsers := byFamily(want["browser_human"])
	for name := range browsers {
		if _, ok := wantBrowsers[name]; !ok {
			delete(browsers, name) // families that the corpus does not check ("*")
		}
	}
	equal(t, site+" browser_human", browsers, wantBrowsers)
	equal(t, site+" minute_utc", column(stats(t, n, site, "--every", "minute").Rows, func(r countRow) string { return r.Start.UTC().Format("2006-01-02T15:04Z") }, hits), want["minute_utc"])
	suffix := zone
	if zone == "UTC" {
		suffix = "utc"
	}
	equal(t, site+" hour", column(stats(t, n, site, "--every", "hour").Rows, startAs(hourForm), hits), want["hour_"+suffix])
	equal(t, site+" day", column(stats(t, n, site, "--every", "day").Rows, startAs(time.DateOnly), hits), want["day_"+suffix])
}

// cell is what this test reads of a record of a rollup topic.
type cell struct {
	Site   string
	Start  time.Time
	Report string
	Link   string
	Rows   map[string]struct{ Hits, Humans int64 }
}

// checkTopics adds the cells of the topics up, as a stranger would: the last value of a key wins, cells of all partitions are summed.
func checkTopics(t *testing.T, n *testkit.Node, want truth) {
	t.Helper()
	for _, topic := range []struct{ name, metric, site, form string }{
		{"rollup.minute", "minute_utc", "utc.example", "2006-01-02T15:04Z"},
		{"rollup.hour", "hour_Europe/Berlin", "berlin.example", "2006-01-02T15-0700"},
		{"rollup.day", "day_Europe/Berlin", "berlin.example", time.DateOnly},
		{"rollup.day", "day_America/New_York", "york.example", time.DateOnly},
	} {
		equal(t, topic.name+" by weir consume, "+topic.site, foldCells(t, n.Run("", "consume", topic.name), topic.site, topic.form), want[topic.metric])
	}
	kcat := testkit.Program(t, "kcat")
	out, errOut, err := testkit.Exec(t, kcat, "", nil, "-b", n.Kafka, "-t", "rollup.day", "-C", "-e", "-q", "-f", `{"key":"%k","value":%s}`+"\n")
	if err != nil {
		t.Fatalf("kcat: %v: %s", err, errOut)
	}
	equal(t, "rollup.day by kcat", foldCells(t, out, "berlin.example", time.DateOnly), want["day_Europe/Berlin"])
}

func foldCells(t *testing.T, lines, site, form string) map[string]int64 {
	t.Helper()
	last := map[string]cell{}
	for line := range strings.Lines(lines) {
		var rec struct {
			Key   string
			Value *cell
		}
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if rec.Value == nil {
			delete(last, rec.Key)
			continue
		}
		last[rec.Key] = *rec.Value
	}
	got := map[string]int64{}
	for _, c := range last {
		if c.Site == site && c.Report == "total" && c.Link == "" {
			for _, r := range c.Rows {
				got[c.Start.Format(form)] += r.Hits
			}
		}
	}
	return got
}

// Every line of a public log is counted or refused with a reason.
func TestEveryLineIsCountedOrRefused(t *testing.T) {
	n := testkit.StartNode(t, "")
	n.Run("", "site", "add", "logs.example")
	for _, name := range []string{"combined-semicomplete-2015.log", "common-nasa-aug1995-excerpt.log", "made-modern/access-berlin-with-bad-lines.log", "made-modern/access-clean.nginx-json.ndjson"} {
		path := testkit.Corpus(t, "access-logs", name)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := int64(strings.Count(string(b), "\n"))
		if len(b) > 0 && b[len(b)-1] != '\n' {
			lines++
		}
		var doc importLine
		out := n.Run("", "import", "--json", "--no-wait", "--site", "logs.example", path)
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatal(err)
		}
		var reasons int64
		for _, c := range doc.Reasons {
			reasons += c
		}
		if doc.Lines != lines || doc.Accepted+doc.Rejected != lines || reasons != doc.Rejected {
			t.Errorf("%s: %d lines, %d accepted, %d rejected, %d with a reason; the file has %d", name, doc.Lines, doc.Accepted, doc.Rejected, reasons, lines)
		}
	}
}
