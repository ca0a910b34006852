package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-analytics/weir/rollup"
)

type countsDoc struct {
	Site        string     `json:"site"`
	Timezone    string     `json:"timezone"`
	From        *time.Time `json:"from"`
	To          *time.Time `json:"to"`
	By          string     `json:"by"`
	Every       string     `json:"every"`
	CompleteTo  *time.Time `json:"complete_to"`
	VisitorsAre string     `json:"visitors_are"`
	Truncated   bool       `json:"truncated"`
	Rows        []countRow `json:"rows"`
	Compare     *countsDoc `json:"compare"`
}

type countRow struct {
	Key       string    `json:"key"`
	Start     time.Time `json:"start"`
	Visitors  int64     `json:"visitors"`
	Pageviews int64     `json:"pageviews"`
	Hits      int64     `json:"hits"`
	Humans    int64     `json:"humans"`
	Bots      int64     `json:"bots"`
	Events    int64     `json:"events"`
	Clicks    int64     `json:"clicks"`
	Visits    int64     `json:"visits"`

	BounceRate    *float64 `json:"bounce_rate"` // absent where there is nothing to be an average of
	ViewsPerVisit *float64 `json:"views_per_visit"`
	VisitSeconds  *float64 `json:"visit_seconds"`
	EngagedMs     int64    `json:"engaged_ms"`
	ScrollDepth   *float64 `json:"scroll_depth"`
}

var (
	reports     = rollup.Reports()
	buckets     = []string{"minute", "hour", "day", "week", "month", "year"}
	periods     = []string{"today", "yesterday", "week", "last_week", "month", "last_month", "year", "last_year"}
	comparisons = []string{"previous", "year"}
	weekdays    = []string{"monday", "sunday"}
)

type statsFlags struct {
	by, every, from, to, last, link string
	period, compare, weekStarts     string
	limit                           int
	zero, asJSON, asCSV             bool
}

func statsCommand() *cobra.Command {
	var f statsFlags
	c := &cobra.Command{
		Use: "stats SITE", Short: "Print the counts of a site", Args: exactly(1),
		Example: `  weir stats shop.example.com --by country --last 31d
  weir stats shop.example.com --period today --compare previous
  weir stats shop.example.com --every hour --from 2025-10-26 --to 2025-10-26 --json`,
	}
	r := reachFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		query, err := f.query()
		if err != nil {
			return err
		}
		a, err := r.connect()
		if err != nil {
			return err
		}
		if f.asCSV {
			query.Set("format", "csv")
			res, err := a.send(c.Context(), http.MethodGet, sitePath(args[0])+"/counts?"+query.Encode(), nil, nil)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if _, err := io.Copy(c.OutOrStdout(), res.Body); err != nil {
				return fmt.Errorf("read the answer of %s: %w", a.where, err)
			}
			return nil
		}
		var raw json.RawMessage
		if err := a.call(c.Context(), http.MethodGet, sitePath(args[0])+"/counts?"+query.Encode(), nil, &raw); err != nil {
			return err
		}
		if f.asJSON {
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s\n", raw)
			return err
		}
		var doc countsDoc
		if err := json.Unmarshal(raw, &doc); err != nil {
			return fmt.Errorf("read the answer of %s: %w", a.where, err)
		}
		doc.print(c.OutOrStdout())
		return nil
	}
	c.Flags().StringVar(&f.by, "by", "", "one row for each "+strings.Join(reports, ", "))
	c.Flags().StringVar(&f.every, "every", "", "one row for each "+strings.Join(buckets, ", "))
	completeWords(c, "by", reports...)
	completeWords(c, "every", buckets...)
	c.Flags().StringVar(&f.from, "from", "", "begin of the range: a day such as 2025-10-26 in the site's zone, or an instant such as 2025-10-26T09:00:00Z (default: the first hit)")
	c.Flags().StringVar(&f.to, "to", "", "end of the range: a day, included, or an instant, excluded (default: now)")
	c.Flags().StringVar(&f.last, "last", "", "instead of a range: the last 120m, 48h, 31d or 12mo")
	c.Flags().StringVar(&f.period, "period", "", "instead of a range, one of the site's calendar: "+strings.Join(periods, ", "))
	c.Flags().StringVar(&f.compare, "compare", "", "print beside it the range before (previous), or the same dates a year before (year)")
	c.Flags().StringVar(&f.weekStarts, "week-starts", "", "monday (default) or sunday: where weeks begin, of --period and --every")
	completeWords(c, "period", periods...)
	completeWords(c, "compare", comparisons...)
	completeWords(c, "week-starts", weekdays...)
	c.Flags().StringVar(&f.link, "link", "", "only the short link of this id")
	c.Flags().IntVar(&f.limit, "limit", 0, "print at most so many rows, 1 to 100000 (default: 1000 with --by, else all)")
	c.Flags().BoolVar(&f.zero, "zero", false, "with --every: print buckets without hits too")
	c.Flags().BoolVar(&f.asCSV, "csv", false, "print a table for spreadsheets (text that begins like a formula has an apostrophe in front)")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON document: rows of {key, visitors, pageviews, ...} and complete_to")
	c.MarkFlagsMutuallyExclusive("json", "csv")
	return c
}

