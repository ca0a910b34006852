package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestCountsArePrintedAsATable(t *testing.T) {
	const doc = `{"site":"shop.example","timezone":"Europe/Berlin","from":"2025-10-26T00:00:00+02:00","to":"2025-10-27T00:00:00+01:00",
	"by":"","every":"hour","complete_to":"2025-10-26T03:00:00Z","visitors_are":"exact","truncated":false,"rows":[
	{"key":"2025-10-26T02:00:00+02:00","start":"2025-10-26T02:00:00+02:00","visitors":7,"pageviews":12,"hits":13,"bots":1},
	{"key":"2025-10-26T02:00:00+01:00","start":"2025-10-26T02:00:00+01:00","visitors":15,"pageviews":120,"hits":120,"bots":0}]}`
	const want = `HOUR                     VISITORS  PAGEVIEWS  HITS  BOTS
2025-10-26 02:00 +02:00         7         12    13     1
2025-10-26 02:00 +01:00        15        120   120     0

2025-10-26 00:00 to 2025-10-27 00:00 (Europe/Berlin); complete to 2025-10-26T03:00:00Z
`
	var counts countsDoc
	if err := json.Unmarshal([]byte(doc), &counts); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	counts.print(&out)
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestVisitsArePrintedWhereThereAreAny(t *testing.T) {
	const doc = `{"site":"shop.example","timezone":"UTC","from":"2025-10-26T00:00:00Z","to":"2025-10-27T00:00:00Z","by":"entry","every":"",
	"complete_to":"2025-10-26T03:00:00Z","visitors_are":"exact","rows":[
	{"key":"/","pageviews":7,"visits":3,"bounces":1,"bounce_rate":0.3333,"views_per_visit":2.3333,"visit_seconds":95.5,"engaged_ms":61000,"scroll_depth":70},
	{"key":"/a","pageviews":1}]}`
	const want = `ENTRY  VISITORS  PAGEVIEWS  HITS  VISITS  VIEWS/VISIT  BOUNCE  DURATION  ENGAGED  SCROLL
/             0          7     0       3  2.3          33%     1m35s     1m1s     70%
/a            0          1     0       0
`
	var counts countsDoc
	if err := json.Unmarshal([]byte(doc), &counts); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	counts.print(&out)
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	if got := strings.Join(lines[:3], "\n") + "\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatIsComparedIsPrintedBelow(t *testing.T) {
	const doc = `{"site":"shop.example","timezone":"UTC","from":"2025-10-26T00:00:00Z","to":"2025-10-27T00:00:00Z","by":"","every":"","rows":[
	{"visitors":30,"pageviews":50,"hits":50,"visits":40}],
	"compare":{"with":"previous","from":"2025-10-25T00:00:00Z","to":"2025-10-26T00:00:00Z","visitors_are":"exact","rows":[{"visitors":20,"pageviews":100,"hits":100,"visits":40}]}}`
	const want = `SITE          VISITORS  PAGEVIEWS  HITS  VISITS
shop.example        30         50    50      40

2025-10-26 00:00 to 2025-10-27 00:00 (UTC)

Compared with (visitors +50%, visits +0%, page views -50%):

SITE          VISITORS  PAGEVIEWS  HITS  VISITS
shop.example        20        100   100      40

2025-10-25 00:00 to 2025-10-26 00:00 (UTC)
`
	var counts countsDoc
	if err := json.Unmarshal([]byte(doc), &counts); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	counts.print(&out)
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestStrangersCannotMoveTheCursor(t *testing.T) {
	for in, want := range map[string]string{
		"/a\x1b[2Jb":      `/a\x1b[2Jb`,
		"tab\there":       `tab\there`,
		"bad \xff utf8":   `bad \xff utf8`,
		"right\u202eleft": `right\u202eleft`,
		`quotes " and \`:  `quotes " and \`,
		"日本 ok":           "日本 ok",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAnImportsAnswerIsReadToItsLastLine(t *testing.T) {
	var shown int
	line, raw, err := readImport(strings.NewReader(`{"lines":10,"accepted":9,"rejected":1}
{"done":true,"lines":20,"accepted":19,"rejected":1,"humans":10,"bots":9,"reasons":{"no log line":1},"examples":[{"line":7,"error":"no log line"}]}
`), func(importLine) { shown++ })
	if err != nil || shown != 1 || !json.Valid(raw) {
		t.Fatalf("%v, %d shown", err, shown)
	}
	var out bytes.Buffer
	line.print(&out, "access.log")
	const want = "access.log: 20 lines: 19 hits (10 human, 9 bots), 1 refused\n       1  no log line\n  line 7: no log line\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	_, _, err = readImport(strings.NewReader(`{"lines":10,"accepted":9,"rejected":1}`+"\n"), func(importLine) {})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut off: %v, want ErrUnexpectedEOF", err)
	}
	_, _, err = readImport(strings.NewReader(`{"error":{"code":"unavailable","message":"the disk is full"},"lines":3,"accepted":2}`+"\n"), func(importLine) {})
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("failed: %v", err)
	}
}

func TestProgressSaysWhatIsLeft(t *testing.T) {
	for _, c := range []struct {
		line       importLine
		sent, size int64
		took       time.Duration
		want       string
	}{
		{importLine{Lines: 1000}, 250, 1000, 10 * time.Second, "1000 lines, 100 a second, 25 %, 30s left"},
		{importLine{Lines: 1000, Rejected: 2}, 250, -1, 10 * time.Second, "1000 lines, 100 a second, 2 refused"},
		{importLine{Lines: 1000}, 1000, 1000, 10 * time.Second, "1000 lines, 100 a second, all sent, waiting for the counts"},
	} {
		if got := progressText(c.line, c.sent, c.size, c.took); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestParseStart(t *testing.T) {
	for in, want := range map[string]startAt{
		"start": {kind: 's'}, "end": {kind: 'e'}, "17": {kind: 'o', offset: 17},
		"2026-03-01":           {kind: 't', at: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)},
		"2026-03-01T09:00:00Z": {kind: 't', at: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)},
	} {
		if got, err := parseStart(in); err != nil || got.kind != want.kind || got.offset != want.offset || !got.at.Equal(want.at) {
			t.Errorf("%s: %+v, %v, want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "-3", "yesterday"} {
		if _, err := parseStart(in); err == nil {
			t.Errorf("%q was taken", in)
		}
	}
}
