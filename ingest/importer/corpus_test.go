package importer

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/testkit"
)

// readLog parses a log of the corpus, and counts lines by the reason why they are none.
func readLog(t *testing.T, path string, each func(l *Line)) (lines int, reasons map[Reason]int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := NewReader(f, 64<<10)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var p Parser
	reasons = map[Reason]int{}
	for {
		line, _, tooLong, err := r.Next()
		if errors.Is(err, io.EOF) {
			return lines, reasons
		}
		if err != nil {
			t.Fatal(err)
		}
		if lines++; tooLong {
			reasons[TooLong]++
			continue
		}
		var l Line
		var bad *Bad
		switch err := p.Parse(line, &l); {
		case err == nil:
			each(&l)
		case errors.As(err, &bad):
			reasons[bad.Reason]++
		default:
			t.Fatal(err)
		}
	}
}

// measure counts a line the way the truths of the corpus do: raw, before anything is decoded.
func measure(counts map[string]int, l *Line) {
	at := time.UnixMilli(l.TimeMs).UTC()
	path, _, _ := bytes.Cut(l.Target, []byte("?"))
	add := func(metric, key string) { counts[metric+"\t"+key]++ }
	add("status", strconv.Itoa(l.Status))
	add("minute_utc", at.Format("2006-01-02T15:04"))
	add("hour_utc", at.Format("2006-01-02T15"))
	add("day_utc", at.Format("2006-01-02"))
	add("client", string(l.Client))
	if len(l.Agent) > 0 {
		add("ua", string(l.Agent))
	} else if !l.HasAgent {
		add("ua", "")
	} else {
		add("ua", "-")
		add("ua_absent", "")
	}
	if len(l.Referrer) == 0 && l.HasAgent {
		add("referrer_absent", "")
	}
	if len(l.Method) == 0 {
		add("request_malformed", "")
		return
	}
	add("request_wellformed", "")
	add("method", string(l.Method))
	add("path_all_noquery", string(path))
	add("path_noquery", string(path))
	if string(l.Method) == "GET" && (l.Status/100 == 2 || l.Status == 304) {
		add("path_get_2xx_304_noquery", string(path))
	}
}

func TestLogsCountAsTheirTruthsSay(t *testing.T) {
	dir := testkit.Corpus(t, "access-logs")
	var truths []string
	for _, pattern := range []string{"expected-*.tsv", "*/expected-*.tsv"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		truths = append(truths, found...)
	}
	checked := 0
	for _, truth := range truths {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(truth), "expected-"), ".tsv")
		logs, _ := filepath.Glob(filepath.Join(filepath.Dir(truth), name+".*"))
		if len(logs) != 1 {
			t.Errorf("%s: logs %v", name, logs)
			continue
		}
		counts := map[string]int{}
		lines, reasons := readLog(t, logs[0], func(l *Line) {
			counts["lines_parsed\t"]++
			measure(counts, l)
		})
		counts["lines_total\t"], counts["access_records\t"] = lines, counts["lines_parsed\t"]
		counts["lines_bad\t"] = lines - counts["lines_parsed\t"]
		counts["json_but_not_access\t"] = reasons[NoAccess]
		data, err := os.ReadFile(truth)
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for row := range strings.Lines(string(data)) {
			col := strings.Split(strings.TrimRight(row, "\n"), "\t")
			if len(col) != 3 || !measured[col[0]] || differs[name][col[0]] {
				continue
			}
			key := col[1]
			if length := lengths[col[0]]; length > 0 {
				key = key[:length]
			}
			checked++
			if got := strconv.Itoa(counts[col[0]+"\t"+key]); got != col[2] {
				if wrong++; wrong < 8 {
					t.Errorf("%s: %s %q: got %s, want %s", name, col[0], col[1], got, col[2])
				}
			}
		}
	}
	t.Logf("%d counts of %d logs", checked, len(truths))
}

// lengths are those of the moments in keys, up to the unit that matters: the truths write an hour with minutes, or without.
var lengths = map[string]int{"minute_utc": len("2006-01-02T15:04"), "hour_utc": len("2006-01-02T15"), "day_utc": len("2006-01-02")}

// differs are metrics that the truths mean otherwise: a request without a protocol, as HTTP/0.9 has it, is well-formed here; the client is the
// visitor behind virtual hosts and forwarded addresses.
var differs = map[string]map[string]bool{
	"common-nasa-aug1995-excerpt":  {"request_wellformed": true, "request_malformed": true, "method": true, "path_all_noquery": true, "path_get_2xx_304_noquery": true},
	"crowdsec-apache-http-probing": {"request_wellformed": true, "request_malformed": true, "method": true},
	"crowdsec-apache2-logs":        {"client": true},
	"crowdsec-nginx_http-logs":     {"client": true},
	"traefik-json":                 {"client": true},
	"traefik-json-scan":            {"client": true},
}

