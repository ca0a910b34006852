package pageurl

import (
	"strings"
	"unicode/utf8"

	"github.com/weir-analytics/weir/internal/idn"
)

// Longest parts that are kept, in bytes. Browsers and servers stop at 2,000 to 8,000; reports show far less.
const (
	MaxPath     = 2048
	MaxQuery    = 2048
	MaxReferrer = 1024
	MaxHost     = 253 // of DNS
	MaxName     = 300
)

// URL is an address taken apart.
type URL struct {
	Scheme   string // lower case; empty for a bare path
	Host     string // lower case, without port; empty when there is none
	Path     string // decoded once and masked; "/" when empty
	Query    string // as sent and masked, without "?"
	Fragment string // as sent and masked, without "#"
}

// Parse takes an address apart. It accepts whole addresses, addresses without scheme ("//host/path"), and bare paths.
func Parse(raw string) URL {
	raw = strings.Trim(raw, " \t\r\n")
	var u URL
	rest := raw
	if colon := schemeEnd(raw); colon > 0 {
		u.Scheme = lower(raw[:colon])
		rest = raw[colon+1:]
	}
	if strings.HasPrefix(rest, "//") && (u.Scheme != "" || !strings.HasPrefix(raw, "//") || hostLike(rest[2:])) {
		authority := rest[2:]
		rest = ""
		if end := strings.IndexAny(authority, "/?#"); end >= 0 {
			authority, rest = authority[:end], authority[end:]
		}
		u.Host = Host(authority)
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	path, query, _ := strings.Cut(rest, "?")
	u.Path = Path(path)
	u.Query = Query(query)
	u.Fragment = Fragment(fragment)
	return u
}

// noPage are schemes of addresses at which no page of a site is: code, content of its own, and what a browser makes itself.
var noPage = map[string]bool{"javascript": true, "vbscript": true, "livescript": true, "data": true, "about": true, "blob": true, "view-source": true}

// IsPage reports whether an address may be that of a page. Like browsers it leaves out blanks before the scheme and line ends and tabs within, by
// which code is hidden.
func IsPage(raw string) bool {
	var scheme [16]byte
	n := 0
	for i := range len(raw) {
		c := raw[i]
		switch {
		case c == '\t' || c == '\r' || c == '\n' || n == 0 && c <= ' ':
		case c == ':':
			return !noPage[string(scheme[:n])]
		case n == len(scheme) || c == '/' || c == '?' || c == '#':
			return true
		case c >= 'A' && c <= 'Z':
			scheme[n] = c | 0x20
			n++
		default:
			scheme[n] = c
			n++
		}
	}
	return true
}

// Target takes the target of an HTTP request line apart: a path with a query, or a whole address as proxies get it.
func Target(raw string) URL {
	if strings.HasPrefix(raw, "/") {
		rest, _, _ := strings.Cut(raw, "#")
		path, query, _ := strings.Cut(rest, "?")
		return URL{Path: Path(path), Query: Query(query)}
	}
	return Parse(raw)
}

// schemeEnd returns the index of the colon after a scheme, 0 when there is none.
func schemeEnd(raw string) int {
	for i := range len(raw) {
		c := raw[i]
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		case c == ':' && strings.HasPrefix(raw[i:], "://"):
			return i
		default:
			return 0
		}
	}
	return 0
}

// hostLike reports whether text begins with something that may be a host name, to tell //host/path from a path with two slashes.
func hostLike(text string) bool {
	if end := strings.IndexAny(text, "/?#"); end >= 0 {
		text = text[:end]
	}
	return strings.Contains(text, ".") && Host(text) != ""
}

// Host cleans the authority of an address: no user, no port, lower case, no final dot, names beyond ASCII in one form. It returns "" for what
// cannot be a host.
func Host(authority string) string {
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		authority = authority[at+1:]
	}
	if strings.HasPrefix(authority, "[") {
		if end := strings.IndexByte(authority, ']'); end > 0 {
			authority = authority[1:end]
		}
	} else if colon := strings.IndexByte(authority, ':'); colon >= 0 && strings.LastIndexByte(authority, ':') == colon {
		authority = authority[:colon]
	}
	authority = strings.TrimSuffix(authority, ".")
	if authority == "" || len(authority) > MaxHost {
		return ""
	}
	for i := range len(authority) {
		if notInHost[authority[i]] {
			return ""
		}
	}
	if authority = idn.Host(lower(authority)); len(authority) > MaxHost {
		return ""
	}
	return authority
}

// notInHost are bytes that no host name has.
var notInHost = func() (set [256]bool) {
	for c := range 0x21 {
		set[c] = true
	}
	for _, c := range []byte("\x7f\"'<>\\^`{|}=()$,;!*&%") {
		set[c] = true
	}
	return set
}()

// Path decodes and masks the path of an address. The result starts with "/".
func Path(raw string) string {
	path := raw
	if strings.IndexByte(path, '%') >= 0 {
		path = unescape(path, false)
	}
	path = strings.TrimRight(Printable(path), " ")
	if path == "" {
		return "/"
	}
	if path[0] != '/' {
		path = "/" + path
	}
	return Cut(maskPath(path), MaxPath)
}

// Cut shortens text to at most max bytes without cutting a character in two.
func Cut(text string, max int) string {
	if len(text) <= max {
		return text
	}
	text = text[:max]
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if start := text[len(text)-i]; utf8.RuneStart(start) {
			if !utf8.FullRuneInString(text[len(text)-i:]) {
				text = text[:len(text)-i]
			}
			break
		}
	}
	return text
}

// Printable replaces bytes that are not valid UTF-8, and removes control characters, so that text can be shown anywhere.
func Printable(text string) string {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return printable(text)
		}
	}
	return text
}

func printable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.IndexFunc(text, isControl) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return -1
		}
		return r
	}, text)
}

// isControl also finds the marks that turn the direction of text around, which make one row look like another.
func isControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

func lower(text string) string {
	for i := range len(text) {
		if c := text[i]; c >= 'A' && c <= 'Z' || c >= 0x80 {
			return strings.ToLower(strings.ToValidUTF8(text, "\uFFFD"))
		}
	}
	return text
}

// unescape decodes percent escapes once. An escape that is not one stays as it is. In a query "+" is a blank.
func unescape(text string, plus bool) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]):
			out = append(out, unhex(text[i+1])<<4|unhex(text[i+2]))
			i += 2
		case c == '+' && plus:
			out = append(out, ' ')
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}
