package stats

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weir-analytics/weir/rollup/zone"
	"github.com/weir-analytics/weir/web/reply"
)

// now is in the first of the two hours called 02:00 of an autumn night in Berlin.
var now = time.Date(2025, 10, 26, 0, 30, 15, 0, time.UTC)

func berlin(t testing.TB) calendar { return cal(t, "Europe/Berlin") }

func cal(t testing.TB, name string) calendar {
	t.Helper()
	c, err := loadCalendar(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTimesOfTheRange(t *testing.T) {
	cases := []struct{ name, zone, query, from, to string }{
		{"a day", "Europe/Berlin", "from=2026-03-01&to=2026-03-01", "2026-03-01T00:00:00+01:00", "2026-03-02T00:00:00+01:00"},
		{"23 hours", "Europe/Berlin", "from=2025-03-30&to=2025-03-30", "2025-03-30T00:00:00+01:00", "2025-03-31T00:00:00+02:00"},
		{"25 hours", "Europe/Berlin", "from=2025-10-26&to=2025-10-26", "2025-10-26T00:00:00+02:00", "2025-10-27T00:00:00+01:00"},
		{"no midnight", "America/Sao_Paulo", "from=2017-10-15&to=2017-10-15", "2017-10-15T01:00:00-02:00", "2017-10-16T00:00:00-02:00"},
		{"half-hour zone", "Asia/Kolkata", "from=2026-03-01&to=2026-03-01", "2026-03-01T00:00:00+05:30", "2026-03-02T00:00:00+05:30"},
		{"end of February", "UTC", "from=2024-02-29&to=2024-02-29", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"},
		{"instants", "UTC", "from=2026-03-01T09:00:00Z&to=2026-03-01T10:00:00.5%2B00:00", "2026-03-01T09:00:00Z", "2026-03-01T10:00:00.5Z"},
		{"a plus that was not escaped", "Europe/Berlin", "from=2026-03-01T09:00:00+01:00", "2026-03-01T09:00:00+01:00", ""},
		{"minutes", "Europe/Berlin", "last=120m", "2025-10-26T00:31:00+02:00", "2025-10-26T02:31:00+02:00"},
		{"hours over the change", "Europe/Berlin", "last=48h", "2025-10-24T03:00:00+02:00", "2025-10-26T02:00:00+01:00"},
		{"hours of a half-hour zone", "Asia/Kolkata", "last=1h", "2025-10-26T06:00:00+05:30", "2025-10-26T07:00:00+05:30"},
		{"days", "Europe/Berlin", "last=2d", "2025-10-25T00:00:00+02:00", "2025-10-27T00:00:00+01:00"},
		{"months", "Europe/Berlin", "last=12mo", "2024-11-01T00:00:00+01:00", "2025-11-01T00:00:00+01:00"},
		{"today in the night of 25 hours", "Europe/Berlin", "period=today", "2025-10-26T00:00:00+02:00", "2025-10-27T00:00:00+01:00"},
		{"today of a zone ahead", "Asia/Kathmandu", "period=today", "2025-10-26T00:00:00+05:45", "2025-10-27T00:00:00+05:45"},
		{"today of a zone behind", "America/New_York", "period=today", "2025-10-25T00:00:00-04:00", "2025-10-26T00:00:00-04:00"},     // B050
		{"yesterday of a zone ahead", "Asia/Shanghai", "period=yesterday", "2025-10-25T00:00:00+08:00", "2025-10-26T00:00:00+08:00"}, // B050
		{"the week of a Sunday", "Europe/Berlin", "period=week", "2025-10-20T00:00:00+02:00", "2025-10-27T00:00:00+01:00"},           // B051
		{"a week from Sunday", "Europe/Berlin", "period=week&week_starts=sunday", "2025-10-26T00:00:00+02:00", "2025-11-02T00:00:00+01:00"},
		{"the week before", "Europe/Berlin", "period=last_week", "2025-10-13T00:00:00+02:00", "2025-10-20T00:00:00+02:00"},
		{"month", "Europe/Berlin", "period=month", "2025-10-01T00:00:00+02:00", "2025-11-01T00:00:00+01:00"},
		{"the month before", "Europe/Berlin", "period=last_month", "2025-09-01T00:00:00+02:00", "2025-10-01T00:00:00+02:00"},
		{"year", "Australia/Lord_Howe", "period=year", "2025-01-01T00:00:00+11:00", "2026-01-01T00:00:00+11:00"},
		{"the year before", "UTC", "period=last_year", "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
		{"nothing", "UTC", "", "", ""},
	}
	for _, c := range cases {
		query, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parseParams(query, cal(t, c.zone), now)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := show(p.from); got != c.from {
			t.Errorf("%s: from %s, want %s", c.name, got, c.from)
		}
		if got := show(p.to); got != c.to {
			t.Errorf("%s: to %s, want %s", c.name, got, c.to)
		}
	}
}

func TestRangesThatAreComparedWith(t *testing.T) {
	for _, c := range []struct{ name, zone, query, from, to string }{
		{"the day before, of 24 hours, as far as it was", "Europe/Berlin", "period=today&compare=previous", "2025-10-25T00:00:00+02:00", "2025-10-25T02:30:15+02:00"},
		{"a series, whole", "Europe/Berlin", "period=today&compare=previous&every=hour", "2025-10-25T00:00:00+02:00", "2025-10-26T00:00:00+02:00"},
		{"what is over, whole", "Europe/Berlin", "from=2025-10-25&to=2025-10-25&compare=previous", "2025-10-24T00:00:00+02:00", "2025-10-25T00:00:00+02:00"},
		{"the day after 25 hours", "Europe/Berlin", "from=2025-10-27&to=2025-10-27&compare=previous", "2025-10-26T00:00:00+02:00", "2025-10-27T00:00:00+01:00"},
		{"a week", "Europe/Berlin", "from=2025-04-01&to=2025-04-07&compare=previous", "2025-03-25T00:00:00+01:00", "2025-04-01T00:00:00+02:00"},
		{"a month is compared with a month", "Europe/Berlin", "from=2025-03-01&to=2025-03-31&compare=previous", "2025-02-01T00:00:00+01:00", "2025-03-01T00:00:00+01:00"},
		{"months", "UTC", "last=3mo&compare=previous&every=month", "2025-05-01T00:00:00Z", "2025-08-01T00:00:00Z"},
		{"hours over the change, by their number", "Europe/Berlin", "last=48h&compare=previous&every=hour", "2025-10-22T03:00:00+02:00", "2025-10-24T03:00:00+02:00"},
		{"minutes", "UTC", "last=1m&compare=previous&every=minute", "2025-10-26T00:29:00Z", "2025-10-26T00:30:00Z"},
		{"last year, by date", "Europe/Berlin", "from=2025-10-24&to=2025-10-25&compare=year", "2024-10-24T00:00:00+02:00", "2024-10-26T00:00:00+02:00"},
		{"last year of a leap day", "UTC", "from=2024-02-29&to=2024-02-29&compare=year", "2023-02-28T00:00:00Z", "2023-03-01T00:00:00Z"},
		{"last year of the day before", "UTC", "from=2024-02-28&to=2024-02-28&compare=year", "2023-02-28T00:00:00Z", "2023-03-01T00:00:00Z"},
		{"a year before", "UTC", "period=last_year&compare=year", "2023-01-01T00:00:00Z", "2024-01-01T00:00:00Z"},
		{"a half-hour zone", "Asia/Kolkata", "last=1h&compare=previous&every=hour", "2025-10-26T05:00:00+05:30", "2025-10-26T06:00:00+05:30"},
		{"as far as it was, a year ago", "UTC", "period=month&compare=year", "2024-10-01T00:00:00Z", "2024-10-26T00:30:15Z"},
	} {
		query, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		calendar := cal(t, c.zone)
		p, err := parseParams(query, calendar, now)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		from, to := p.compared(calendar, now)
		if from, to = from.In(calendar.zone.Location()), to.In(calendar.zone.Location()); show(from) != c.from || show(to) != c.to {
			t.Errorf("%s: %s to %s, want %s to %s", c.name, show(from), show(to), c.from, c.to)
		}
	}
}

func show(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

func TestWrongParametersAreNamed(t *testing.T) {
	cases := []struct{ query, field, says string }{
		{"by=colour", "by", "country, browser, os, device, page, entry, exit, referrer, link"},
		{"every=weekly", "every", "minute, hour, day, week, month, year"},
		{"from=yesterday", "from", "2026-03-01"},
		{"from=2026-02-30", "from", "2026-03-01"},
		{"to=2026-03-01T09:00", "to", "2026-03-01T09:00:00Z"},
		{"from=0001-01-01", "from", "1970 to 2200"},
		{"to=9999-12-31", "to", "1970 to 2200"},
		{"from=2026-03-02&to=2026-03-01", "to", "not after from"},
		{"from=2026-03-01T09:00:00Z&to=2026-03-01T09:00:00Z", "to", "not after from"},
		{"last=5w", "last", "1m to 10080m"}, {"last=0h", "last", "1h to 8784h"}, {"last=10081m", "last", "10080m"}, {"last=-1d", "last", "1d"}, {"last=mo", "last", "1mo"},
		{"last=2h&from=2026-03-01", "last", "does not go together"},
		{"limit=0", "limit", "1 to 100000"}, {"limit=ten", "limit", "1 to 100000"}, {"limit=100001", "limit", "1 to 100000"},
		{"zero=yes&every=day", "zero", "0 or 1"}, {"zero=1", "zero", "needs every"}, {"zero=1&every=day&by=os", "zero", "without by"},
		{"link=" + strings.Repeat("x", 1025), "link", "1024 bytes"}, {"link=%ff", "link", "UTF-8"}, {"link=a&by=link", "link", "by=link"}, {"link=a&by=page", "by", "no report page"},
		{"form=2026-03-01", "form", "by, every, from, to, last, period, compare, link, limit, zero"},
		{"by=os&by=page", "by", "2 times"},
	}
	for _, c := range cases {
		query, _ := url.ParseQuery(c.query)
		_, err := parseParams(query, berlin(t), now)
		var e *reply.Error
		if !errors.As(err, &e) || e.Code != "invalid" || e.Field != c.field || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %v (%+v), want %s to be invalid and %q", c.query, err, e, c.field, c.says)
		}
	}
}

// FuzzParseParams: no query panics, takes long or gives an error that is not meant for the client; what is accepted is within its bounds.
func FuzzParseParams(f *testing.F) {
	for _, seed := range []string{"", "by=country&from=2026-03-01&to=2026-03-07", "every=minute&last=120m&zero=1", "last=12mo", "from=2026-03-01T09:00:00+01:00", "limit=5&link=%ff", "to=2200-12-31"} {
		f.Add(seed)
	}
	zones := []calendar{cal(f, "Europe/Berlin"), cal(f, "Australia/Lord_Howe"), cal(f, "Pacific/Apia")}
	f.Fuzz(func(t *testing.T, text string) {
		query, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		for _, cal := range zones {
			p, err := parseParams(query, cal, now)
			if err != nil {
				if e := reply.From(err); e.Status != 400 || e.Message == "" || e.Field == "" && !query.Has("") || !utf8.ValidString(e.Message) {
					t.Fatalf("%q: %+v", text, e)
				}
				continue
			}
			if !p.from.IsZero() && !p.to.IsZero() && !p.from.Before(p.to) {
				t.Fatalf("%q: from %s is not before to %s", text, p.from, p.to)
			}
			if p.limit < 1 || p.limit > maxRows || len(p.link) > maxLinkBytes {
				t.Fatalf("%q: out of bounds: %+v", text, p)
			}
		}
	})
}

func TestZeroFill(t *testing.T) {
	cases := []struct {
		zone, from, to string
		unit           zone.Unit
		want           int
	}{
		{"Europe/Berlin", "2025-03-30", "2025-03-30", zone.Hour, 23},
		{"Europe/Berlin", "2025-10-26", "2025-10-26", zone.Hour, 25},
		{"Europe/Berlin", "2025-10-26", "2025-10-26", zone.Minute, 25 * 60},
		{"Europe/Berlin", "2025-10-01", "2025-10-31", zone.Day, 31},
		{"Europe/Berlin", "2025-01-01", "2025-12-31", zone.Month, 12},
		{"Asia/Kolkata", "2025-10-26", "2025-10-26", zone.Hour, 24},
		{"Pacific/Apia", "2011-12-28", "2011-12-31", zone.Day, 3}, // the 30th never was
	}
	for _, c := range cases {
		cal := cal(t, c.zone)
		from, _ := parseTime("from", c.from, cal, 0)
		to, _ := parseTime("to", c.to, cal, 1)
		rows := fillZeros(nil, cal, c.unit, from, to)
		if len(rows) != c.want {
			t.Errorf("%s %s to %s by %s: %d rows, want %d", c.zone, c.from, c.to, c.unit, len(rows), c.want)
		}
		if !rows[0].Start.Equal(from) {
			t.Errorf("%s: first row at %s, want %s", c.zone, rows[0].Start, from)
		}
		// Fill again with rows at every third place and one off the grid: nothing is lost and nothing comes twice.
		var some []Row
		var sum int64
		for i, row := range rows {
			if i%3 == 0 {
				row.Hits = int64(i + 1)
				sum += row.Hits
				some = append(some, row)
			}
		}
		some = append(some, Row{Start: from.Add(7 * time.Second), Hits: 1000})
		again := fillZeros(some, cal, c.unit, from, to)
		if len(again) != c.want+1 {
			t.Errorf("%s by %s: %d rows after filling, want %d", c.zone, c.unit, len(again), c.want+1)
		}
		for i, row := range again {
			sum -= row.Hits
			if i > 0 && !again[i-1].Start.Before(row.Start) {
				t.Errorf("%s by %s: %s after %s", c.zone, c.unit, row.Start, again[i-1].Start)
			}
		}
		if sum != -1000 {
			t.Errorf("%s by %s: %d hits lost", c.zone, c.unit, sum+1000)
		}
	}
}
