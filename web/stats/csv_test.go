package stats

import (
	"encoding/csv"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// What visitors wrote stays text in a spreadsheet, and can be had back whole.
func TestCountsAsCSV(t *testing.T) {
	hostile := []string{`=cmd|'/c calc'!A0`, "+1", "-1", "@SUM(A1)", "\tx", "<script>alert(1)</script>", `"quoted", with comma`, "two\nlines", "'apostrophe", "/plain", ""}
	doc := &document{By: "page", Every: "day"}
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	rate := 0.25
	for _, key := range hostile {
		doc.Rows = append(doc.Rows, row{Key: key, Start: &at, Visitors: 2, Pageviews: 3, measures: measures{Visits: 4, BounceRate: &rate}})
	}
	w := httptest.NewRecorder()
	if err := writeCSV(w, doc); err != nil {
		t.Fatal(err)
	}
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "text/csv") {
		t.Errorf("type %s", got)
	}
	lines, err := csv.NewReader(w.Body).ReadAll()
	if err != nil || len(lines) != len(hostile)+1 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	if head := strings.Join(lines[0], ","); head != "start,page,visitors,pageviews,hits,humans,bots,events,clicks,visits,bounce_rate,views_per_visit,visit_seconds,engaged_ms,scroll_depth" {
		t.Errorf("head %s", head)
	}
	for i, key := range hostile {
		cell := lines[i+1][1]
		if cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
			t.Errorf("%q is a formula: %q", key, cell)
		}
		if got := strings.TrimPrefix(cell, "'"); got != key {
			t.Errorf("%q came back as %q", key, got)
		}
		if lines[i+1][0] != "2026-03-01T00:00:00Z" || lines[i+1][2] != "2" || lines[i+1][10] != "0.25" {
			t.Errorf("line %v", lines[i+1])
		}
	}
}
