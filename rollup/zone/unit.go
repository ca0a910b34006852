package zone

import "fmt"

// Unit is a kind of window.
type Unit uint8

// The kinds of windows. The numbers are stored in tables: do not change them.
const (
	Minute Unit = 1
	Hour   Unit = 2
	Day    Unit = 3
	Month  Unit = 4 // never stored, always a sum of days
)

// String returns the word for the unit as used in topics, queries and cells.
func (u Unit) String() string {
	switch u {
	case Minute:
		return "minute"
	case Hour:
		return "hour"
	case Day:
		return "day"
	case Month:
		return "month"
	default:
		return fmt.Sprintf("unit(%d)", uint8(u))
	}
}

// ParseUnit reads the word for a unit.
func ParseUnit(s string) (Unit, error) {
	for u := Minute; u <= Month; u++ {
		if s == u.String() {
			return u, nil
		}
	}
	return 0, fmt.Errorf("%q is no unit of time: want minute, hour, day or month", s)
}

// Window is one window: it holds the moments from Start up to, and without, End.
type Window struct {
	Unit   Unit
	Index  int64 // number among the windows of this unit and zone; the next window has a greater one
	Start  int64 // seconds since 1970
	End    int64 // seconds since 1970
	Offset int   // seconds east of UTC at Start
}
