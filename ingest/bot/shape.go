package bot

import "strings"

// byShape judges a string that begins like a browser's and holds none of the words.
func byShape(ua, lower string) string {
	if isReporter(lower) {
		return ""
	}
	if !hasEngine(lower) {
		return KindUnlikely
	}
	if name, ok := compatible(lower); ok && !oldCompatible(name) {
		return KindAgent
	}
	if remark := engineRemark(lower); remark != "" {
		return KindAgent
	}
	if strings.Contains(lower, "; +") || strings.Contains(lower, "(+") {
		return KindAgent
	}
	if isDesktop(lower) {
		return strangeProduct(ua)
	}
	return ""
}

// engines are what every browser names.
var engines = []string{
	"applewebkit", "gecko", "khtml", "msie", "trident", "presto", "opera", "ie 11.0", "netpositive", "amiga", "webtv", "konqueror", "firefox",
	"navigator", "symbian", "midp", "charon", "safari", "omniweb", "icab", "netfront", "mobile",
}

func hasEngine(lower string) bool {
	for _, engine := range engines {
		if strings.Contains(lower, engine) {
			return true
		}
	}
	return false
}

// compatible returns the name in "(compatible; NAME": what bots put their name into, and what old browsers said of themselves.
func compatible(lower string) (name string, ok bool) {
	at := strings.Index(lower, "compatible;")
	if at < 0 {
		return "", false
	}
	return strings.TrimSpace(lower[at+len("compatible;"):]), true
}

func oldCompatible(name string) bool {
	for _, old := range []string{"msie", "konqueror", "netpositive", "amiga", "opera", "webtv", "icab", "omniweb"} {
		if strings.HasPrefix(name, old) {
			return true
		}
	}
	return false
}

// engineRemark returns what stands in "(KHTML, like Gecko ...)" beside the words that belong there.
func engineRemark(lower string) string {
	at := strings.Index(lower, "(khtml, like gecko")
	if at < 0 {
		return ""
	}
	rest := lower[at+len("(khtml, like gecko"):]
	end := strings.IndexByte(rest, ')')
	if end < 0 {
		return ""
	}
	return strings.Trim(rest[:end], " ,;")
}

func isDesktop(lower string) bool {
	open := strings.IndexByte(lower, '(')
	if open < 0 {
		return false
	}
	system := lower[open:]
	if end := strings.IndexByte(system, ')'); end > 0 {
		system = system[:end]
	}
	for _, other := range []string{"android", "iphone", "ipad", "mobile", "tizen", "web0s", "phone", "tv", "arm;", "touch"} {
		if strings.Contains(system, other) {
			return false
		}
	}
	return strings.Contains(system, "windows nt") || strings.Contains(system, "macintosh") || strings.Contains(system, "x11")
}
