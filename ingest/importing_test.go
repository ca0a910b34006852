package ingest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	dto "github.com/prometheus/client_model/go"

	"github.com/weir-analytics/weir/ingest/hit"
)

func (f *fixture) importText(t testing.TB, text string) ImportResult {
	t.Helper()
	result, err := f.importInto(1, text)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (f *fixture) importInto(site uint32, text string) (ImportResult, error) {
	s := f.cfg.Sites.State()
	return f.Import(context.Background(), ImportRequest{Site: s.Sites[site], Body: strings.NewReader(text)}, nil)
}

// refused returns the counter of a reason.
func (f *fixture) refused(why reason) float64 {
	var m dto.Metric
	if err := f.metrics.dropped[why].Write(&m); err != nil {
		panic(err)
	}
	return m.GetCounter().GetValue()
}

func logFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus(t), "access-logs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// truth is one row of an expected-*.tsv.
type truth struct{ metric, key, value string }

func truths(t testing.TB, name string) []truth {
	t.Helper()
	f, err := os.Open(filepath.Join(corpus(t), "access-logs", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []truth
	lines := bufio.NewScanner(f)
	lines.Scan()
	for lines.Scan() {
		col := strings.Split(lines.Text(), "\t")
		rows = append(rows, truth{col[0], col[1], col[2]})
	}
	return rows
}

// countAll counts hits the way the truths do: by metric and key.
func countAll(t testing.TB, hits []hit.Hit) map[string]int {
	t.Helper()
	counts := map[string]int{}
	zones := map[string]*time.Location{}
	for _, name := range []string{"Europe/Berlin", "America/New_York"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Skip("no time zone database:", err)
		}
		zones[name] = zone
	}
	for _, h := range hits {
		at := time.UnixMilli(h.TimeMs).UTC()
		country := h.Country
		if country == "" {
			country = "??"
		}
		add := func(metric, key string) { counts[metric+"\t"+key]++ }
		add("hits", "")
		add("status", strconv.Itoa(h.Status))
		add("country_all", country)
		add("minute_utc", at.Format("2006-01-02T15:04Z"))
		add("hour_utc", at.Format("2006-01-02T15Z"))
		add("day_utc", at.Format("2006-01-02"))
		for name, zone := range zones {
			add("day_"+name, at.In(zone).Format("2006-01-02"))
			add("hour_"+name, at.In(zone).Format("2006-01-02T15-0700"))
		}
		if h.Bot {
			add("hits_bot", "")
			continue
		}
		add("hits_human", "")
		add("country_human", country)
		add("browser_human", h.Browser)
		add("os_human", h.OS)
		add("day_utc_human_browser", at.Format("2006-01-02")+" "+h.Browser)
		add("hour_utc_human_country", at.Format("2006-01-02T15Z")+" "+country)
		if h.Kind == hit.Pageview {
			add("human_page_views_get_200_304_no_assets", h.Path)
		}
	}
	return counts
}

// sameMoment brings keys of the truths into the form of countAll.
func sameMoment(key string) string {
	if len(key) == len("2015-05-17T10:05:00Z") && strings.HasSuffix(key, ":00Z") {
		return strings.TrimSuffix(key, ":00Z") + "Z"
	}
	return strings.ReplaceAll(key, "|", " ")
}

func TestModernLogsCountAsTheTruthSays(t *testing.T) {
	for _, test := range []struct{ log, expected string }{
		{"made-modern/access-berlin-clean.log", "made-modern/expected-access-berlin-clean.tsv"},
		{"made-modern/access-clean.nginx-json.ndjson", "made-modern/expected-access-clean.nginx-json.tsv"},
	} {
		f := start(t, func(c *Config) { c.Now = func() time.Time { return time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC) } })
		result := f.importText(t, logFile(t, test.log))
		counts := countAll(t, f.log.hits())
		if result.Rejected != 0 || int(result.Accepted) != counts["hits\t"] || int(result.Humans) != counts["hits_human\t"] || int(result.Bots) != counts["hits_bot\t"] {
			t.Errorf("%s: result %+v, hits %d", test.log, result, counts["hits\t"])
		}
		checked, wrong := map[string]int{}, 0
		for _, row := range truths(t, test.expected) {
			key := sameMoment(row.key)
			if row.metric == "os_human" && row.key == "*" || strings.HasPrefix(row.metric, "isoweek") {
				continue
			}
			if row.metric == "human_page_views_get_200_304_no_assets" {
				key = decoded(row.key)
			}
			got := counts[row.metric+"\t"+key]
			checked[row.metric]++
			if strconv.Itoa(got) != row.value {
				if wrong++; wrong < 20 {
					t.Errorf("%s: %s %q: got %d, want %s", test.log, row.metric, row.key, got, row.value)
				}
			}
		}
		t.Logf("%s: %v, %d wrong", test.log, checked, wrong)
		pages := 0
		for key, n := range counts {
			if strings.HasPrefix(key, "human_page_views_get_200_304_no_assets\t") {
				pages += n
			}
		}
		for _, row := range truths(t, test.expected) {
			if row.metric == "human_page_views_get_200_304_no_assets" {
				n, _ := strconv.Atoi(row.value)
				pages -= n
			}
		}
		if pages != 0 {
			t.Errorf("%s: %d page views that the truth does not have", test.log, pages)
		}
	}
}

func decoded(path string) string {
	for raw, want := range map[string]string{"/caf%C3%A9": "/café", "/a/%E6%97%A5%E6%9C%AC": "/a/日本"} {
		if path == raw {
			return want
		}
	}
	return path
}

func TestOddLinesAreReportedAndTheRestCounts(t *testing.T) {
	f := start(t, func(c *Config) { c.Now = func() time.Time { return time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC) } })
	result := f.importText(t, logFile(t, "made-modern/access-berlin-with-bad-lines.log"))
	if result.Lines != 6508 || result.Accepted != 6504 || result.Rejected != 4 {
		t.Errorf("got %+v", result)
	}
	for reason, want := range map[string]int64{"blank line": 1, "not a known log format": 1, "time cannot be read": 1, "line too long": 1} {
		if result.Reasons[reason] != want {
			t.Errorf("%s: %d", reason, result.Reasons[reason])
		}
	}
	lines := map[int64]bool{}
	for _, e := range result.Examples {
		lines[e.Line] = true
	}
	if len(lines) != 4 || !lines[723] || !lines[1446] {
		t.Errorf("examples %+v", result.Examples)
	}
	found := false
	for _, h := range f.log.hits() {
		found = found || h.Agent == `A "quoted" agent` && h.Country == "GB" && h.Query == `x="y"`
	}
	if !found {
		t.Error("the line with quotes is not there")
	}
}

