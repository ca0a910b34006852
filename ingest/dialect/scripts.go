package dialect

import "strings"

// scriptParts are the parts that names of Plausible's scripts are made of: script.hash.outbound-links.js asks for two of them.
var scriptParts = map[string]bool{
	"compat": true, "exclusions": true, "file-downloads": true, "hash": true, "local": true, "manual": true, "outbound-links": true,
	"pageview-props": true, "pageleave": true, "revenue": true, "tagged-events": true,
}

// PlausibleScript reports whether a path is one under which pages load Plausible's script, and which parts its name asks for: /js/script.js,
// /js/plausible.js, /js/script.hash.manual.js, /js/pa-XXXX.js.
func PlausibleScript(path string) (parts []string, ok bool) {
	name, found := strings.CutPrefix(path, "/js/")
	name, isScript := strings.CutSuffix(name, ".js")
	if !found || !isScript || len(name) > 200 {
		return nil, false
	}
	if id, ok := strings.CutPrefix(name, "pa-"); ok {
		return nil, isScriptID(id)
	}
	words := strings.Split(name, ".")
	if words[0] != "script" && words[0] != "plausible" && words[0] != "analytics" {
		return nil, false
	}
	for _, word := range words[1:] {
		if !scriptParts[word] {
			return nil, false
		}
	}
	return words[1:], true
}

func isScriptID(id string) bool {
	for i := range len(id) {
		if c := id[i]; !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && c != '_' && c != '-' {
			return false
		}
	}
	return id != ""
}
