package zone

import (
	"fmt"
	"math"
	"sort"
	"sync"
	"time"
	_ "time/tzdata" // used only where the machine has no time zone database
)

// Zone knows the offsets of one time zone and cuts time into its windows.
type Zone struct {
	name    string
	loc     *time.Location
	periods []period
}

// period is a stretch of time with one offset. Neighbours differ in their offset.
type period struct {
	start     int64 // seconds since 1970; the first period reaches back for ever
	end       int64 // the last period reaches on for ever
	offset    int64
	firstHour int64 // index of the hour window that begins or is cut at start
	dayBefore int64 // the latest date that was seen before start
}

// The offsets are listed between these years; what is outside goes by the first and last offset of the list. No counted time is
// before 1990 or ahead of its receipt.
const (
	firstYear = 1970
	lastYear  = 2100
)

// UTC is the zone of minutes.
var UTC = build("UTC", time.UTC)

var loaded sync.Map // name -> *Zone; bounded by the number of names in the database

// Load returns the zone of an IANA name. Old names (US/Eastern, Asia/Calcutta) are accepted.
func Load(name string) (*Zone, error) {
	if z, ok := loaded.Load(name); ok {
		return z.(*Zone), nil
	}
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("time zone %q: want a name such as Europe/Berlin", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: %w", name, err)
	}
	z, _ := loaded.LoadOrStore(name, build(name, loc))
	return z.(*Zone), nil
}

// Name returns the name that the zone was loaded by.
func (z *Zone) Name() string { return z.name }

// Location returns the zone as the time package knows it.
func (z *Zone) Location() *time.Location { return z.loc }

func build(name string, loc *time.Location) *Zone {
	z := &Zone{name: name, loc: loc}
	last := time.Date(lastYear, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC); at.Before(last); {
		_, offset := at.In(loc).Zone()
		_, end := at.In(loc).ZoneBounds()
		if !end.IsZero() && !end.After(at) {
			// On the last day of a leap year, where a rule goes on beyond the list, package time gives a bound in the past. Look again
			// later: stretches with one offset are joined below, and no zone moves its clocks on that day.
			end = at.Add(24 * time.Hour)
		}
		p := period{start: at.Unix(), end: math.MaxInt64 / 4, offset: int64(offset)}
		if !end.IsZero() && end.Before(last) {
			p.end = end.Unix()
		}
		if n := len(z.periods); n > 0 && z.periods[n-1].offset == p.offset {
			z.periods[n-1].end = p.end // only the name of the zone changed
		} else {
			z.periods = append(z.periods, p)
		}
		if end.IsZero() {
			break
		}
		at = end
	}
	z.number()
	return z
}

// number counts the hour windows up to each period and notes the latest date before it.
func (z *Zone) number() {
	z.periods[0].dayBefore = math.MinInt64
	z.periods[0].firstHour = z.periods[0].localHour(z.periods[0].start)
	for i := 1; i < len(z.periods); i++ {
		before, p := &z.periods[i-1], &z.periods[i]
		p.firstHour = before.hourIndex(before.end-1) + 1
		p.dayBefore = max(before.dayBefore, before.localDay(before.end-1))
	}
}

func (p *period) localHour(unix int64) int64 { return floorDiv(unix+p.offset, 3600) }
func (p *period) localDay(unix int64) int64  { return floorDiv(unix+p.offset, 86400) }

func (p *period) hourIndex(unix int64) int64 {
	return p.firstHour + p.localHour(unix) - p.localHour(p.start)
}

// at returns the period that a moment lies in, and its number.
func (z *Zone) at(unix int64) (*period, int) {
	if n := len(z.periods) - 1; unix >= z.periods[n].start {
		return &z.periods[n], n
	}
	i := sort.Search(len(z.periods), func(i int) bool { return z.periods[i].end > unix })
	return &z.periods[i], i
}

// Index returns the number of the window that a moment lies in. It is cheaper than Window.
func (z *Zone) Index(unit Unit, unix int64) int64 {
	switch unit {
	case Minute:
		return floorDiv(unix, 60)
	case Hour:
		p, _ := z.at(unix)
		return p.hourIndex(unix)
	case Day:
		return z.dayIndex(unix)
	case Month:
		return monthOf(z.dayIndex(unix))
	case Week:
		return floorDiv(z.dayIndex(unix)-firstMonday, 7)
	case Sunday:
		return floorDiv(z.dayIndex(unix)-firstSunday, 7)
	case Year:
		return floorDiv(monthOf(z.dayIndex(unix)), 12)
	default:
		panic("BUG: no such unit of time")
	}
}

// Window returns the window that a moment lies in.
func (z *Zone) Window(unit Unit, unix int64) Window {
	index := z.Index(unit, unix)
	w := Window{Unit: unit, Index: index}
	switch unit {
	case Minute:
		w.Start, w.End = index*60, index*60+60
		return w // minutes are UTC, whatever the zone
	case Hour:
		w.Start, w.End = z.hourBounds(unix)
	case Day:
		w.Start, w.End = z.dayStart(index), z.dayStart(index+1)
	case Month:
		w.Start, w.End = z.dayStart(firstDay(index)), z.dayStart(firstDay(index+1))
	case Week:
		w.Start, w.End = z.dayStart(index*7+firstMonday), z.dayStart(index*7+firstMonday+7)
	case Sunday:
		w.Start, w.End = z.dayStart(index*7+firstSunday), z.dayStart(index*7+firstSunday+7)
	case Year:
		w.Start, w.End = z.dayStart(firstDay(index*12)), z.dayStart(firstDay(index*12+12))
	}
	p, _ := z.at(w.Start)
	w.Offset = int(p.offset)
	return w
}

// Next returns the window that follows w.
func (z *Zone) Next(w Window) Window { return z.Window(w.Unit, w.End) }

// Date returns the first moment of a date of the zone, in seconds since 1970. For a date that the zone skipped it is the first moment
// of the date after.
func (z *Zone) Date(year int, month time.Month, day int) int64 {
	return z.dayStart(floorDiv(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix(), 86400))
}

func (z *Zone) hourBounds(unix int64) (start, end int64) {
	p, i := z.at(unix)
	start = p.localHour(unix)*3600 - p.offset
	end = start + 3600
	if i > 0 {
		start = max(start, p.start)
	}
	return start, min(end, p.end)
}

// dayIndex returns the date as days since 1970, or the latest date that has begun before where clocks went back across midnight.
func (z *Zone) dayIndex(unix int64) int64 {
	p, _ := z.at(unix)
	return max(p.localDay(unix), p.dayBefore)
}

// dayStart returns the first moment of a day: dayIndex never falls, so it is found by bisection. Dates are within a day and a half of
// UTC's.
func (z *Zone) dayStart(day int64) int64 {
	from := day*86400 - 36*3600
	n := sort.Search(72*3600, func(i int) bool { return z.dayIndex(from+int64(i)) >= day })
	return from + int64(n)
}

// Days since 1970 of the first Monday and the first Sunday; 1 January was a Thursday.
const (
	firstMonday = 4
	firstSunday = 3
)

// monthOf returns the number of the month that a day lies in: months since January of the year 0.
func monthOf(day int64) int64 {
	y, m, _ := time.Unix(day*86400, 0).UTC().Date()
	return int64(y)*12 + int64(m) - 1
}

// firstDay returns the first day of a month.
func firstDay(month int64) int64 {
	y, m := floorDiv(month, 12), month-floorDiv(month, 12)*12
	return floorDiv(time.Date(int(y), time.Month(m+1), 1, 0, 0, 0, 0, time.UTC).Unix(), 86400)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