func TestPublicLogsAreReadInFull(t *testing.T) {
	for _, test := range []struct {
		log, expected string
	}{
		{"combined-semicomplete-2015.log", "expected-combined-semicomplete-2015.tsv"},
		{"combined-semicomplete-2015-full.log.gz", "expected-combined-semicomplete-2015-full.tsv"},
		{"common-nasa-aug1995-excerpt.log", "expected-common-nasa-aug1995-excerpt.tsv"},
		{"hostile/crowdsec-apache-http-probing.log", "hostile/expected-crowdsec-apache-http-probing.tsv"},
		{"hostile/crowdsec-apache2-logs.log", "hostile/expected-crowdsec-apache2-logs.tsv"},
		{"hostile/crowdsec-apache2-malformed.log", "hostile/expected-crowdsec-apache2-malformed.tsv"},
		{"hostile/crowdsec-apache_log4j2_cve-2021-44228.log", "hostile/expected-crowdsec-apache_log4j2_cve-2021-44228.tsv"},
		{"hostile/crowdsec-http-dos-bypass-cache.log", "hostile/expected-crowdsec-http-dos-bypass-cache.tsv"},
		{"hostile/crowdsec-http-dos-invalid-http-versions.log", "hostile/expected-crowdsec-http-dos-invalid-http-versions.tsv"},
		{"hostile/crowdsec-http-dos-random-uri.log", "hostile/expected-crowdsec-http-dos-random-uri.tsv"},
		{"hostile/crowdsec-http-dos-switching-ua.log", "hostile/expected-crowdsec-http-dos-switching-ua.tsv"},
		{"hostile/crowdsec-nginx-http-malformed.log", "hostile/expected-crowdsec-nginx-http-malformed.tsv"},
		{"hostile/crowdsec-nginx-http-xss-probing.log", "hostile/expected-crowdsec-nginx-http-xss-probing.tsv"},
		{"hostile/crowdsec-nginx_http-logs.log", "hostile/expected-crowdsec-nginx_http-logs.tsv"},
		{"caddy-json/caddy-2025.log", "caddy-json/expected-caddy-2025.tsv"},
		{"caddy-json/caddy-basic-auth-2.log", "caddy-json/expected-caddy-basic-auth-2.tsv"},
		{"caddy-json/caddy-docker-prefixed-2025.log", "caddy-json/expected-caddy-docker-prefixed-2025.tsv"},
		{"caddy-json/caddy-forwarded-2023.log", "caddy-json/expected-caddy-forwarded-2023.tsv"},
		{"traefik/traefik-json-scan.log", "traefik/expected-traefik-json-scan.tsv"},
		{"traefik/traefik-json.log", "traefik/expected-traefik-json.tsv"},
	} {
		f := start(t, nil)
		result := f.importText(t, logFile(t, test.log))
		counts := countAll(t, f.log.hits())
		paths := map[string]int{}
		for _, h := range f.log.hits() {
			paths[h.Path]++
		}
		for _, row := range truths(t, test.expected) {
			var got int64
			switch row.metric {
			case "lines_total":
				got = result.Lines
			case "lines_parsed", "access_records":
				got = result.Accepted
			case "lines_bad":
				got = result.Rejected
			case "not_json":
				got = result.Reasons["not a known log format"] + result.Reasons["not valid JSON"] + result.Reasons["blank line"]
			case "json_but_not_access":
				got = result.Reasons["JSON, but not of a request"]
			case "status", "minute_utc":
				got = int64(counts[row.metric+"\t"+sameMoment(row.key)])
			default:
				continue
			}
			if strconv.FormatInt(got, 10) != row.value {
				t.Errorf("%s: %s %q: got %d, want %s; %+v", test.log, row.metric, row.key, got, row.value, result)
			}
		}
	}
}

