package zone

import (
	"fmt"
	"time"
)

// layout is how the start of a window is written in keys and cells: with its offset from UTC, which tells the two hours apart that a
// clock shows twice.
const layout = "2006-01-02T15:04:05Z07:00"

// AppendStart appends the start of a window as text, in RFC 3339 with the offset from UTC at the start.
func (w Window) AppendStart(b []byte) []byte {
	loc := time.UTC
	if w.Offset != 0 {
		loc = time.FixedZone("", w.Offset)
	}
	return time.Unix(w.Start, 0).In(loc).AppendFormat(b, layout)
}

// StartTime returns the start of the window as a time with the window's offset.
func (w Window) StartTime() time.Time {
	if w.Offset == 0 {
		return time.Unix(w.Start, 0).UTC()
	}
	return time.Unix(w.Start, 0).In(time.FixedZone("", w.Offset))
}

// ParseStart reads what AppendStart wrote: seconds since 1970 and the offset in seconds.
func ParseStart(s string) (unix int64, offset int, err error) {
	t, err := time.Parse(layout, s)
	if err != nil {
		return 0, 0, fmt.Errorf("start of a window %q: want a time like 2025-10-26T02:00:00+02:00", s)
	}
	_, offset = t.Zone()
	return t.Unix(), offset, nil
}
