package pageurl

import "strings"

// clickIDs are parameters by which advertisers and mailers know one click again, with whether their being there means that somebody paid for
// it. ingest/source says whose they are.
var clickIDs = map[string]bool{
	"gclid": true, "gbraid": true, "wbraid": true, "dclid": true, "msclkid": true, "ttclid": true, "twclid": true, "li_fat_id": true, "yclid": true,
	"rdt_cid": true, "epik": true, "sccid": true, "scclid": true, "qclid": true, "tblci": true, "dicbo": true,
	"irclickid": true, "awc": true, "cjevent": true,
	"fbclid": false, "igshid": false, "igsh": false, "srsltid": false,
	"mc_eid": false, "_kx": false, "mkt_tok": false, "_hsenc": false, "vero_id": false,
}

// ClickIDs returns all names that ClickID may return, in no order.
func ClickIDs() []string {
	names := make([]string, 0, len(clickIDs))
	for name := range clickIDs {
		names = append(names, name)
	}
	return names
}

// ClickID returns the name of the click id in a query, in lower case, or "". Of several, one that was paid for goes first.
func ClickID(query string) (id string) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || len(name) > len("irclickid")+4 {
			continue
		}
		name = strings.ToLower(Decode(name))
		if paid, ok := clickIDs[name]; ok && (id == "" || paid) {
			if id = name; paid {
				return id
			}
		}
	}
	return id
}
