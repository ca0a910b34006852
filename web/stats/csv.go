package stats

import (
	"encoding/csv"
	"net/http"
	"strconv"
	"time"
)

// csvColumns are the columns of counts as CSV, after the start of the window and the key. Names are those of the JSON document.
var csvColumns = []struct {
	name  string
	value func(r *row) string
}{
	{"visitors", func(r *row) string { return whole(r.Visitors) }}, {"pageviews", func(r *row) string { return whole(r.Pageviews) }},
	{"hits", func(r *row) string { return whole(r.Hits) }}, {"humans", func(r *row) string { return whole(r.Humans) }},
	{"bots", func(r *row) string { return whole(r.Bots) }}, {"events", func(r *row) string { return whole(r.Events) }},
	{"clicks", func(r *row) string { return whole(r.Clicks) }}, {"visits", func(r *row) string { return whole(r.Visits) }},
	{"bounce_rate", func(r *row) string { return average(r.BounceRate) }}, {"views_per_visit", func(r *row) string { return average(r.ViewsPerVisit) }},
	{"visit_seconds", func(r *row) string { return average(r.VisitSeconds) }}, {"engaged_ms", func(r *row) string { return whole(r.EngagedMs) }},
	{"scroll_depth", func(r *row) string { return average(r.ScrollDepth) }},
}

func whole(n int64) string { return strconv.FormatInt(n, 10) }

// average writes a mean; empty where there is nothing to be one of.
func average(mean *float64) string {
	if mean == nil {
		return ""
	}
	return strconv.FormatFloat(*mean, 'f', -1, 64)
}

// writeCSV answers with a table (RFC 4180): a header, and a line for each row. A row that is compared with has none.
func writeCSV(w http.ResponseWriter, doc *document) error {
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8; header=present")
	h.Set("Content-Disposition", `attachment; filename="counts.csv"`)
	h.Set("Cache-Control", "no-store")
	out := csv.NewWriter(w)
	head := []string{}
	if doc.Every != "" {
		head = append(head, "start")
	}
	if doc.By != "" {
		head = append(head, doc.By)
	}
	for _, c := range csvColumns {
		head = append(head, c.name)
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for i := range doc.Rows {
		r := &doc.Rows[i]
		line := []string{}
		if doc.Every != "" {
			start := ""
			if r.Start != nil {
				start = r.Start.Format(time.RFC3339)
			}
			line = append(line, start)
		}
		if doc.By != "" {
			line = append(line, plainCell(r.Key))
		}
		for _, c := range csvColumns {
			line = append(line, c.value(r))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// plainCell keeps spreadsheets from taking text for a formula: visitors choose addresses and names. A cell that begins like one gets an
// apostrophe in front, which spreadsheets do not show; so does one that begins with an apostrophe, so that taking one away gives the text back.
func plainCell(text string) string {
	if text == "" {
		return text
	}
	switch text[0] {
	case '=', '+', '-', '@', '\t', '\r', '\n', '\'':
		return "'" + text
	}
	return text
}
