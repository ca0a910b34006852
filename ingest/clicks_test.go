package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/weir-analytics/weir/ingest/hit"
)

func postClicks(t testing.TB, f *fixture, body string, header ...string) (int, batchAnswer) {
	t.Helper()
	w := f.send("POST", "/api/clicks", body, header...)
	var a batchAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("the answer is no JSON: %v: %s", err, w.Body)
	}
	return w.Code, a
}

func TestBatchesOfTheCorpusAreTakenLineByLine(t *testing.T) {
	for _, test := range []struct {
		file               string
		accepted, rejected int
	}{
		{"clicks-good.ndjson", 12, 0},
		{"clicks-crlf-blank-lines.ndjson", 12, 0},
		{"clicks-bom-no-final-newline.ndjson", 12, 0},
		{"clicks-bad-lines.ndjson", 13, 7}, // the repeat is dropped when counting
	} {
		f := start(t, nil, "s.example.com")
		status, a := postClicks(t, f, string(payload(t, test.file)), "Content-Type", "application/x-ndjson")
		if status != http.StatusAccepted || a.Accepted != test.accepted || a.Rejected != test.rejected || len(a.Errors) != test.rejected {
			t.Errorf("%s: got %d %+v", test.file, status, a)
		}
		hits := f.log.hits()
		if len(hits) != test.accepted {
			t.Errorf("%s: %d hits", test.file, len(hits))
		}
		if test.file == "clicks-good.ndjson" {
			if got := countriesOf(hits); !slices.Equal(got, []string{"GB", "GB", "GB", "JP", "JP", "JP", "SE", "SE", "SE", "US", "US", "US"}) {
				t.Errorf("countries %v", got)
			}
			h := hits[1]
			if h.Kind != hit.Click || h.ClientID != "c0001" || h.Link != "spring" || h.Host != "s.example.com" || h.Dest != "https://shop.example.com/spring" ||
				h.RefHost != "t.co" || h.Site != "s.example.com" || h.Browser != "Safari" || h.Device != "mobile" || h.Visitor == 0 {
				t.Errorf("got %+v", h)
			}
		}
		if test.file == "clicks-bad-lines.ndjson" {
			var lines []int
			for _, e := range a.Errors {
				lines = append(lines, e.Line)
			}
			if !slices.Equal(lines, []int{4, 5, 6, 7, 8, 9, 10}) {
				t.Errorf("rejected lines %v", lines)
			}
		}
	}
}

func TestArraysAreBatchesToo(t *testing.T) {
	f := start(t, nil)
	status, a := postClicks(t, f, ` [ {"link":"a","host":"s.example.com"} , {"link":"b","host":"s.example.com"}, 5, "x", {"host":"s.example.com"} ] `)
	if status != 202 || a.Accepted != 2 || a.Rejected != 3 || a.Errors[0].Line != 3 || a.Errors[2].Line != 5 {
		t.Errorf("got %d %+v", status, a)
	}
	status, a = postClicks(t, f, `[{"link":"a","host":"s.example.com"},{"link":"b","ho`)
	if status != 202 || a.Accepted != 1 || a.Rejected != 1 || a.Errors[0].Line != 2 || !strings.Contains(a.Errors[0].Error, "cut off") {
		t.Errorf("cut: got %d %+v", status, a)
	}
}

func TestNamesOfOtherServicesAreUnderstood(t *testing.T) {
	f := start(t, nil)
	status, a := postClicks(t, f, `{"click_time":"2026-02-03 10:35:57","shorturl":"spring","referrer":"direct","user_agent":"`+chrome+`","ip_address":"81.2.69.142","country_code":"GB"}
{"timestamp":1770109257.5,"key":"k1","url":"https://shop.example.com/","userAgent":"x","refererUrl":"(direct)","countryCode":"us","potentialBot":true}`,
		"X-Ignored", "1")
	if status != 400 || a.Rejected != 2 || !strings.Contains(a.Errors[0].Error, "?site=NAME") {
		t.Errorf("without a site: got %d %+v", status, a)
	}
	w := f.send("POST", "/api/clicks?site=s.example.com", `{"click_time":"2026-02-03 10:35:57","shorturl":"spring","referrer":"direct","user_agent":"`+chrome+`","ip_address":"81.2.69.142","country_code":"GB"}
{"timestamp":1770109257.5,"key":"k1","url":"https://shop.example.com/","userAgent":"x","refererUrl":"(direct)","countryCode":"us","potentialBot":true}`)
	if w.Code != 202 {
		t.Fatalf("got %d %s", w.Code, w.Body)
	}
	hits := f.log.hits()
	if len(hits) != 2 || hits[1].Link != "spring" || hits[1].RefHost != "" || hits[1].TimeMs != 1770114957000 || hits[0].Country != "US" || !hits[0].Bot ||
		hits[0].TimeMs != 1770109257500 || hits[0].Dest != "https://shop.example.com/" {
		t.Errorf("got %+v", hits)
	}
}

