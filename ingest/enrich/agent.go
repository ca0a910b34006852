package enrich

import "strings"

// Agent is what a User-Agent string says of browser, system and device. Empty fields are not known.
type Agent struct {
	Browser        string // family: Chrome, Safari, Instagram, ...
	BrowserVersion string // major version, or major.minor where that is how people tell versions apart
	OS             string // family: Windows, macOS, iOS, Android, ...
	OSVersion      string
	Device         string // desktop, mobile, tablet, tv, console, wearable, smart speaker, car browser
}

// ParseAgent reads a User-Agent string. It is pure, bounded by the length of ua, and allocates nothing.
func ParseAgent(ua string) Agent {
	var a Agent
	a.OS, a.OSVersion = system(ua)
	a.Browser, a.BrowserVersion = browser(ua, a.OS)
	a.Device = device(ua, a.OS)
	return a
}

// token finds a word in ua that no letter stands before, and returns the index behind it, -1 when it is not there.
func token(ua, word string) int {
	for from := 0; ; {
		i := strings.Index(ua[from:], word)
		if i < 0 {
			return -1
		}
		i += from
		if i == 0 || !isLetter(ua[i-1]) || !isLetter(word[0]) {
			return i + len(word)
		}
		from = i + len(word)
	}
}

func has(ua, word string) bool { return token(ua, word) >= 0 }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// version reads up to parts numbers, parted by dots or underscores, at the start of text.
func version(text string, parts int) string {
	end, dots := 0, 0
	for end < len(text) && end < 16 {
		c := text[end]
		if c == '.' || c == '_' {
			if dots++; dots >= parts {
				break
			}
		} else if !isDigit(c) {
			break
		}
		end++
	}
	return strings.Trim(text[:end], "._")
}

// major reads the first number of the version that starts at or shortly after index i of ua: "Chrome/138.0" and "Opera 9.80" both work.
func major(ua string, i int) string {
	if i < 0 || i >= len(ua) {
		return ""
	}
	text := ua[i:]
	for n := 0; n < 2 && text != "" && !isDigit(text[0]); n++ {
		text = text[1:]
	}
	return version(text, 1)
}
