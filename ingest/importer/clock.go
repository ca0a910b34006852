package importer

import (
	"bytes"
	"time"
)

// timeAt returns the index of the bracket before a time such as [25/Oct/2025:23:30:26 +0200], -1 when there is none.
func timeAt(line []byte) int {
	for from := 0; ; {
		i := bytes.IndexByte(line[from:], '[')
		if i < 0 {
			return -1
		}
		i += from
		if len(line)-i > 20 && line[i+3] == '/' && line[i+7] == '/' && line[i+12] == ':' && line[i+15] == ':' {
			return i
		}
		from = i + 1
	}
}

// parseCLFTime reads "25/Oct/2025:23:30:26 +0200", with an optional fraction and offset, up to the end of b. It returns Unix milliseconds.
func parseCLFTime(b []byte) (ms int64, ok bool) {
	if len(b) < 20 || b[2] != '/' || b[6] != '/' || b[11] != ':' || b[14] != ':' || b[17] != ':' {
		return 0, false
	}
	day, ok1 := number(b[0:2])
	month := monthOf(b[3:6])
	year, ok2 := number(b[7:11])
	hour, ok3 := number(b[12:14])
	minute, ok4 := number(b[15:17])
	second, ok5 := number(b[18:20])
	if !(ok1 && ok2 && ok3 && ok4 && ok5) || month == 0 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 {
		return 0, false
	}
	t := time.Date(year, month, day, hour, minute, second, 0, time.UTC)
	if t.Day() != day && second < 60 {
		return 0, false // 31 April
	}
	b = b[20:]
	milli := int64(0)
	if len(b) > 1 && b[0] == '.' {
		scale := int64(100)
		for b = b[1:]; len(b) > 0 && b[0] >= '0' && b[0] <= '9'; b = b[1:] {
			milli += int64(b[0]-'0') * scale
			scale /= 10
		}
	}
	offset, ok := parseZone(bytes.TrimSpace(b))
	return t.UnixMilli() + milli - offset*1000, ok
}

// parseZone reads +0200 or +02:00 as seconds; nothing is UTC.
func parseZone(b []byte) (seconds int64, ok bool) {
	if len(b) == 0 {
		return 0, true
	}
	sign := int64(1)
	switch b[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return 0, false
	}
	b = b[1:]
	if len(b) == 5 && b[2] == ':' {
		b = []byte{b[0], b[1], b[3], b[4]}
	}
	if len(b) != 4 {
		return 0, false
	}
	hour, ok1 := number(b[:2])
	minute, ok2 := number(b[2:])
	return sign * int64(hour*3600+minute*60), ok1 && ok2 && hour <= 18 && minute < 60
}

func number(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(b) > 0
}

// monthOf reads an English month of three letters, 0 when it is none.
func monthOf(b []byte) time.Month {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	for m := 0; m < 12; m++ {
		if names[3*m] == b[0] && names[3*m+1] == b[1] && names[3*m+2] == b[2] {
			return time.Month(m + 1)
		}
	}
	return 0
}
