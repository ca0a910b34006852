package stats

import "time"

// Unit is the length of a bucket.
type Unit string

// The units, as in the parameter "every".
const (
	Minute Unit = "minute"
	Hour   Unit = "hour"
	Day    Unit = "day"
	Month  Unit = "month"
)

// typical is how long most buckets are. Real ones are up to a tenth longer or shorter, and hours may be cut in half by a change of clocks.
func (u Unit) typical() time.Duration {
	switch u {
	case Minute:
		return time.Minute
	case Hour:
		return time.Hour
	case Day:
		return 24 * time.Hour
	default:
		return 30 * 24 * time.Hour
	}
}

// start returns the beginning of the bucket that t is in, in the zone of t.
func (u Unit) start(t time.Time) time.Time {
	switch u {
	case Minute:
		return t.Truncate(time.Minute)
	case Hour:
		// Hours are cut on the clock of the zone (zones are off by half and quarter hours), with the offset that holds at t,
		// so that the two hours of the same name stay apart.
		_, offset := t.Zone()
		shift := time.Duration(offset) * time.Second
		return t.Add(shift).Truncate(time.Hour).Add(-shift)
	case Day:
		y, m, d := t.Date()
		return dayStart(y, m, d, t.Location())
	default:
		y, m, _ := t.Date()
		return dayStart(y, m, 1, t.Location())
	}
}

// next returns the beginning of the bucket after the one that begins at start.
func (u Unit) next(start time.Time) time.Time { return u.step(start, 1) }

// step returns the beginning of the bucket n buckets away from the one that begins at start.
func (u Unit) step(start time.Time, n int) time.Time {
	y, m, d := start.Date()
	switch u {
	case Minute:
		return start.Add(time.Duration(n) * time.Minute)
	case Hour:
		return u.start(start.Add(time.Duration(n) * time.Hour))
	case Day:
		return dayStart(y, m, d+n, start.Location())
	default:
		return dayStart(y, m+time.Month(n), 1, start.Location())
	}
}

// dayStart returns the first instant of a calendar day. Midnight may be missing (clocks go forward over it) or come twice, and time.Date
// promises nothing for those, so the day is looked for among all that can be its beginning.
func dayStart(year int, month time.Month, day int, loc *time.Location) time.Time {
	asUTC := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	var first time.Time
	consider := func(t time.Time) {
		local := t.In(loc)
		y, m, d := local.Date()
		if !time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Before(asUTC) && (first.IsZero() || t.Before(first)) {
			first = local
		}
	}
	// Offsets lie between -12 and +14 hours, so the day begins within a day and some of the same time in UTC.
	const reach = 26 * time.Hour
	for at := asUTC.Add(-reach); ; {
		_, offset := at.In(loc).Zone()
		begin, end := at.In(loc).ZoneBounds()
		candidate := asUTC.Add(-time.Duration(offset) * time.Second)
		if (begin.IsZero() || !candidate.Before(begin)) && (end.IsZero() || candidate.Before(end)) {
			consider(candidate)
		}
		if end.IsZero() || end.After(asUTC.Add(reach)) {
			return first
		}
		consider(end)
		at = end
	}
}
