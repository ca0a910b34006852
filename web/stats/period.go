package stats

import (
	"slices"
	"strings"
	"time"

	"github.com/weir-analytics/weir/rollup/zone"
	"github.com/weir-analytics/weir/web/reply"
)

// periods are the words for ranges of the site's calendar: the unit, and which of its windows, counted back from the one that is running.
var periods = []struct {
	word string
	unit zone.Unit
	back int
}{
	{"today", zone.Day, 0}, {"yesterday", zone.Day, 1}, {"week", zone.Week, 0}, {"last_week", zone.Week, 1}, {"month", zone.Month, 0},
	{"last_month", zone.Month, 1}, {"year", zone.Year, 0}, {"last_year", zone.Year, 1},
}

// parsePeriod reads a word such as today. The range is whole: today ends with the day.
func (p *params) parsePeriod(value string, cal calendar, now time.Time) error {
	var words []string
	for _, one := range periods {
		words = append(words, one.word)
		if value != one.word {
			continue
		}
		unit := p.weekUnit(one.unit)
		p.from, p.to = cal.window(unit, now)
		for range one.back {
			p.from, p.to = cal.window(unit, p.from.Add(-time.Second))
		}
		return nil
	}
	return reply.Invalid("period", "period is %.80q, want one of: %s", value, strings.Join(words, ", "))
}

func (p *params) parseWeekStarts(value string) error {
	if !slices.Contains([]string{"monday", "sunday"}, value) {
		return reply.Invalid("week_starts", "week_starts is %.80q, want monday or sunday", value)
	}
	p.sunday = value == "sunday"
	return nil
}

// weekUnit returns the unit of weeks as they were asked for.
func (p *params) weekUnit(unit zone.Unit) zone.Unit {
	if unit == zone.Week && p.sunday {
		return zone.Sunday
	}
	return unit
}

// What a range is compared with.
const (
	comparePrevious = "previous" // the range of the same length before
	compareYear     = "year"     // the same dates a year before
)

func (p *params) parseCompare(value string) error {
	if value != comparePrevious && value != compareYear {
		return reply.Invalid("compare", "compare is %.80q, want %s or %s", value, comparePrevious, compareYear)
	}
	p.compare = value
	return nil
}

// compared returns the range that the range is compared with. Whole days are compared with whole days, whole months with whole months, by the
// calendar; other ranges with as much time. One row for a range that is not over yet is compared with as much of the other range; a
// series with all of it.
func (p *params) compared(cal calendar, now time.Time) (from, to time.Time) {
	shift := p.shift(cal)
	from, to = shift(p.from), shift(p.to)
	if p.compare == comparePrevious {
		to = p.from
	} else if cal.startsDay(p.to) {
		to = cal.addDays(shift(cal.addDays(p.to, -1)), 1) // of the last day, so that 28 February stands for the 29th
	}
	if !from.Before(to) {
		to = from.Add(p.to.Sub(p.from))
	}
	if p.every == 0 && p.from.Before(now) && now.Before(p.to) {
		if until := shift(now); until.Before(to) && from.Before(until) {
			to = until
		}
	}
	return from, to
}

// shift returns how a moment of the range is moved into the range it is compared with.
func (p *params) shift(cal calendar) func(t time.Time) time.Time {
	switch {
	case p.compare == compareYear:
		return func(t time.Time) time.Time { return cal.addMonths(t, -12) }
	case !cal.startsDay(p.from) || !cal.startsDay(p.to):
		length := p.to.Sub(p.from)
		return func(t time.Time) time.Time { return t.Add(-length).In(t.Location()) }
	case p.from.Day() == 1 && p.to.Day() == 1:
		months := (p.to.Year()-p.from.Year())*12 + int(p.to.Month()-p.from.Month())
		return func(t time.Time) time.Time { return cal.addMonths(t, -months) }
	default:
		days := cal.days(p.from, p.to)
		return func(t time.Time) time.Time { return cal.addDays(t, -days) }
	}
}
