package pageurl

import "strings"

// Referrer cleans the address of the page that led here and returns it with its host. Query and fragment are left away: they hold search
// words and tokens of other people's sites. A bare host name is a referrer
// ("chatgpt.com"); the names that senders use for "none" are not, nor is what IsPage says is no page. Text that is no address is kept as it is, as its own host.
func Referrer(raw string) (referrer, host string) {
	raw = strings.TrimSpace(raw)
	switch raw {
	case "", "-", "direct", "(direct)", "(none)", "null":
		return "", ""
	}
	if !IsPage(raw) {
		return "", ""
	}
	if schemeEnd(raw) == 0 && !strings.HasPrefix(raw, "//") {
		if bare := bareHost(raw); bare != "" {
			return bare, strings.TrimPrefix(bare, "www.")
		}
		text := Cut(Printable(raw), MaxName)
		return text, text
	}
	u := Parse(raw)
	if u.Host == "" {
		text := Cut(Printable(raw), MaxName)
		return text, text
	}
	path := u.Path
	if path == "/" {
		path = ""
	}
	address := u.Host + path
	if u.Scheme != "" {
		address = u.Scheme + "://" + address
	}
	return Cut(address, MaxReferrer), strings.TrimPrefix(u.Host, "www.")
}

// bareHost returns the host of "chatgpt.com" or "chatgpt.com/path", "" for other text.
func bareHost(raw string) string {
	end := strings.IndexAny(raw, "/?#")
	if end < 0 {
		end = len(raw)
	}
	host := Host(raw[:end])
	if dot := strings.LastIndexByte(host, '.'); dot <= 0 || dot == len(host)-1 {
		return ""
	}
	return host
}