func TestClocksAreReadOrRefused(t *testing.T) {
	f := start(t, nil)
	for ts, want := range map[string]int64{
		`1770000000`: 1770000000000, `1770000000000`: 1770000000000, `1770000000000000`: 1770000000000, `1770000000000000000`: 1770000000000,
		`1770000000.5`: 1770000000500, `"1770000000"`: 1770000000000, `"2026-02-02T00:00:60Z"`: 1769990460000, `"2026-02-02t03:00:00z"`: 1770001200000,
		`"2026-02-02T03:00:00+0530"`: 1769981400000, `"2026-02-02 03:00:00"`: 1770001200000, `"2025-10-26T02:30:00+02:00"`: 1761438600000,
		`"2025-10-26T02:30:00+01:00"`: 1761442200000, `"2015-05-17T10:05:00.25Z"`: 1431857100250, `null`: testNow.UnixMilli(),
	} {
		before := len(f.log.hits())
		if status, a := postClicks(t, f, `{"link":"a","host":"s.example.com","ts":`+ts+`}`); status != 202 {
			t.Errorf("%s: got %d %+v", ts, status, a)
			continue
		}
		found := false
		for _, h := range f.log.hits() {
			found = found || h.TimeMs == want
		}
		if !found || len(f.log.hits()) != before+1 {
			t.Errorf("%s: no hit at %d", ts, want)
		}
	}
	for ts, want := range map[string]string{
		`0`: "before 1990", `-1`: "before 1990", `4102444800`: "future", `"1/2/2026"`: "not a time", `"2026-02-30T00:00:00Z"`: "not a time",
		`"yesterday"`: "not a time", `{}`: "not a time", `1e300`: "not a time", `"2026-02-03T12:06:00Z"`: "future",
	} {
		if status, a := postClicks(t, f, `{"link":"a","host":"s.example.com","ts":`+ts+`}`); status != 400 || !strings.Contains(a.Errors[0].Error, want) {
			t.Errorf("%s: got %d %+v", ts, status, a)
		}
	}
}

func TestOnlyThisMachineOrATokenMaySendAddresses(t *testing.T) {
	f := start(t, nil)
	const body = `{"link":"a","host":"s.example.com"}`
	for name, test := range map[string]struct {
		header []string
		status int
	}{
		"this machine":       {nil, 202},
		"through a proxy":    {[]string{"X-Forwarded-For", "81.2.69.142"}, 401},
		"token":              {[]string{"X-Forwarded-For", "81.2.69.142", "Authorization", "Bearer " + ingestToken}, 202},
		"wrong token":        {[]string{"Authorization", "Bearer weir_other"}, 401},
		"token for counts":   {[]string{"Authorization", "Bearer weir_stats-only"}, 401},
		"not a bearer token": {[]string{"Authorization", "Basic eDp5"}, 401},
	} {
		w := f.send("POST", "/api/clicks", body, test.header...)
		if w.Code != test.status || test.status == 401 && !strings.Contains(w.Body.String(), "weir token add") {
			t.Errorf("%s: got %d %s", name, w.Code, w.Body)
		}
	}
	r, _ := http.NewRequest("POST", "/api/clicks", strings.NewReader(body))
	r.RemoteAddr = "198.51.100.7:1"
	if w := f.record(r); w.Code != 401 {
		t.Errorf("from outside: got %d", w.Code)
	}
}

