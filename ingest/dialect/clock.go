package dialect

import (
	"errors"
	"strconv"

	"github.com/weir-analytics/weir/ingest/jsonscan"
)

// Errors of times, worded for the sender.
var (
	errTime  = errors.New("is not a time; send RFC 3339 such as 2026-02-03T09:00:00Z, or seconds or milliseconds since 1970")
	errEarly = errors.New("is before 1990; send seconds or milliseconds since 1970")
)

// earliestMs is the first moment that a hit may have: the web is not older. It catches zero and other values that are no time.
const earliestMs = 631152000000 // 1990-01-01

// ParseTime reads the time of a hit as Unix milliseconds. Numbers are seconds, milliseconds, microseconds or nanoseconds since 1970, told
// apart by their size; text is RFC 3339 in its usual variants, UTC where no offset is given, or one of those numbers.
func ParseTime(v jsonscan.Value) (int64, error) {
	switch v.Kind {
	case jsonscan.KindNumber:
		return parseEpoch(v.Raw)
	case jsonscan.KindString:
		return ParseTimeText(v.Bytes())
	}
	return 0, errTime
}

// ParseTimeText is ParseTime for text.
func ParseTimeText(text []byte) (int64, error) {
	ms, ok := parseDate(text)
	if !ok {
		if len(text) > 0 && (isDigit(text[0]) || text[0] == '-') {
			if ms, err := parseEpoch(text); err == nil || err == errEarly {
				return ms, err
			}
		}
		return 0, errTime
	}
	if ms < earliestMs {
		return 0, errEarly
	}
	return ms, nil
}

func parseEpoch(digits []byte) (int64, error) {
	value, err := strconv.ParseFloat(string(digits), 64)
	if err != nil {
		return 0, errTime
	}
	switch {
	case value < 1e11:
		value *= 1000
	case value < 1e14:
	case value < 1e17:
		value /= 1000
	case value < 1e20:
		value /= 1e6
	default:
		return 0, errTime
	}
	if value < earliestMs {
		return 0, errEarly
	}
	return int64(value), nil
}

// parseDate reads "2026-02-03T09:00:00.123+01:00": T in any case or a blank, seconds and fraction optional, the offset as Z, +01:00,
// +0100, +01 or missing.
func parseDate(b []byte) (ms int64, ok bool) {
	if len(b) < 16 || b[4] != '-' || b[7] != '-' || b[13] != ':' || b[10] != 'T' && b[10] != 't' && b[10] != ' ' {
		return 0, false
	}
	year, ok1 := digits(b[0:4])
	month, ok2 := digits(b[5:7])
	day, ok3 := digits(b[8:10])
	hour, ok4 := digits(b[11:13])
	minute, ok5 := digits(b[14:16])
	if !(ok1 && ok2 && ok3 && ok4 && ok5) || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 {
		return 0, false
	}
	b = b[16:]
	second, milli := 0, 0
	if len(b) >= 3 && b[0] == ':' {
		if second, ok = digits(b[1:3]); !ok || second > 60 { // 60: a leap second
			return 0, false
		}
		b = b[3:]
		if len(b) > 1 && (b[0] == '.' || b[0] == ',') {
			scale := 100
			for b = b[1:]; len(b) > 0 && isDigit(b[0]); b = b[1:] {
				milli += int(b[0]-'0') * scale
				scale /= 10
			}
		}
	}
	offset, ok := parseOffset(b)
	if !ok {
		return 0, false
	}
	days := daysSinceEpoch(year, month, day)
	return (int64(days)*86400+int64(hour*3600+minute*60+second-offset))*1000 + int64(milli), true
}

// parseOffset returns the offset from UTC in seconds.
func parseOffset(b []byte) (seconds int, ok bool) {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	if len(b) == 0 || len(b) == 1 && (b[0] == 'Z' || b[0] == 'z') || string(b) == "UTC" {
		return 0, true
	}
	sign := 1
	switch b[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return 0, false
	}
	b = b[1:]
	hour, ok1 := 0, false
	minute, ok2 := 0, true
	switch {
	case len(b) == 2:
		hour, ok1 = digits(b)
	case len(b) == 4:
		hour, ok1 = digits(b[:2])
		minute, ok2 = digits(b[2:])
	case len(b) == 5 && b[2] == ':':
		hour, ok1 = digits(b[:2])
		minute, ok2 = digits(b[3:])
	}
	if !ok1 || !ok2 || hour > 18 || minute > 59 {
		return 0, false
	}
	return sign * (hour*3600 + minute*60), true
}

func digits(b []byte) (int, bool) {
	n := 0
	for _, c := range b {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysSinceEpoch counts days from 1970-01-01 in the Gregorian calendar. Years begin in March here, so that the leap day is the last one.
func daysSinceEpoch(year, month, day int) int {
	if month <= 2 {
		year--
		month += 12
	}
	inYear := (153*(month-3)+2)/5 + day - 1
	return year*365 + year/4 - year/100 + year/400 + inYear - 719468 // days from 0000-03-01 to 1970-01-01
}