func (f statsFlags) query() (url.Values, error) {
	q := url.Values{}
	if f.by != "" && !slices.Contains(reports, f.by) {
		return nil, usagef("--by: %q is none of %s", f.by, strings.Join(reports, ", "))
	}
	for _, one := range []struct {
		flag, value string
		words       []string
	}{{"every", f.every, buckets}, {"period", f.period, periods}, {"compare", f.compare, comparisons}, {"week-starts", f.weekStarts, weekdays}} {
		if one.value != "" && !slices.Contains(one.words, one.value) {
			return nil, usagef("--%s: %q is none of %s", one.flag, one.value, strings.Join(one.words, ", "))
		}
	}
	if f.limit < 0 || f.limit > 100000 {
		return nil, usagef("--limit: %d, 1 to 100000 are allowed", f.limit)
	}
	for key, value := range map[string]string{"by": f.by, "every": f.every, "from": f.from, "to": f.to, "last": f.last, "link": f.link,
		"period": f.period, "compare": f.compare, "week_starts": f.weekStarts} {
		if value != "" {
			q.Set(key, value)
		}
	}
	if f.limit > 0 {
		q.Set("limit", strconv.Itoa(f.limit))
	}
	if f.zero {
		q.Set("zero", "1")
	}
	return q, nil
}

// print prints the counts for people. Columns that hold only zeros are left out, beside the first two.
func (d countsDoc) print(w io.Writer) {
	columns := []struct {
		head string
		of   func(countRow) string
		keep bool
	}{
		{"VISITORS", func(r countRow) string { return number(r.Visitors) }, true},
		{"PAGEVIEWS", func(r countRow) string { return number(r.Pageviews) }, true},
		{"EVENTS", func(r countRow) string { return number(r.Events) }, false},
		{"CLICKS", func(r countRow) string { return number(r.Clicks) }, false},
		{"HITS", func(r countRow) string { return number(r.Hits) }, true},
		{"BOTS", func(r countRow) string { return number(r.Bots) }, false},
		{"VISITS", func(r countRow) string { return number(r.Visits) }, false},
		{"VIEWS/VISIT", func(r countRow) string { return mean(r.ViewsPerVisit, 1, "%.1f") }, false},
		{"BOUNCE", func(r countRow) string { return mean(r.BounceRate, 100, "%.0f%%") }, false},
		{"DURATION", func(r countRow) string { return seconds(r.VisitSeconds) }, false},
		{"ENGAGED", func(r countRow) string { return engaged(r.EngagedMs) }, false},
		{"SCROLL", func(r countRow) string { return mean(r.ScrollDepth, 1, "%.0f%%") }, false},
	}
	var t table
	t.head = d.keyHead()
	for i := range columns {
		for _, row := range d.Rows {
			columns[i].keep = columns[i].keep || !slices.Contains([]string{"0", ""}, columns[i].of(row))
		}
		if columns[i].keep {
			t.head = append(t.head, columns[i].head)
		}
	}
	for _, row := range d.Rows {
		cells := d.keyCells(row)
		for _, col := range columns {
			if col.keep {
				cells = append(cells, col.of(row))
			}
		}
		t.add(cells...)
	}
	t.print(w)
	fmt.Fprintln(w)
	fmt.Fprintln(w, d.footer())
	if d.Compare == nil {
		return
	}
	other := *d.Compare
	other.Site, other.Timezone, other.By, other.Every = d.Site, d.Timezone, d.By, d.Every
	fmt.Fprintf(w, "\nCompared with%s:\n\n", d.change(&other))
	other.print(w)
}

