package bot

import "net/http"

// Request judges the headers of a request: what was fetched ahead of a person is not a visit yet. It returns the kind of bot, or "".
func Request(method string, header http.Header) string {
	if method == http.MethodHead {
		return KindHead
	}
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		if values := header[name]; len(values) > 0 && isPrefetch(values[0]) {
			return KindPrefetch
		}
	}
	return ""
}

func isPrefetch(value string) bool {
	for _, start := range []string{"prefetch", "prerender", "preview"} {
		if len(value) >= len(start) && equalFold(value[:len(start)], start) {
			return true
		}
	}
	return false
}

func equalFold(a, lower string) bool {
	for i := range len(a) {
		c := a[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
