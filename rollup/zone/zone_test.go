package zone

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func load(t testing.TB, name string) *Zone {
	t.Helper()
	z, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func unix(t testing.TB, s string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at.Unix()
}

// starts lists the starts of the windows of a unit that begin in the window of another.
func starts(z *Zone, unit Unit, in Window) []string {
	var list []string
	for w := z.Window(unit, in.Start); w.Start < in.End; w = z.Next(w) {
		list = append(list, string(w.AppendStart(nil)))
	}
	return list
}

func TestHoursOfADay(t *testing.T) {
	for _, tc := range []struct {
		name, zone, at string
		hours          int
		length         time.Duration
		has, hasNot    []string
	}{
		{"ordinary day", "Europe/Berlin", "2025-11-01T12:00:00Z", 24, 24 * time.Hour, nil, nil},
		{"clocks go back", "Europe/Berlin", "2025-10-26T12:00:00Z", 25, 25 * time.Hour, // B048
			[]string{"2025-10-26T02:00:00+02:00", "2025-10-26T02:00:00+01:00", "2025-10-26T23:00:00+01:00"}, nil},
		{"2021, clocks go back", "Europe/Berlin", "2021-10-30T22:00:00Z", 25, 25 * time.Hour,
			[]string{"2021-10-31T02:00:00+02:00", "2021-10-31T02:00:00+01:00"}, nil},
		{"clocks go forward", "Europe/Berlin", "2026-03-29T12:00:00Z", 23, 23 * time.Hour,
			[]string{"2026-03-29T03:00:00+02:00"}, []string{"2026-03-29T02:00:00+01:00"}},
		{"Detroit loses only 02", "America/Detroit", "2016-03-13T12:00:00Z", 23, 23 * time.Hour, // B046
			[]string{"2016-03-13T01:00:00-05:00", "2016-03-13T03:00:00-04:00", "2016-03-13T23:00:00-04:00"}, nil},
		{"Madrid, day of the change", "Europe/Madrid", "2020-03-29T12:00:00Z", 23, 23 * time.Hour, nil, nil}, // B047
		{"Madrid, day after", "Europe/Madrid", "2020-03-30T12:00:00Z", 24, 24 * time.Hour,
			[]string{"2020-03-30T02:00:00+02:00"}, nil},
		{"Shanghai has all 24", "Asia/Shanghai", "2025-11-15T04:00:00Z", 24, 24 * time.Hour, // B050
			[]string{"2025-11-15T00:00:00+08:00", "2025-11-15T07:00:00+08:00"}, nil},
		{"half hour", "Asia/Kolkata", "2025-11-15T12:00:00Z", 24, 24 * time.Hour,
			[]string{"2025-11-15T00:00:00+05:30"}, nil},
		{"three quarters", "Asia/Kathmandu", "2025-11-15T12:00:00Z", 24, 24 * time.Hour,
			[]string{"2025-11-15T00:00:00+05:45"}, nil},
		{"Newfoundland goes back", "America/St_Johns", "2025-11-02T12:00:00Z", 25, 25 * time.Hour,
			[]string{"2025-11-02T01:00:00-02:30", "2025-11-02T01:00:00-03:30"}, nil},
		{"Lord Howe goes back by half an hour", "Australia/Lord_Howe", "2025-04-06T00:00:00Z", 25, 24*time.Hour + 30*time.Minute,
			[]string{"2025-04-06T01:00:00+11:00", "2025-04-06T01:30:00+10:30", "2025-04-06T02:00:00+10:30"}, nil},
		{"Lord Howe goes forward by half an hour", "Australia/Lord_Howe", "2025-10-05T00:00:00Z", 24, 23*time.Hour + 30*time.Minute,
			[]string{"2025-10-05T01:00:00+10:30", "2025-10-05T02:30:00+11:00", "2025-10-05T03:00:00+11:00"},
			[]string{"2025-10-05T02:00:00+11:00"}},
		{"midnight left out", "America/Sao_Paulo", "2018-11-04T12:00:00Z", 23, 23 * time.Hour,
			[]string{"2018-11-04T01:00:00-02:00"}, []string{"2018-11-04T00:00:00-03:00"}},
		{"back across midnight", "America/Sao_Paulo", "2018-02-17T12:00:00Z", 25, 25 * time.Hour,
			[]string{"2018-02-17T23:00:00-02:00", "2018-02-17T23:00:00-03:00"}, nil},
		{"before the date that Samoa skipped", "Pacific/Apia", "2011-12-30T00:00:00Z", 24, 24 * time.Hour,
			[]string{"2011-12-29T23:00:00-10:00"}, nil},
		{"after it", "Pacific/Apia", "2011-12-30T10:00:00Z", 24, 24 * time.Hour,
			[]string{"2011-12-31T00:00:00+14:00"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			z := load(t, tc.zone)
			day := z.Window(Day, unix(t, tc.at))
			if got := time.Duration(day.End-day.Start) * time.Second; got != tc.length {
				t.Errorf("the day is %v long, want %v", got, tc.length)
			}
			hours := starts(z, Hour, day)
			if len(hours) != tc.hours {
				t.Errorf("%d hours, want %d: %v", len(hours), tc.hours, hours)
			}
			for _, s := range tc.has {
				if !slices.Contains(hours, s) {
					t.Errorf("no hour %s in %v", s, hours)
				}
			}
			for _, s := range tc.hasNot {
				if slices.Contains(hours, s) {
					t.Errorf("hour %s does not exist", s)
				}
			}
		})
	}
}

func TestDayOfAMoment(t *testing.T) {
	for _, tc := range []struct{ zone, at, day string }{
		{"Asia/Taipei", "2025-11-15T17:00:00Z", "2025-11-16T00:00:00+08:00"},      // B043
		{"Europe/Berlin", "2025-10-25T21:59:59Z", "2025-10-25T00:00:00+02:00"},    // B054
		{"Europe/Berlin", "2025-10-25T22:00:00Z", "2025-10-26T00:00:00+02:00"},    //
		{"Pacific/Auckland", "2015-08-16T12:00:00Z", "2015-08-17T00:00:00+12:00"}, // B066
		{"America/Detroit", "2025-11-16T03:40:00Z", "2025-11-15T00:00:00-05:00"},  // B045
		{"America/St_Johns", "2010-11-07T02:30:30Z", "2010-11-07T00:00:00-02:30"}, // the first minute of the 7th
		{"America/St_Johns", "2010-11-07T02:45:00Z", "2010-11-07T00:00:00-02:30"}, // 23:15 of the 6th again: days do not interleave
		{"America/St_Johns", "2010-11-07T02:29:59Z", "2010-11-06T00:00:00-02:30"}, //
		{"Africa/Cairo", "2023-10-26T20:30:00Z", "2023-10-26T00:00:00+03:00"},     // back at midnight
		{"Africa/Cairo", "2023-10-26T21:30:00Z", "2023-10-26T00:00:00+03:00"},     // the hour 23 again
		{"Africa/Cairo", "2023-10-26T22:00:00Z", "2023-10-27T00:00:00+02:00"},     //
		{"US/Eastern", "2025-07-01T03:59:59Z", "2025-06-30T00:00:00-04:00"},       // B069
		{"Asia/Calcutta", "2025-07-01T18:30:00Z", "2025-07-02T00:00:00+05:30"},    //
		{"America/Buenos_Aires", "2025-07-01T02:59:59Z", "2025-06-30T00:00:00-03:00"},
	} {
		z := load(t, tc.zone)
		if got := string(z.Window(Day, unix(t, tc.at)).AppendStart(nil)); got != tc.day {
			t.Errorf("%s %s: day %s, want %s", tc.zone, tc.at, got, tc.day)
		}
	}
}

func TestCurrentHourIsTheSitesHour(t *testing.T) { // B052
	z := load(t, "Australia/Melbourne")
	w := z.Window(Hour, unix(t, "2025-07-01T01:46:00Z"))
	if got := string(w.AppendStart(nil)); got != "2025-07-01T11:00:00+10:00" {
		t.Errorf("hour %s", got)
	}
}

func TestMinuteEdgesAreUTCMinutes(t *testing.T) { // B138, B140, B141
	z := load(t, "Asia/Kathmandu")
	a := z.Window(Minute, unix(t, "2025-11-15T12:00:59Z"))
	b := z.Window(Minute, unix(t, "2025-11-15T12:01:00Z"))
	if b.Index != a.Index+1 || a.End != b.Start || a.Start%60 != 0 || a.Offset != 0 {
		t.Errorf("minutes %+v and %+v", a, b)
	}
	if c := z.Window(Minute, -1); c.Start != -60 || c.Index != -1 {
		t.Errorf("minute before 1970: %+v", c)
	}
}

func TestMonths(t *testing.T) {
	z := load(t, "Europe/Berlin")
	w := z.Window(Month, unix(t, "2025-10-31T22:59:59Z"))
	if got := string(w.AppendStart(nil)); got != "2025-10-01T00:00:00+02:00" {
		t.Errorf("month starts %s", got)
	}
	if got := time.Unix(w.End, 0).UTC().Format(time.RFC3339); got != "2025-10-31T23:00:00Z" {
		t.Errorf("month ends %s", got)
	}
	if n := z.Next(w); n.Index != w.Index+1 || len(starts(z, Day, n)) != 30 {
		t.Errorf("next month %+v", n)
	}
}

func TestWeeksAndYears(t *testing.T) { // B051
	for _, tc := range []struct{ zone, at, week, sunday, year string }{
		{"Europe/Berlin", "2025-10-26T23:30:00+01:00", "2025-10-20T00:00:00+02:00", "2025-10-26T00:00:00+02:00", "2025-01-01T00:00:00+01:00"}, // a Sunday
		{"Europe/Berlin", "2025-10-27T00:30:00+01:00", "2025-10-27T00:00:00+01:00", "2025-10-26T00:00:00+02:00", "2025-01-01T00:00:00+01:00"}, // Monday
		{"Asia/Kathmandu", "2026-01-01T00:00:00+05:45", "2025-12-29T00:00:00+05:45", "2025-12-28T00:00:00+05:45", "2026-01-01T00:00:00+05:45"},
		{"UTC", "1969-12-28T12:00:00Z", "1969-12-22T00:00:00Z", "1969-12-28T00:00:00Z", "1969-01-01T00:00:00Z"},
	} {
		z, at := load(t, tc.zone), unix(t, tc.at)
		for unit, want := range map[Unit]string{Week: tc.week, Sunday: tc.sunday, Year: tc.year} {
			if got := string(z.Window(unit, at).AppendStart(nil)); got != want {
				t.Errorf("%s: %v begins %s, want %s", tc.at, unit, got, want)
			}
		}
	}
}

func TestDateThatAZoneSkipped(t *testing.T) {
	z := load(t, "Pacific/Apia")
	if a, b := z.Date(2011, 12, 30), z.Date(2011, 12, 31); a != b || a != unix(t, "2011-12-30T10:00:00Z") {
		t.Errorf("dates start at %d and %d", a, b)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, name := range []string{"", "Local", "Europe/Nowhere", "../etc/passwd"} {
		if _, err := Load(name); err == nil {
			t.Errorf("Load(%q) succeeded", name)
		}
	}
}

// zones with odd habits, for the properties below.
var odd = []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia",
	"America/St_Johns", "America/Sao_Paulo", "Africa/Casablanca", "Africa/Cairo", "Asia/Tehran", "America/Nuuk", "Antarctica/Troll",
	"Pacific/Kiritimati", "Pacific/Chatham", "America/Caracas", "Asia/Pyongyang", "Europe/Dublin", "Asia/Gaza"}

// TestWindowsTileTime: windows leave no gap and no overlap, their numbers rise (by one, but for skipped dates), each moment lies in the
// window that is returned for it, the parts make up the whole, and the text of a start reads back.
func TestWindowsTileTime(t *testing.T) {
	for _, name := range odd {
		z := load(t, name)
		for _, unit := range []Unit{Minute, Hour, Day, Month, Week, Sunday, Year} {
			at := unix(t, "2009-12-31T00:00:00Z")
			if unit == Minute {
				at = unix(t, "2025-10-25T00:00:00Z")
			}
			w := z.Window(unit, at)
			seen := map[string]bool{}
			for range 200 + 8000/int(unit) {
				if w.Start >= w.End {
					t.Fatalf("%s: empty %v %+v", name, unit, w)
				}
				if got := z.Window(unit, w.End-1); got != w {
					t.Fatalf("%s: last moment of %+v lies in %+v", name, w, got)
				}
				text := string(w.AppendStart(nil))
				if seen[text] {
					t.Fatalf("%s: two %vs start at %s", name, unit, text)
				}
				seen[text] = true
				if start, offset, err := ParseStart(text); err != nil || start != w.Start || offset != w.Offset {
					t.Fatalf("%s: %s reads back as %d %d %v, want %d %d", name, text, start, offset, err, w.Start, w.Offset)
				}
				next := z.Next(w)
				if next.Start != w.End {
					t.Fatalf("%s: %+v is followed by %+v", name, w, next)
				}
				if step := next.Index - w.Index; step != 1 && !(unit == Day && step == 2) {
					t.Fatalf("%s: %v index steps by %d", name, unit, step)
				}
				if up := unit + 1; up <= Day {
					if a, b := z.Window(up, w.Start), z.Window(up, w.End-1); unit == Hour && a != b && name != "America/St_Johns" {
						t.Fatalf("%s: hour %s lies in two days", name, text)
					}
				}
				w = next
			}
		}
	}
}

// TestAgainstTheWallClock: away from the few odd moments that the package states, windows agree with what package time shows on the wall.
func TestAgainstTheWallClock(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range odd {
		z := load(t, name)
		for range 3000 {
			at := time.Unix(631152000+rng.Int64N(40*365*86400), 0).In(z.Location())
			_, offset := at.Zone()
			h := z.Window(Hour, at.Unix())
			if h.Offset != offset {
				t.Fatalf("%s %v: hour has offset %d", name, at, h.Offset)
			}
			if got := h.StartTime(); got.Hour() != at.Hour() || got.Day() != at.Day() {
				t.Fatalf("%s %v: hour starts %v", name, at, got)
			}
			d := z.Window(Day, at.Unix())
			last := time.Unix(d.End-1, 0).In(z.Location())
			y, m, day := at.Date()
			if want := floorDiv(time.Date(y, m, day, 0, 0, 0, 0, time.UTC).Unix(), 86400); d.Index != want && name != "America/St_Johns" {
				t.Fatalf("%s %v: day %d, want %d (%v)", name, at, d.Index, want, last)
			}
			if d.Start > at.Unix() || d.End <= at.Unix() {
				t.Fatalf("%s %v: outside its day %+v", name, at, d)
			}
		}
	}
}

func TestUnits(t *testing.T) {
	for u := Minute; u <= Year; u++ {
		if got, err := ParseUnit(u.String()); err != nil || got != u {
			t.Errorf("ParseUnit(%q) = %v, %v", u, got, err)
		}
	}
	if _, err := ParseUnit("fortnight"); err == nil {
		t.Error("ParseUnit accepted a fortnight")
	}
	if got := fmt.Sprint(Unit(9)); got != "unit(9)" {
		t.Errorf("Unit(9) = %s", got)
	}
}

func FuzzParseStart(f *testing.F) {
	f.Add("2025-10-26T02:00:00+02:00")
	f.Add("2025-10-26T02:00:00Z")
	f.Add("9999-99-99T99:99:99+99:99")
	f.Fuzz(func(t *testing.T, s string) {
		start, offset, err := ParseStart(s)
		if err != nil {
			return
		}
		text := string(Window{Start: start, Offset: offset}.AppendStart(nil))
		again, off, err := ParseStart(text)
		if err != nil || again != start || off != offset {
			t.Fatalf("%q: %d %d, written as %q, read back %d %d %v", s, start, offset, text, again, off, err)
		}
	})
}

func BenchmarkHourIndex(b *testing.B) {
	z := load(b, "Europe/Berlin")
	for i := range b.N {
		z.Index(Hour, 1_700_000_000+int64(i))
	}
}

func BenchmarkDayWindow(b *testing.B) {
	z := load(b, "Europe/Berlin")
	for i := range b.N {
		z.Window(Day, 1_700_000_000+int64(i)*1000)
	}
}
