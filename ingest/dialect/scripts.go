package dialect

import "strings"

// Files of the tracker, as the build names them.
const (
	trackerCore = "js/weir.js"
	trackerAll  = "js/weir.all.js"
)

// scriptParts are the options that names of scripts are made of: weir.outbound-links.404.js asks for two. Those of Plausible's scripts are
// among them; some of these (compat, exclusions, local, pageview-props, revenue) need no asking here, and are taken all the same.
var scriptParts = map[string]bool{
	"404": true, "all": true, "compat": true, "dnt": true, "engagement": true, "exclusions": true, "file-downloads": true, "hash": true, "local": true,
	"manual": true, "outbound-links": true, "pageleave": true, "pageview-props": true, "revenue": true, "tagged-events": true,
}

// TrackerFile returns the file of the tracker that answers a path, "" for none: the core for /js/weir.js and for the names that Plausible's
// script has (/js/script.js, /js/plausible.js, /js/analytics.js, /js/pa-XXXX.js), and the one with all options where the name asks for some.
func TrackerFile(path string) string {
	name, found := strings.CutPrefix(path, "/js/")
	name, isScript := strings.CutSuffix(name, ".js")
	if !found || !isScript || len(name) > 200 {
		return ""
	}
	if id, ok := strings.CutPrefix(name, "pa-"); ok && isScriptID(id) {
		return trackerCore
	}
	words := strings.Split(name, ".")
	switch words[0] {
	case "weir", "script", "plausible", "analytics":
	default:
		return ""
	}
	if len(words) == 1 {
		return trackerCore
	}
	for _, word := range words[1:] {
		if !scriptParts[word] {
			return ""
		}
	}
	return trackerAll
}

func isScriptID(id string) bool {
	for i := range len(id) {
		if c := id[i]; !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && c != '_' && c != '-' {
			return false
		}
	}
	return id != ""
}
