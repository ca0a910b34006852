package importer

import (
	"net/url"
	"strings"
)

// Kinds of rows in Umami's table of events (db/clickhouse/schema.sql and lib/constants of umami-software/umami).
const (
	umamiPageview = "1"
	umamiEvent    = "2"
)

// readUmami reads a row of the table website_event that Umami exports. Times are UTC. Exports of its Postgres and MySQL tables lack what
// stands in the table of sessions; those columns are empty here then.
func readUmami(p *Parser, r *row, into *Line) error {
	if err := r.setTime("created_at", into); err != nil {
		return err
	}
	e := &p.export
	switch kind := strings.TrimSpace(r.get("event_type")); kind {
	case umamiPageview:
	case umamiEvent:
		if e.Event = r.get("event_name"); e.Event == "" {
			return bad(BadColumn, "column event_name is empty, and column event_type says that the row is an event")
		}
	default:
		return bad(NoHit, "column event_type: %q, page views are 1 and events 2", clip(kind))
	}
	target := r.get("url_path")
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	if query := strings.TrimPrefix(r.get("url_query"), "?"); query != "" {
		target += "?" + query
	}
	into.Target = []byte(target)
	into.Host = []byte(r.get("hostname"))
	into.Client = []byte(r.get("session_id"))
	if domain := r.get("referrer_domain"); domain != "" {
		from := "https://" + domain + r.get("referrer_path")
		if query := strings.TrimPrefix(r.get("referrer_query"), "?"); query != "" {
			from += "?" + query
		}
		into.Referrer = []byte(from)
	}
	e.Title = r.get("page_title")
	e.Browser, e.OS, e.Device = browserName(r.get("browser")), systemName(r.get("os")), deviceName(r.get("device"))
	e.OS, e.OSVersion = windowsVersion(e.OS)
	e.Country, _ = place(r.get("country"))
	_, e.RegionCode = place(r.get("region") + r.get("subdivision1"))
	e.City = r.get("city")
	e.Language, e.Screen = r.get("language"), r.get("screen")
	return nil
}

func queryEscape(text string) string { return url.QueryEscape(text) }