func TestHostileLogsNeverStopAnImport(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus(t), "access-logs", "*", "*.log"))
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	f := start(t, nil)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		result := f.importText(t, string(data))
		lines := int64(bytes.Count(data, []byte("\n")))
		if len(data) > 0 && data[len(data)-1] != '\n' {
			lines++
		}
		if result.Lines != lines || result.Accepted+result.Rejected != lines {
			t.Errorf("%s: %d lines, got %+v", filepath.Base(file), lines, result.ImportCounts)
		}
	}
}

// TestHostileValuesSurviveAsText: what attackers write into logs comes out as the text that it is, or not at all, and the lines around it count.
func TestHostileValuesSurviveAsText(t *testing.T) {
	f := start(t, nil)
	line := func(path, referrer, agent string) string {
		return `81.2.69.142 - - [03/Feb/2026:00:00:01 +0000] "GET ` + path + ` HTTP/1.1" 200 5 "` + referrer + `" "` + agent + `"` + "\n"
	}
	formula, script := `=cmd|'/C calc'!A0`, `<script>alert(1)</script>`
	result := f.importText(t, line("/before", "-", chrome)+
		line("/"+formula, "https://"+script+"/", formula)+
		line("/"+script, "-", script)+
		line("/a\x00b", "-", "nul \x00 agent")+
		line("/+1%2B1", "-", "@SUM(A1)")+
		"\x00\x00\x00\n"+
		line("/"+strings.Repeat("x", 100_000), "-", chrome)+
		line("/bad\xff\xfeutf8", "-", "\xc3\x28")+
		line("/after", "-", chrome))
	if result.Lines != 9 || result.Accepted != 7 || result.Reasons["line too long"] != 1 || result.Reasons["not a known log format"] != 1 {
		t.Errorf("got %+v", result)
	}
	paths, agents := map[string]bool{}, map[string]bool{}
	for _, h := range f.log.hits() {
		paths[h.Path], agents[h.Agent] = true, true
		if !utf8.ValidString(h.Path + h.Agent + h.Referrer + h.Query) {
			t.Errorf("not UTF-8: %+v", h)
		}
	}
	for _, path := range []string{"/before", "/" + formula, "/" + script, "/+1+1", "/after"} {
		if !paths[path] {
			t.Errorf("%q is not among %q", path, slices.Sorted(maps.Keys(paths)))
		}
	}
	for _, agent := range []string{formula, script, "@SUM(A1)"} {
		if !agents[agent] {
			t.Errorf("%q is not among %q", agent, slices.Sorted(maps.Keys(agents)))
		}
	}
}

