package importer

import (
	"strings"
)

// readGoatCounter reads a row of GoatCounter's CSV export, versions 1 and 2 (https://www.goatcounter.com/help/export). The column Browser
// is an agent string in version 1, and name and version in version 2.
func readGoatCounter(p *Parser, r *row, into *Line) error {
	if v := r.table.version; v != "1" && v != "2" {
		return bad(UnknownFormat, "version %q of GoatCounter's export, 1 and 2 are known", v)
	}
	if err := r.setTime("date", into); err != nil {
		return err
	}
	e := &p.export
	e.Title = r.get("title")
	path := r.get("path")
	if r.flag("event") {
		e.Event = path
	} else {
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		into.Target = []byte(path)
	}
	into.Client = []byte(r.get("session"))
	e.Bot = strings.TrimSpace(r.get("bot")) != "0" && strings.TrimSpace(r.get("bot")) != ""
	switch ref := r.get("referrer"); r.get("referrer scheme") {
	case "h":
		if ref != "" && !strings.Contains(ref, "://") {
			ref = "https://" + ref
		}
		into.Referrer = []byte(ref)
	case "c":
		if into.Target != nil && ref != "" {
			into.Target = append(append(into.Target, "?utm_source="...), queryEscape(ref)...)
		}
	case "o", "g":
		into.Referrer = []byte(ref)
	}
	if r.table.version == "1" {
		into.Agent, into.HasAgent = []byte(r.get("browser")), true
	} else {
		e.Browser, e.BrowserVersion = nameAndVersion(r.get("browser"))
		e.OS, e.OSVersion = nameAndVersion(r.get("system"))
		e.Browser, e.OS = browserName(e.Browser), systemName(e.OS)
	}
	e.Screen = r.get("screen size")
	e.Country, e.RegionCode = place(r.get("location"))
	return nil
}

// nameAndVersion splits "Firefox 120" and "Mobile Safari 17.1".
func nameAndVersion(text string) (name, version string) {
	text = strings.TrimSpace(text)
	at := strings.LastIndexByte(text, ' ')
	if at < 0 || at+1 == len(text) || text[at+1] < '0' || text[at+1] > '9' {
		return text, ""
	}
	return text[:at], text[at+1:]
}

// place splits an ISO 3166-2 code into country and region.
func place(code string) (country, region string) {
	code = strings.ToUpper(strings.TrimSpace(code))
	country, _, divided := strings.Cut(code, "-")
	if len(country) != 2 || country[0] < 'A' || country[0] > 'Z' || country[1] < 'A' || country[1] > 'Z' {
		return "", ""
	}
	if divided && len(code) <= 6 {
		region = code
	}
	return country, region
}