// change says how the totals differ from those that they are compared with.
func (d countsDoc) change(other *countsDoc) string {
	if d.By != "" || d.Every != "" || len(d.Rows) != 1 || len(other.Rows) != 1 {
		return ""
	}
	var parts []string
	for _, one := range []struct {
		name     string
		now, was int64
	}{{"visitors", d.Rows[0].Visitors, other.Rows[0].Visitors}, {"visits", d.Rows[0].Visits, other.Rows[0].Visits}, {"page views", d.Rows[0].Pageviews, other.Rows[0].Pageviews}} {
		if one.was > 0 {
			parts = append(parts, fmt.Sprintf("%s %+.0f%%", one.name, 100*float64(one.now-one.was)/float64(one.was)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// mean writes an average, empty where there is none.
func mean(v *float64, times float64, format string) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf(format, *v*times)
}

func seconds(v *float64) string {
	if v == nil {
		return ""
	}
	return (time.Duration(*v) * time.Second).String()
}

func engaged(ms int64) string {
	if ms == 0 {
		return ""
	}
	return (time.Duration(ms) * time.Millisecond).Round(time.Second).String()
}

func (d countsDoc) keyHead() []string {
	var head []string
	if d.Every != "" {
		head = append(head, strings.ToUpper(d.Every))
	}
	if d.By != "" {
		head = append(head, strings.ToUpper(d.By))
	}
	if len(head) == 0 {
		head = append(head, "SITE")
	}
	return head
}

func (d countsDoc) keyCells(row countRow) []string {
	var cells []string
	if d.Every != "" {
		cells = append(cells, d.bucket(row.Start))
	}
	if d.By != "" {
		cells = append(cells, row.Key)
	}
	if len(cells) == 0 {
		cells = append(cells, d.Site)
	}
	return cells
}

// bucket writes the begin of a bucket as short as it is unambiguous. Hours keep their offset: one night a year has the same hour twice.
func (d countsDoc) bucket(start time.Time) string {
	switch d.Every {
	case "year":
		return start.Format("2006")
	case "month":
		return start.Format("2006-01")
	case "day", "week", "week_from_sunday":
		return start.Format(time.DateOnly)
	}
	return start.Format("2006-01-02 15:04 -07:00")
}

func (d countsDoc) footer() string {
	var parts []string
	if d.From != nil && d.To != nil {
		const form = "2006-01-02 15:04"
		parts = append(parts, fmt.Sprintf("%s to %s (%s)", d.From.Format(form), d.To.Format(form), d.Timezone))
	} else {
		parts = append(parts, "no hits yet")
	}
	if d.CompleteTo != nil {
		parts = append(parts, "complete to "+d.CompleteTo.Format(time.RFC3339))
	}
	if d.VisitorsAre == "sum of daily" {
		parts = append(parts, "visitors: sum over days")
	}
	if d.Truncated {
		parts = append(parts, "more rows exist: --limit")
	}
	return strings.Join(parts, "; ")
}
