package stats

import (
	"time"

	"github.com/weir-analytics/weir/rollup/zone"
)

// calendar cuts time the way the counts are cut, and speaks in times.
type calendar struct{ zone *zone.Zone }

func loadCalendar(name string) (calendar, error) {
	z, err := zone.Load(name)
	return calendar{z}, err
}

// window returns the beginning and the end of the window that t is in.
func (c calendar) window(unit zone.Unit, t time.Time) (start, end time.Time) {
	w := c.zone.Window(unit, t.Unix())
	return c.time(w.Start), c.time(w.End)
}

// last returns the range of the n windows that end with the one that t is in.
func (c calendar) last(n int, unit zone.Unit, t time.Time) (from, to time.Time) {
	w := c.zone.Window(unit, t.Unix())
	end := w.End
	for range n - 1 {
		w = c.zone.Window(unit, w.Start-1)
	}
	return c.time(w.Start), c.time(end)
}

// day returns the first moment of a date, which need not be midnight. Days above the end of a month are those of the next.
func (c calendar) day(year int, month time.Month, day int) time.Time {
	return c.time(c.zone.Date(year, month, day))
}

// startsDay says whether t is the first moment of a day.
func (c calendar) startsDay(t time.Time) bool {
	start, _ := c.window(zone.Day, t)
	return start.Equal(t)
}

// days returns how many days lie between the first moments of two.
func (c calendar) days(from, to time.Time) int {
	date := func(t time.Time) time.Time {
		y, m, d := t.In(c.zone.Location()).Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	return int(date(to).Sub(date(from)) / (24 * time.Hour))
}

// addDays returns the same time of the clock some days later; of the first moment of a day the first moment of the other.
func (c calendar) addDays(t time.Time, days int) time.Time {
	y, m, d := t.In(c.zone.Location()).Date()
	return c.onDate(t, y, m, d+days)
}

// addMonths returns the same time of the clock some months later, on the last day of the month when that has fewer days.
func (c calendar) addMonths(t time.Time, months int) time.Time {
	y, m, d := t.In(c.zone.Location()).Date()
	last := time.Date(y, m+time.Month(months)+1, 0, 0, 0, 0, 0, time.UTC)
	return c.onDate(t, last.Year(), last.Month(), min(d, last.Day()))
}

func (c calendar) onDate(t time.Time, year int, month time.Month, day int) time.Time {
	if c.startsDay(t) {
		return c.day(year, month, day)
	}
	h, m, s := t.In(c.zone.Location()).Clock()
	return time.Date(year, month, day, h, m, s, 0, c.zone.Location())
}

func (c calendar) time(unix int64) time.Time { return time.Unix(unix, 0).In(c.zone.Location()) }

// typical is how long most windows of a unit are. Real days and months are up to a tenth longer or shorter.
func typical(unit zone.Unit) time.Duration {
	switch unit {
	case zone.Minute:
		return time.Minute
	case zone.Hour:
		return time.Hour
	case zone.Day:
		return 24 * time.Hour
	case zone.Week, zone.Sunday:
		return 7 * 24 * time.Hour
	case zone.Year:
		return 365 * 24 * time.Hour
	default:
		return 30 * 24 * time.Hour
	}
}
