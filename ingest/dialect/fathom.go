package dialect

import (
	"net/url"
	"strings"
)

// FathomGIF is the picture that Fathom Lite answers with.
var FathomGIF = []byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x01D\x00;")

// ParseFathom reads the query of GET /collect as Fathom Lite's script sends it: p path, h host with scheme, r referrer, id of the page view. What
// the browser says of its being new (u, nv, ns) is not believed. An error is a *FieldError.
func ParseFathom(q url.Values, pageFromHeader string) (Event, error) {
	e := Event{ID: q.Get("id"), Name: NamePageview, Referrer: q.Get("r"), ScrollPercent: -1, EngagedMs: -1}
	path := q.Get("p")
	origin := q.Get("h")
	if origin == "" {
		origin = originOf(pageFromHeader)
	}
	if path == "" && origin == "" {
		return e, wrong("h", "is missing: send the page's path as p and its host as h")
	}
	e.URL = strings.TrimSuffix(origin, "/") + "/" + strings.TrimPrefix(path, "/")
	if len(e.ID) > maxEventID {
		return e, wrong("id", "should be at most %d bytes", maxEventID)
	}
	return e, nil
}

// originOf returns scheme and host of an address.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
