package stats

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-analytics/weir/rollup"
	"github.com/weir-analytics/weir/rollup/zone"
	"github.com/weir-analytics/weir/web/reply"
)

const (
	maxRows      = 100_000   // of one answer, about 20 MB of JSON; 69 days by minute
	maxWindows   = 1_100_000 // that one answer looks at, two years by minute
	defaultLimit = 1000      // of a breakdown
	maxLinkBytes = 1024      // as long as ingest keeps them
)

var dimensions = rollup.Reports()

// params are the parameters of a question about counts. A zero From or To was left out.
type params struct {
	by    string
	every zone.Unit // 0 is the whole range
	from  time.Time
	to    time.Time // excluded
	link  string
	limit int
	zero  bool

	sunday  bool   // weeks begin on Sunday
	compare string // with which range; empty: with none
}

// everyName returns the word for every, "" for the whole range.
func (p params) everyName() string {
	if p.every == 0 {
		return ""
	}
	return p.every.String()
}

// parseParams reads the parameters, with days of cal. Errors name the parameter.
func parseParams(query url.Values, cal calendar, now time.Time) (params, error) {
	var p params
	// In the order in which a reader looks at them, so that the same wrong question gets the same error each time.
	known := []struct {
		name  string
		parse func(value string) error
	}{
		{"week_starts", func(v string) error { return p.parseWeekStarts(v) }},
		{"by", func(v string) error { return p.parseBy(v) }},
		{"every", func(v string) error { return p.parseEvery(v) }},
		{"from", func(v string) (err error) { p.from, err = parseTime("from", v, cal, 0); return err }},
		{"to", func(v string) (err error) { p.to, err = parseTime("to", v, cal, 1); return err }},
		{"last", func(v string) error { return p.parseLast(v, cal, now) }},
		{"period", func(v string) error { return p.parsePeriod(v, cal, now) }},
		{"compare", func(v string) error { return p.parseCompare(v) }},
		{"link", func(v string) error { return p.parseLink(v) }},
		{"limit", func(v string) error { return p.parseLimit(v) }},
		{"zero", func(v string) error { return p.parseZero(v) }},
		{"format", parseFormat},
	}
	var names []string
	for _, one := range known {
		names = append(names, one.name)
		values := query[one.name]
		if len(values) > 1 {
			return params{}, reply.Invalid(one.name, "%s is given %d times, want it once", one.name, len(values))
		}
		if len(values) == 0 || values[0] == "" {
			continue
		}
		if err := one.parse(values[0]); err != nil {
			return params{}, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(names, name) {
			return params{}, reply.Invalid(name, "there is no parameter %.80q, want any of: %s", name, strings.Join(names, ", "))
		}
	}
	return p, p.check(query)
}

// check looks at parameters that depend on each other.
func (p *params) check(query url.Values) error {
	switch {
	case query.Get("last") != "" && (query.Get("from") != "" || query.Get("to") != ""):
		return reply.Invalid("last", "last does not go together with from and to")
	case query.Get("period") != "" && (query.Get("from") != "" || query.Get("to") != "" || query.Get("last") != ""):
		return reply.Invalid("period", "period does not go together with last, from and to")
	case p.compare != "" && p.from.IsZero():
		return reply.Invalid("compare", "compare needs a range: give period, last or from")
	case p.compare != "" && p.by != "" && p.every != 0:
		return reply.Invalid("compare", "compare goes with by or with every, not with both")
	case !p.from.IsZero() && !p.to.IsZero() && !p.from.Before(p.to):
		return reply.Invalid("to", "to (%s) is not after from (%s)", query.Get("to"), query.Get("from"))
	case p.zero && (p.every == 0 || p.by != ""):
		return reply.Invalid("zero", "zero=1 needs every and goes without by")
	case p.by == "link" && p.link != "":
		return reply.Invalid("link", "link does not go together with by=link")
	case p.link != "" && p.by != "" && !slices.Contains(rollup.LinkReports(), p.by):
		return reply.Invalid("by", "a short link has no report %s, want by as one of: %s", p.by, strings.Join(rollup.LinkReports(), ", "))
	}
	if p.limit == 0 {
		p.limit = maxRows
		if p.by != "" {
			p.limit = defaultLimit
		}
	}
	return nil
}

func (p *params) parseBy(value string) error {
	if !slices.Contains(dimensions, value) {
		return reply.Invalid("by", "by is %.80q, want one of: %s", value, strings.Join(dimensions, ", "))
	}
	p.by = value
	return nil
}

func (p *params) parseEvery(value string) error {
	unit, err := zone.ParseUnit(value)
	if err != nil {
		return reply.Invalid("every", "every is %.80q, want one of: minute, hour, day, week, month, year", value)
	}
	p.every = p.weekUnit(unit)
	return nil
}

func (p *params) parseLink(value string) error {
	if len(value) > maxLinkBytes || !utf8.ValidString(value) {
		return reply.Invalid("link", "link is not the id of a short link: want valid UTF-8 of at most %d bytes", maxLinkBytes)
	}
	p.link = value
	return nil
}

func (p *params) parseLimit(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxRows {
		return reply.Invalid("limit", "limit is %.80q, want a number from 1 to %d", value, maxRows)
	}
	p.limit = n
	return nil
}

// parseFormat checks the form of the answer, which whoever writes it looks at.
func parseFormat(value string) error {
	if value != "json" && value != "csv" {
		return reply.Invalid("format", "format is %.80q, want json or csv", value)
	}
	return nil
}

func (p *params) parseZero(value string) error {
	switch value {
	case "1", "true":
		p.zero = true
	case "0", "false":
	default:
		return reply.Invalid("zero", "zero is %.80q, want 0 or 1", value)
	}
	return nil
}

// lastUnits are the suffixes of "last" with the most that may be asked for: a week of minutes, a year of hours, ten years of days or months.
var lastUnits = []struct {
	suffix string
	unit   zone.Unit
	most   int
}{{"mo", zone.Month, 120}, {"m", zone.Minute, 10_080}, {"h", zone.Hour, 8_784}, {"d", zone.Day, 3_660}}

// parseLast reads a window such as 48h that ends with the bucket being filled.
func (p *params) parseLast(value string, cal calendar, now time.Time) error {
	for _, one := range lastUnits {
		number, ok := strings.CutSuffix(value, one.suffix)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > one.most {
			break
		}
		p.from, p.to = cal.last(n, one.unit, now)
		return nil
	}
	return reply.Invalid("last", "last is %.80q, want 1m to 10080m, 1h to 8784h, 1d to 3660d or 1mo to 120mo", value)
}

// parseTime reads a day of the site or an instant. addDays is 1 for a day that is included to its end.
func parseTime(name, value string, cal calendar, addDays int) (time.Time, error) {
	var t time.Time
	if day, err := time.Parse(time.DateOnly, value); err == nil {
		y, m, d := day.Date()
		t = cal.day(y, m, d+addDays)
	} else if t, err = time.Parse(time.RFC3339, strings.Replace(value, " ", "+", 1)); err != nil { // a + that nobody escaped arrives as a space
		return time.Time{}, reply.Invalid(name, "%s is %.80q, want a day such as 2026-03-01 or an instant such as 2026-03-01T09:00:00Z", name, value)
	}
	if t.Year() < 1970 || t.Year() > 2200 {
		return time.Time{}, reply.Invalid(name, "%s is %.80q, want a year from 1970 to 2200", name, value)
	}
	return cal.time(t.Unix()).Add(time.Duration(t.Nanosecond())), nil
}
