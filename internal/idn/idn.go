// Package idn brings host names with letters beyond ASCII into one form, whichever way they were written: BÜCHER.example and
// xn--bcher-kva.example are bücher.example. The form is the one people read, except where it may mislead them: a label that mixes Latin
// letters with Greek or Cyrillic ones, and what is no name by UTS 46, stays in, or comes into, ASCII.
package idn

import (
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// profile maps as browsers do (UTS 46, nontransitional) and takes the underscores that some hosts have.
var profile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.BidiRule())

// Host returns the one form of a lower-case host name. What cannot be mapped is returned as it is. Safe for concurrent use.
func Host(host string) string {
	if !mayDiffer(host) {
		return host
	}
	ascii, err := profile.ToASCII(host)
	if err != nil || ascii == "" {
		return host
	}
	readable, err := profile.ToUnicode(ascii)
	if err != nil || mixes(readable) {
		return ascii
	}
	return readable
}

// mayDiffer is the cheap test that nearly all hosts fail.
func mayDiffer(host string) bool {
	for i := range len(host) {
		if host[i] >= 0x80 {
			return true
		}
	}
	return strings.Contains(host, "xn--")
}

// mixes reports whether a label has letters of scripts that look alike.
func mixes(host string) bool {
	for label := range strings.SplitSeq(host, ".") {
		latin, alike := false, false
		for _, r := range label {
			latin = latin || unicode.Is(unicode.Latin, r)
			alike = alike || unicode.In(r, unicode.Greek, unicode.Cyrillic)
		}
		if latin && alike {
			return true
		}
	}
	return false
}
