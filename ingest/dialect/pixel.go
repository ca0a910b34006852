package dialect

import (
	"net/url"
	"strings"
)

// GIF is a transparent picture of one point, the 43 bytes that pixels have always answered with.
var GIF = []byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;")

// ParsePixel reads the query of the picture for pages without script: d site, u page, r referrer, t title, n event, id. Without u the page
// is where the picture is shown, as the Referer header says. An error is a *FieldError.
func ParsePixel(query url.Values, pageFromHeader string) (Event, error) {
	e := Event{
		ID: query.Get("id"), Name: query.Get("n"), URL: query.Get("u"), Domain: query.Get("d"), Referrer: query.Get("r"),
		Title: query.Get("t"), ScrollPercent: -1, EngagedMs: -1,
	}
	if e.Name == "" {
		e.Name = NamePageview
	}
	if e.URL == "" {
		e.URL = pageFromHeader
	}
	if strings.TrimSpace(e.URL) == "" {
		if e.Domain == "" {
			return e, wrong("url", "is required: add u= or d= to the picture's address, or let the page send a Referer")
		}
		e.URL = "/"
	}
	p := plausible{event: &e, domain: e.Domain != ""}
	return e, p.check()
}