// measured are the metrics of the truths that can be read off a line.
var measured = map[string]bool{"lines_total": true, "lines_parsed": true, "lines_bad": true, "access_records": true, "json_but_not_access": true, "status": true, "minute_utc": true,
	"hour_utc": true, "day_utc": true, "client": true, "ua": true, "ua_absent": true, "referrer_absent": true, "request_malformed": true, "request_wellformed": true,
	"method": true, "path_all_noquery": true, "path_noquery": true, "path_get_2xx_304_noquery": true}

// TestLogsWithoutATruthCountAsReadByHand: what the files hold was read by hand, line by line.
func TestLogsWithoutATruthCountAsReadByHand(t *testing.T) {
	for name, want := range map[string]struct {
		hits    int
		reasons map[Reason]int
		some    map[string]int // by metric and key
	}{
		"cloud/aws-alb.log":                              {14, nil, map[string]int{"status\t200": 6, "status\t404": 8, "day_utc\t2018-07-02": 2}},
		"cloud/aws-alb-bad-ua.log":                       {4, nil, map[string]int{"status\t200": 4, "method\tHEAD": 1, "client\t192.168.1.100": 4}},
		"cloud/aws-cloudfront-tsv-noheader.log":          {2, nil, map[string]int{"status\t400": 2, "ua\tcurl/7.81.0": 2, "path_noquery\t/testseb": 2, "minute_utc\t2024-03-12T15:22": 2}},
		"cloud/cloudflare-logpush.json":                  {1, nil, map[string]int{"status\t301": 1, "method\tHEAD": 1, "client\t87.226.160.4": 1}},
		"haproxy/haproxy-http.log":                       {2, map[Reason]int{NoRequest: 3}, map[string]int{"status\t200": 2, "path_noquery\t/xxx/xxx": 1}},
		"haproxy/haproxy-syslog-mixed.log":               {13, map[Reason]int{UnknownFormat: 3, NoRequest: 1}, map[string]int{"status\t200": 13, "client\t141.35.244.179": 2}},
		"hostile/crowdsec-envoy-logs.log":                {10, nil, map[string]int{"status\t204": 1, "status\t201": 2, "minute_utc\t2016-04-15T20:17": 1}},
		"hostile/crowdsec-litespeed-logs.log":            {1, map[Reason]int{UnknownFormat: 2}, map[string]int{"status\t404": 1, "minute_utc\t2022-06-08T20:44": 1}},
		"hostile/crowdsec-nginx-http-path-traversal.log": {9, nil, map[string]int{"status\t404": 9, "ua\tcurl/7.68.0": 9, "path_noquery\t/c:/win.ini": 1, "minute_utc\t2021-09-29T15:30": 8}},
		"hostile/crowdsec-nginx-http-sqli-probing.log":   {16, nil, map[string]int{"status\t404": 16, "path_noquery\t/foo": 16, "minute_utc\t2021-09-30T09:11": 16}},
		"hostile/crowdsec-nginx-proxy-manager-logs.log":  {12, map[Reason]int{BadTime: 2}, map[string]int{"status\t444": 1, "status\t404": 4, "method\tPOST": 2, "day_utc\t2025-10-01": 8}},
		"hostile/crowdsec-zoraxy-http-logs.log":          {13, nil, map[string]int{"client\t192.168.1.1": 13, "minute_utc\t2025-05-01T07:57": 1, "ua\tpython-requests/2.32.3": 1}},
		"traefik/traefik-clf.log":                        {7, map[Reason]int{BlankLine: 2}, map[string]int{"status\t200": 6, "status\t0": 1, "ua\tNikto": 3, "ua_absent\t": 2}},
		"made-modern/access-berlin-with-bad-lines.log":   {6504, map[Reason]int{BlankLine: 1, UnknownFormat: 1, BadTime: 1, TooLong: 1}, nil},
	} {
		counts, hits := map[string]int{}, 0
		lines, reasons := readLog(t, testkit.Corpus(t, "access-logs", filepath.FromSlash(name)), func(l *Line) {
			hits++
			measure(counts, l)
		})
		refused := 0
		for reason, n := range reasons {
			if refused += n; want.reasons[reason] != n {
				t.Errorf("%s: %d of %q, want %d", name, n, reason, want.reasons[reason])
			}
		}
		if hits != want.hits || hits+refused != lines {
			t.Errorf("%s: %d of %d lines are hits, want %d", name, hits, lines, want.hits)
		}
		for key, n := range want.some {
			if counts[key] != n {
				t.Errorf("%s: %d of %q, want %d", name, counts[key], key, n)
			}
		}
	}
}