func TestThousandsOfClicksAreAFewBatches(t *testing.T) {
	f := start(t, nil)
	var body bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&body, "{\"link\":\"l%d\",\"host\":\"s.example.com\",\"ip\":\"10.%d.%d.1\",\"ua\":\"%s\"}\n", i%50, i>>8, i&255, chrome)
	}
	status, a := postClicks(t, f, body.String())
	if status != 202 || a.Accepted != 20_000 || a.Rejected != 0 || len(f.log.hits()) != 20_000 {
		t.Errorf("got %d %+v, %d hits", status, a, len(f.log.hits()))
	}
	if f.log.batches > 200 {
		t.Errorf("%d batches", f.log.batches)
	}
}

func TestBatchesAreBounded(t *testing.T) {
	f := start(t, func(c *Config) { c.MaxClicks, c.LineBytes, c.ClicksBytes = 2, 1<<10, 8<<10 })
	line := `{"link":"a","host":"s.example.com"}` + "\n"
	status, a := postClicks(t, f, line+`{"link":"`+strings.Repeat("x", 2000)+`"}`+"\n"+line+line)
	if status != 202 || a.Accepted != 2 || a.Rejected != 2 || a.Errors[0].Line != 2 || a.Errors[1].Line != 4 {
		t.Errorf("got %d %+v", status, a)
	}
	if w := f.send("POST", "/api/clicks", strings.Repeat(line, 400)); w.Code != 413 || !strings.Contains(w.Body.String(), "too-large") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestCompressedBatchesAreBoundedByTheirContent(t *testing.T) {
	f := start(t, nil)
	zip := func(text string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(text))
		_ = w.Close()
		return b.String()
	}
	if status, a := postClicks(t, f, zip(`{"link":"a","host":"s.example.com"}`), "Content-Encoding", "gzip"); status != 202 || a.Accepted != 1 {
		t.Errorf("got %d %+v", status, a)
	}
	if w := f.send("POST", "/api/clicks", zip(strings.Repeat("\n", 17<<20)), "Content-Encoding", "gzip"); w.Code != 413 {
		t.Errorf("bomb: got %d", w.Code)
	}
	if w := f.send("POST", "/api/clicks", "x", "Content-Encoding", "gzip"); w.Code != 400 {
		t.Errorf("not gzip: got %d", w.Code)
	}
	if w := f.send("POST", "/api/clicks", "x", "Content-Encoding", "br"); w.Code != 415 {
		t.Errorf("br: got %d", w.Code)
	}
}

func TestAnEmptyBatchIsNoError(t *testing.T) {
	f := start(t, nil)
	for _, body := range []string{"", "\n\n", "[]"} {
		if status, a := postClicks(t, f, body); status != 202 || a.Accepted != 0 || a.Rejected != 0 {
			t.Errorf("%q: got %d %+v", body, status, a)
		}
	}
}

func TestManyErrorsAreCountedAndCut(t *testing.T) {
	f := start(t, nil)
	status, a := postClicks(t, f, strings.Repeat("x\n", 500))
	if status != 400 || a.Rejected != 500 || len(a.Errors) != maxLineErrors || a.More != 400 {
		t.Errorf("got %d, %d rejected, %d errors, %d more", status, a.Rejected, len(a.Errors), a.More)
	}
}

func TestOneVisitorIsOneVisitor(t *testing.T) {
	f := start(t, nil)
	line := `{"link":"a","host":"s.example.com","ip":"81.2.69.142","ua":"` + chrome + `"}` + "\n"
	postClicks(t, f, strings.Repeat(line, 10)+strings.Replace(line, "81.2.69.142", "::ffff:81.2.69.142", 1))
	visitors := map[uint64]bool{}
	for _, h := range f.log.hits() {
		visitors[h.Visitor] = true
	}
	if len(visitors) != 1 {
		t.Errorf("%d visitors", len(visitors))
	}
}

// FuzzClicks: every batch gets an answer whose numbers agree with the log.
func FuzzClicks(f *testing.F) {
	fix := start(f, nil)
	f.Add([]byte("{\"link\":\"a\",\"host\":\"s.example.com\",\"ts\":1770000000}\n\n[]\n{\"link\":5}"))
	f.Add([]byte(`[{"link":"a","host":"s.example.com"},null,{}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		before := len(fix.log.hits())
		w := fix.send("POST", "/api/clicks", string(body))
		var a batchAnswer
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		if n := len(fix.log.hits()) - before; n != a.Accepted || w.Code != 202 && w.Code != 400 {
			t.Fatalf("%d: accepted %d, written %d", w.Code, a.Accepted, n)
		}
	})
}
