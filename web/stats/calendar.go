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
	default:
		return 30 * 24 * time.Hour
	}
}
