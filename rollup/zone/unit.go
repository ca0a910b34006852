package zone

import "fmt"

// Unit is a kind of window.
type Unit uint8

// The kinds of windows. The numbers are stored in tables: do not change them.
const (
	Minute Unit = 1
	Hour   Unit = 2
	Day    Unit = 3
	Month  Unit = 4 // this and what follows are never stored, always sums of days
	Week   Unit = 5 // from Monday, as ISO 8601 has it
	Sunday Unit = 6 // a week from Sunday
	Year   Unit = 7
)

var names = [...]string{Minute: "minute", Hour: "hour", Day: "day", Month: "month", Week: "week", Sunday: "week_from_sunday", Year: "year"}

// String returns the word for the unit as used in topics, queries and cells.
func (u Unit) String() string {
	if u < Minute || u > Year {
		return fmt.Sprintf("unit(%d)", uint8(u))
	}
	return names[u]
}

// ParseUnit reads the word for a unit.
func ParseUnit(s string) (Unit, error) {
	for u := Minute; u <= Year; u++ {
		if s == u.String() {
			return u, nil
		}
	}
	return 0, fmt.Errorf("%q is no unit of time: want minute, hour, day, week, week_from_sunday, month or year", s)
}

// Window is one window: it holds the moments from Start up to, and without, End.
type Window struct {
	Unit   Unit
	Index  int64 // number among the windows of this unit and zone; the next window has a greater one
	Start  int64 // seconds since 1970
	End    int64 // seconds since 1970
	Offset int   // seconds east of UTC at Start
}
