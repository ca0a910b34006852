package bot

import "strings"

// nameWords are parts of the names that bots give themselves, in lower case.
var nameWords = []string{"bot", "crawl", "spider", "headless", "-user/", "externalhit", "externalagent", "preview", "fetch", "monitor", "slurp", "curl/", "wget/", "go-http-client",
	"python", "okhttp", "httpclient", "scrapy", "lighthouse", "mediapartners", "google-", "-ai/", "archive", "feed"}

// maxName bounds names of bots, in bytes.
const maxName = 40

// Name returns what the bot behind an agent string calls itself, such as "Googlebot", or "" when that cannot be told.
func Name(ua string) string {
	lower := strings.ToLower(ua)
	if len(lower) != len(ua) {
		return "" // letters whose lower case is longer: the indexes would not fit
	}
	for _, word := range nameWords {
		if at := strings.Index(lower, word); at >= 0 && !inAddress(ua, at) {
			if name := nameAround(ua, at); name != "" {
				return name
			}
		}
	}
	if !strings.HasPrefix(lower, "mozilla/") {
		return nameAround(ua, 0)
	}
	return ""
}

// inAddress reports whether index i of the agent string is part of an address to read more at.
func inAddress(ua string, i int) bool {
	start := i
	for start > 0 && ua[start-1] != ' ' && ua[start-1] != ';' && ua[start-1] != '(' {
		start--
	}
	word := ua[start:]
	if end := strings.IndexAny(word, " ;)"); end >= 0 {
		word = word[:end]
	}
	return strings.Contains(word, "://") || strings.Contains(word, "www.") || strings.HasPrefix(word, "+")
}

// nameAround returns the word of the agent string that index i is in, without its version.
func nameAround(ua string, i int) string {
	start, end := i, i
	for start > 0 && isNameByte(ua[start-1]) {
		start--
	}
	for end < len(ua) && isNameByte(ua[end]) {
		end++
	}
	if end-start < 3 || end-start > maxName {
		return ""
	}
	return strings.Trim(ua[start:end], "-._")
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
}