func TestABrokenArchiveKeepsWhatCameBefore(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write([]byte(logLines(0, 20_000)))
	_ = w.Close()
	whole := zipped.Bytes()
	f := start(t, nil)
	for name, test := range map[string]struct {
		f    *fixture
		data []byte
	}{"cut": {f, whole[:len(whole)/2]}, "bytes changed": {start(t, nil), append(append(bytes.Clone(whole[:len(whole)/2]), "garbage"...), whole[len(whole)/2:]...)}} {
		result, err := test.f.importInto(1, string(test.data))
		if err == nil || result.Lines == 0 || !strings.Contains(err.Error(), "after line") {
			t.Errorf("%s: %+v, %v", name, result.ImportCounts, err)
		}
	}
	f.importText(t, string(whole))
	if got := uniqueHits(f.log); got != 20_000 {
		t.Errorf("%d hits", got)
	}
	for _, head := range []string{"\x1f\x8b", "\x1f\x8bgarbage", "BZhgarbage", "\x28\xb5\x2f\xfdgarbage"} {
		if result, err := f.importInto(1, head); err == nil || result.Accepted != 0 {
			t.Errorf("%q: %+v, %v", head, result, err)
		}
	}
}

// uniqueHits counts hits as counting does: repeats dropped by the highest sequence of a source in a partition.
func uniqueHits(log *memoryLog) int {
	n := 0
	for _, hits := range log.parts {
		seen := map[string]uint64{}
		for _, h := range hits {
			if h.ID.Seq > seen[h.ID.Source] {
				seen[h.ID.Source] = h.ID.Seq
				n++
			}
		}
	}
	return n
}

func logLines(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "81.2.%d.%d - - [03/Feb/2026:10:%02d:%02d +0000] \"GET /page%d HTTP/1.1\" 200 10 \"-\" \"%s\"\n", i>>8, i&255, i/60%60, i%60, i, chrome)
	}
	return b.String()
}

