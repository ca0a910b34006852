package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// auditLine is one line of the answer to an audit: progress, or with Done or Error the last one.
type auditLine struct {
	Error       *apiError         `json:"error"`
	Done        bool              `json:"done"`
	Of          int64             `json:"of"`
	Site        string            `json:"site"`
	Timezone    string            `json:"timezone"`
	From        *time.Time        `json:"from"`
	To          *time.Time        `json:"to"`
	Since       *time.Time        `json:"since"`
	Events      int64             `json:"events"`
	Rows        int64             `json:"rows"`
	Hits        int64             `json:"hits"`
	Pageviews   int64             `json:"pageviews"`
	Visits      int64             `json:"visits"`
	Differences []auditDifference `json:"differences"`
	More        int64             `json:"more"`
}

type auditDifference struct {
	Window    string    `json:"window"`
	Start     time.Time `json:"start"`
	Partition int32     `json:"partition"`
	Report    string    `json:"report"`
	Link      string    `json:"link"`
	Key       string    `json:"key"`
	Measure   string    `json:"measure"`
	Counted   int64     `json:"counted"`
	Recounted int64     `json:"recounted"`
}

// errDifferent is returned when counts differ from the log; its text is printed by the caller.
var errDifferent = errors.New("the counts differ from the raw log; keep both, and report what is shown here")

func auditCommand() *cobra.Command {
	var from, to, last, period string
	var asJSON bool
	c := &cobra.Command{
		Use: "audit SITE [DAY]", Short: "Recount a site from the raw log and compare", Args: cobra.RangeArgs(1, 2),
		Long: `Recount a site from the raw events, by the rules of counting, and compare every row of every report, by minute, hour and day, with what is
counted. The exit code is 0 when nothing differs and 1 when anything does. It reads the whole log, while the node goes on.
What was deleted from the log can't be recounted: it says from when on it compared.`,
		Example: `  weir audit shop.example.com 2025-10-26
  weir audit shop.example.com --from 2025-10-26T09:00:00Z --to 2025-10-26T10:00:00Z`,
	}
	r := reachFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		q := url.Values{}
		for key, value := range map[string]string{"from": from, "to": to, "last": last, "period": period} {
			if value != "" {
				q.Set(key, value)
			}
		}
		if len(args) == 2 {
			if len(q) > 0 {
				return usagef("a DAY does not go together with --from, --to, --last and --period")
			}
			q.Set("from", args[1])
			q.Set("to", args[1])
		}
		a, err := r.connect()
		if err != nil {
			return err
		}
		line, raw, err := runAudit(c.Context(), a, sitePath(args[0])+"/audit?"+q.Encode(), c.ErrOrStderr())
		if err != nil {
			return err
		}
		if asJSON {
			fmt.Fprintf(c.OutOrStdout(), "%s\n", raw)
		} else {
			line.print(c.OutOrStdout())
		}
		if len(line.Differences) > 0 {
			return errDifferent
		}
		return nil
	}
	c.Flags().StringVar(&from, "from", "", "begin of the range: a day such as 2025-10-26 in the site's zone, or an instant (default: the first hit)")
	c.Flags().StringVar(&to, "to", "", "end of the range: a day, included, or an instant, excluded (default: now)")
	c.Flags().StringVar(&last, "last", "", "instead of a range: the last 120m, 48h, 31d or 12mo")
	c.Flags().StringVar(&period, "period", "", "instead of a range, one of the site's calendar, such as yesterday")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

// runAudit asks for an audit, shows how far it is, and returns the last line.
func runAudit(ctx context.Context, a *api, path string, progress io.Writer) (auditLine, []byte, error) {
	res, err := a.send(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return auditLine{}, nil, err
	}
	defer res.Body.Close()
	terminal := isTerminal(progress)
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var line auditLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return line, nil, fmt.Errorf("read the answer: %w", err)
		}
		switch {
		case line.Error != nil:
			return line, nil, line.Error
		case line.Done:
			if terminal {
				fmt.Fprint(progress, clearLine)
			}
			return line, lines.Bytes(), nil
		case terminal && line.Of > 0:
			fmt.Fprintf(progress, clearLine+"%d of %d events, %d %%", line.Events, line.Of, 100*line.Events/line.Of)
		}
	}
	err = lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return auditLine{}, nil, fmt.Errorf("the node went away before the end: %w", err)
}

func (l auditLine) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %d rows compared, recounted from %d events: %d hits, %d page views, %d visits\n", printable(l.Site), l.Rows, l.Events, l.Hits, l.Pageviews, l.Visits)
	if l.Since != nil {
		fmt.Fprintf(w, "  only since %s: what is older is no longer in the log\n", l.Since.Format(time.RFC3339))
	}
	if len(l.Differences) == 0 {
		fmt.Fprintln(w, "  nothing differs")
		return
	}
	var t table
	t.head = []string{"WINDOW", "START", "PARTITION", "REPORT", "KEY", "MEASURE", "COUNTED", "RECOUNTED"}
	for _, d := range l.Differences {
		report := d.Report
		if d.Link != "" {
			report += " of " + d.Link
		}
		t.add(d.Window, d.Start.Format(time.RFC3339), fmt.Sprint(d.Partition), printable(report), printable(d.Key), d.Measure, fmt.Sprint(d.Counted), fmt.Sprint(d.Recounted))
	}
	t.print(w)
	if l.More > 0 {
		fmt.Fprintf(w, "and %d more\n", l.More)
	}
}