func TestAGrownFileCountsEachLineOnce(t *testing.T) {
	f := start(t, nil)
	for _, step := range []struct {
		text string
		want int
	}{
		{logLines(0, 687), 687}, {logLines(0, 688), 688}, {logLines(0, 688), 688}, {logLines(0, 5000), 5000}, {logLines(0, 3), 5000},
	} {
		f.importText(t, step.text)
		if got := uniqueHits(f.log); got != step.want {
			t.Fatalf("got %d hits, want %d", got, step.want)
		}
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write([]byte(logLines(0, 5001)))
	_ = w.Close()
	f.importText(t, zipped.String())
	if got := uniqueHits(f.log); got != 5001 {
		t.Errorf("compressed: got %d hits, want 5001", got)
	}
}

// countedIn answers as counting does, from the records of a log.
func countedIn(log **memoryLog) func(partition int32, source string) (uint64, error) {
	return func(partition int32, source string) (uint64, error) {
		l := *log
		l.mu.Lock()
		defer l.mu.Unlock()
		var high uint64
		for _, h := range l.parts[partition] {
			if h.ID.Source == source {
				high = max(high, h.ID.Seq)
			}
		}
		return high, nil
	}
}

func TestLinesThatWereImportedBeforeAreNotWrittenAgain(t *testing.T) {
	var log *memoryLog
	f := start(t, func(c *Config) { c.Highest = countedIn(&log) })
	log = f.log
	bad := "no log line\n"
	for _, step := range []struct {
		text                       string
		accepted, before, rejected int64
	}{
		{logLines(0, 600) + bad + logLines(600, 687), 687, 0, 1},
		{logLines(0, 600) + bad + logLines(600, 687), 0, 687, 1},
		{logLines(0, 600) + bad + logLines(600, 2000), 1313, 687, 1},
		{logLines(0, 3), 0, 3, 0},
		{logLines(0, 1) + logLines(3000, 3010), 10, 1, 0},
	} {
		had := len(f.log.hits())
		result := f.importText(t, step.text)
		want := ImportCounts{Lines: step.accepted + step.before + step.rejected, Accepted: step.accepted, Before: step.before, Rejected: step.rejected}
		if result.ImportCounts != want || result.Humans != step.accepted || int64(len(f.log.hits())-had) != step.accepted {
			t.Errorf("got %+v, %d written, want %+v", result, len(f.log.hits())-had, want)
		}
	}
	if n := f.refused(reasonBadLine); n != 1 {
		t.Errorf("one line that was sent three times is counted as refused %v times", n)
	}
}

// TestAnImportGoesOnWhereAnotherEnded: lines that are sent in pieces have the identities that they have in the whole file, whatever the format's
// header said.
func TestAnImportGoesOnWhereAnotherEnded(t *testing.T) {
	header := "#Date: 2026-02-03 00:00:00\n#Fields: time c-ip cs-method cs-uri-stem sc-status\n"
	var w3c strings.Builder
	for i := range 100 {
		fmt.Fprintf(&w3c, "00:00:%02d 81.2.69.%d GET /page%d 200\n", i%60, i, i)
	}
	for name, text := range map[string]string{"combined": logLines(0, 300), "W3C": header + w3c.String()} {
		whole := start(t, nil)
		whole.importText(t, text)
		var log *memoryLog
		f := start(t, func(c *Config) { c.Highest = countedIn(&log) })
		log = f.log
		var sent []string
		for line := range strings.Lines(text) {
			sent = append(sent, line)
		}
		next, accepted := "", int64(0)
		for i, size := 0, 1; i < len(sent); i, size = i+size, size+3 {
			piece := strings.Join(sent[i:min(i+size, len(sent))], "")
			result, err := f.Import(t.Context(), ImportRequest{Site: f.cfg.Sites.State().Sites[1], Body: strings.NewReader(piece), From: next}, nil)
			if err != nil {
				t.Fatal(name, err)
			}
			next, accepted = result.Next, accepted+result.Accepted
		}
		ids := func(log *memoryLog) map[hit.ID]string {
			got := map[hit.ID]string{}
			for _, h := range log.hits() {
				got[h.ID] = h.Path
			}
			return got
		}
		if got, want := ids(f.log), ids(whole.log); !maps.Equal(got, want) {
			t.Errorf("%s: got %d identities, want %d, or others", name, len(got), len(want))
		}
		if result := f.importText(t, text); result.Before != accepted || result.Accepted != 0 {
			t.Errorf("%s: the whole file afterwards: %+v", name, result.ImportCounts)
		}
	}
}

func TestAPlaceThatNobodyGaveIsRefused(t *testing.T) {
	f := start(t, nil)
	for _, from := range []string{"x", "!", "e30", base64.RawURLEncoding.EncodeToString([]byte(`{"v":1,"n":-1,"l":0,"s":"AAAAAAAAAAAAAAAAAAAAAA=="}`)),
		base64.RawURLEncoding.EncodeToString([]byte(`{"v":1,"n":5,"l":5,"s":"AAAAAAAAAAAAAAAAAAAAAA==","f":"zz"}`))} {
		_, err := f.Import(t.Context(), ImportRequest{Site: f.cfg.Sites.State().Sites[1], Body: strings.NewReader(logLines(0, 2)), From: from}, nil)
		if !errors.Is(err, ErrBadPlace) || len(f.log.hits()) != 0 {
			t.Errorf("%q: %v", from, err)
		}
	}
}

func TestACheckWritesNothingAndSaysWhatWouldBeCounted(t *testing.T) {
	var log *memoryLog
	f := start(t, func(c *Config) { c.Highest = countedIn(&log) })
	log = f.log
	f.importText(t, logLines(0, 10))
	result, err := f.Import(t.Context(), ImportRequest{Site: f.cfg.Sites.State().Sites[1], Body: strings.NewReader(logLines(0, 30) + "bad\n"), Check: true}, nil)
	if err != nil || result.ImportCounts != (ImportCounts{31, 20, 10, 1}) || result.Humans != 20 || result.Formats["combined"] != 30 {
		t.Errorf("got %+v, %v", result, err)
	}
	if first, last := time.UnixMilli(result.FirstMs).UTC(), time.UnixMilli(result.LastMs).UTC(); first.Second() != 10 || last.Second() != 29 {
		t.Errorf("from %s to %s", first, last)
	}
	if len(f.log.hits()) != 10 || f.refused(reasonBadLine) != 0 {
		t.Errorf("%d hits, %v refused", len(f.log.hits()), f.refused(reasonBadLine))
	}
}

func TestFilesThatBeginAlikeAreDifferentFiles(t *testing.T) {
	f := start(t, nil)
	f.importText(t, logLines(0, 1000))
	other := logLines(0, 1) + logLines(2000, 2999)
	f.importText(t, other)
	if got := uniqueHits(f.log); got < 1995 {
		t.Errorf("got %d hits of 1999", got)
	}
	g := start(t, nil)
	g.importText(t, logLines(0, 500))
	if result, err := g.importInto(2, logLines(0, 500)); err != nil || result.Accepted != 500 {
		t.Fatal(result, err)
	}
	if got := uniqueHits(g.log); got != 1000 {
		t.Errorf("two sites: got %d hits", got)
	}
}

func TestAnInterruptedImportGoesOn(t *testing.T) {
	f := start(t, func(c *Config) { c.AppendTimeout = 50 * time.Millisecond })
	var failing atomic.Bool
	failing.Store(true)
	f.log.fail = func(partition int32, attempt int) error {
		if failing.Load() && attempt > 10 && partition == 3 {
			return ErrNotWritten
		}
		return nil
	}
	text := logLines(0, 60_000)
	result, err := f.importInto(1, text)
	if err == nil || !strings.Contains(err.Error(), "import the file again") || result.Accepted >= 60_000 {
		t.Fatalf("got %+v, %v", result.ImportCounts, err)
	}
	failing.Store(false)
	f.importText(t, text)
	if got := uniqueHits(f.log); got != 60_000 {
		t.Errorf("got %d hits", got)
	}
}

func TestAnImportEndsWithItsContext(t *testing.T) {
	f := start(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Import(ctx, ImportRequest{Site: f.cfg.Sites.State().Sites[1], Body: strings.NewReader(logLines(0, 10))}, nil); err == nil {
		t.Error("no error")
	}
}

func TestLogLinesOfBugReports(t *testing.T) {
	for _, test := range []struct {
		name, line string
		kind       hit.Kind // 0: rejected
		path, why  string
	}{
		{"two forwarded addresses", `192.0.2.12, 192.0.2.17 - - [29/May/2017:04:33:14 +0000] "GET /a HTTP/1.1" 200 1 "-" "-"`, hit.Pageview, "/a", ""},
		{"one forwarded address", `192.0.2.14 - - [29/May/2017:04:33:14 +0000] "GET /a HTTP/1.1" 200 1 "-" "-"`, hit.Pageview, "/a", ""},
		{"no client", `- - unauthenticated [07/Mar/2017:09:23:46 +0100] "GET /x.html HTTP/1.1" 200 - 10.0.0.200`, hit.Pageview, "/x.html", ""},
		{"OPTIONS *", `1.2.3.4 - - [07/Mar/2017:09:23:46 +0100] "OPTIONS * HTTP/1.1" 200 -`, hit.Request, "/*", ""},
		{"odd target", `1.2.3.4 - - [07/Mar/2017:09:23:46 +0100] "GET %. HTTP/1.1" 400 226`, hit.Request, "/%.", ""},
		{"304 without size", `1.2.3.4 - - [07/Mar/2017:09:23:46 +0100] "GET /a.html HTTP/1.1" 304 -`, hit.Pageview, "/a.html", ""},
		{"line in quotes", `"198.51.100.7 - - [30/Sep/2021:09:27:17 +0000] "GET /x HTTP/1.1" 200 9 "-" "UA""`, hit.Pageview, "/x", ""},
		{"typographic quotes", `1.2.3.4 - - [28/Jul/2022:00:16:21 +0200] „GET /robots.txt HTTP/1.1“ 404 4594`, 0, "", "request is not in quotes"},
		{"odd escapes", `1.2.3.4 - - [28/Jul/2022:00:16:21 +0200] "GET /a%2 HTTP/1.1" 200 1 "-" "Software%20Update (unknown version) CFNetwork/673.6 Darwin/13.4.0 (x86_64) (iMac14%2C2)"`, hit.Pageview, "/a%2", ""},
		{"path ends in percent", `1.2.3.4 - - [28/Jul/2022:00:16:21 +0200] "GET /a% HTTP/1.1" 200 1 "-" "x"`, hit.Pageview, "/a%", ""},
		{"JSON over several lines", `{`, 0, "", "one object a line"},
		{"doubled slash", `{"time":"2026-02-03T10:00:00Z","client_ip":"1.2.3.4","host":"xn--mgbbr9gd24d.example","method":"GET","uri":"//xmlrpc.php","status":200}`, hit.Pageview, "//xmlrpc.php", ""},
		{"virtual host", `www.a.example:443 1.2.3.4 - - [25/Oct/2021:11:05:52 +0200] "GET /web HTTP/1.1" 200 6963 "abc.com" "` + chrome + `"`, hit.Pageview, "/web", ""},
		{"blank in the target", `1.2.3.4 - - [25/Oct/2021:11:05:52 +0200] "GET /a b HTTP/1.1" 200 1`, hit.Pageview, "/a b", ""},
		{"quotes in the request", `1.2.3.4 - - [25/Oct/2021:11:05:52 +0200] "GET /a"b HTTP/1.1" 200 1 "-" "x"`, hit.Pageview, `/a"b`, ""},
		{"no protocol", `1.2.3.4 - - [25/Oct/2021:11:05:52 +0200] "GET /ksc.html" 200 7280`, hit.Pageview, "/ksc.html", ""},
		{"asset", `1.2.3.4 - - [25/Oct/2021:11:05:52 +0200] "GET /app.JS?v=1 HTTP/1.1" 200 7280`, hit.Request, "/app.JS", ""},
		{"future", `1.2.3.4 - - [25/Oct/2031:11:05:52 +0200] "GET / HTTP/1.1" 200 7280`, 0, "", "in the future"},
		{"31 April", `1.2.3.4 - - [31/Apr/2021:11:05:52 +0200] "GET / HTTP/1.1" 200 7280`, 0, "", "time cannot be read"},
		{"agent cut off", `1.2.3.4 - - [30/Apr/2021:11:05:52 +0200] "GET /a HTTP/1.1" 200 7280 "-" "Mozilla/5.0 (comp`, hit.Pageview, "/a", ""},
		{"request cut off", `1.2.3.4 - - [30/Apr/2021:11:05:52 +0200] "GET /a HT`, 0, "", "cut off"},
		{"status cut off", `1.2.3.4 - - [30/Apr/2021:11:05:52 +0200] "GET /a HTTP/1.1"`, 0, "", "status is missing"},
		{"comment", `#Fields: date time`, 0, "", "comment"},
	} {
		f := start(t, nil)
		result := f.importText(t, test.line+"\n")
		hits := f.log.hits()
		if test.kind == 0 {
			if len(hits) != 0 || len(result.Examples) != 1 || result.Examples[0].Line != 1 || !strings.Contains(result.Examples[0].Error, test.why) {
				t.Errorf("%s: got %+v, %+v", test.name, hits, result)
			}
			continue
		}
		if len(hits) != 1 || hits[0].Kind != test.kind || hits[0].Path != test.path {
			t.Errorf("%s: got %+v, %+v", test.name, hits, result)
		}
	}
}

func TestClientsThatAreNoAddressesAreVisitorsByName(t *testing.T) {
	f := start(t, nil)
	f.importText(t, `in24.inetnebr.com - - [01/Aug/1995:00:00:01 -0400] "GET /a.html HTTP/1.0" 200 1839
uplherc.upl.com - - [01/Aug/1995:00:00:07 -0400] "GET / HTTP/1.0" 304 0
uplherc.upl.com - - [01/Aug/1995:00:00:08 -0400] "GET /b HTTP/1.0" 304 0
- - - [01/Aug/1995:00:00:09 -0400] "GET /b HTTP/1.0" 304 0
`)
	visitors := map[uint64]int{}
	for _, h := range f.log.hits() {
		visitors[h.Visitor]++
		if h.Bot || h.Country != "" {
			t.Errorf("got %+v", h)
		}
	}
	if len(visitors) != 3 || visitors[0] != 1 {
		t.Errorf("got %v", visitors)
	}
}

func TestNoAddressIsStored(t *testing.T) {
	f := start(t, nil)
	f.importText(t, `81.2.69.142 - - [03/Feb/2026:00:00:01 +0000] "GET /a.html HTTP/1.0" 200 1839 "-" "`+chrome+`"`+"\n")
	f.send("POST", "/api/event", pageview, "X-Forwarded-For", "81.2.69.142")
	postClicks(t, f, `{"link":"a","host":"s.example.com","ip":"81.2.69.142"}`)
	for _, h := range f.log.hits() {
		if bytes.Contains(hit.Append(nil, &h), []byte("81.2.69.142")) {
			t.Errorf("%+v holds the address", h)
		}
	}
}

func BenchmarkImport(b *testing.B) {
	text := logFile(b, "made-modern/access-berlin-clean.log")
	f := start(b, func(c *Config) { c.Appender = discard{} })
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		f.importText(b, text)
	}
	b.ReportMetric(float64(b.N)*6500/b.Elapsed().Seconds(), "lines/s")
}
