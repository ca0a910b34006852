package dialect

import (
	"bytes"
	"errors"

	"github.com/weir-analytics/weir/ingest/jsonscan"
)

// Click is one followed short link, as a short-link service sends it. Texts are views into the input.
type Click struct {
	ID      []byte
	TimeMs  int64 // 0: not given
	Site    []byte
	Link    []byte
	Host    []byte
	Dest    []byte
	IP      []byte
	Agent   []byte
	HasUA   bool // there was a field for the agent, if empty
	Ref     []byte
	Country []byte
	Bot     bool
	Local   bool // TimeMs is a time of day without its zone, taken for UTC
}

// maxLink bounds ids of links and clicks, in bytes.
const maxLink = 512

// Errors of clicks, worded for the sender.
var (
	errNoLink   = errors.New(`link is missing: send {"link": "...", "host": "...", "ts": "...", "ip": "...", "ua": "..."}`)
	errLongLink = errors.New("link should be at most 512 bytes")
	errLongID   = errors.New("id should be at most 128 bytes")
	errNoObject = errors.New(`not a click: a line must be one object such as {"link": "..."}`)
	errTail     = errors.New("something follows the object: send one object a line")
)

// ParseClick reads one line of a batch: an object with the fields id, ts, link, host, dest, ip, ua, ref, site, or the names that Shlink,
// YOURLS, Dub and others have for them. Of two names for one field the later one in the line wins, unless it is empty. Errors are
// worded for the sender.
func ParseClick(line []byte, c *Click) error {
	*c = Click{}
	var timeErr error
	rest, err := jsonscan.Object(line, func(key []byte, v jsonscan.Value) error {
		if err := c.member(key, v); err != nil {
			timeErr = err
		}
		return nil
	})
	switch {
	case err != nil:
		if _, _, notOne := jsonscan.One(line); notOne == nil {
			return errNoObject
		}
		return err
	case !jsonscan.Blank(rest):
		return errTail
	case timeErr != nil:
		return wrong("ts", "%s", timeErr)
	case len(c.Link) == 0:
		return errNoLink
	case len(c.Link) > maxLink:
		return errLongLink
	case len(c.ID) > maxEventID:
		return errLongID
	}
	return nil
}

// member takes one member of a click. An error is one of its time.
func (c *Click) member(key []byte, v jsonscan.Value) error {
	if v.Kind == jsonscan.KindNull {
		return nil
	}
	switch string(key) {
	case "id", "click_id", "event_id":
		set(&c.ID, v)
	case "ts", "timestamp", "time", "date", "click_time", "created_at", "createdAt":
		ms, err := ParseTime(v)
		if err != nil {
			return err
		}
		c.TimeMs = ms
		c.Local = len(key) == len("click_time") && string(key) == "click_time" && !hasZone(v)
	case "link", "slug", "key", "keyword", "short_code", "shortCode", "shorturl":
		set(&c.Link, v)
	case "bitlink":
		c.setBitlink(v)
	case "host", "domain", "hostname":
		set(&c.Host, v)
	case "site":
		set(&c.Site, v)
	case "dest", "destination", "url", "long_url", "longUrl", "redirectUrl":
		set(&c.Dest, v)
	case "ip", "ip_address":
		set(&c.IP, v)
	case "ua", "userAgent", "user_agent":
		set(&c.Agent, v)
		c.HasUA = true
	case "ref", "referer", "referrer", "refererUrl":
		set(&c.Ref, v)
	case "country", "countryCode", "country_code":
		set(&c.Country, v)
	case "bot", "potentialBot":
		c.Bot = v.True()
	}
	return nil
}

// set takes text and numbers.
func set(field *[]byte, v jsonscan.Value) {
	if v.Kind == jsonscan.KindString || v.Kind == jsonscan.KindNumber {
		if text := v.Bytes(); len(text) > 0 {
			*field = text
		}
	}
}

// setBitlink takes host and link from "bit.ly/3xAmple", with or without a scheme.
func (c *Click) setBitlink(v jsonscan.Value) {
	text := v.Bytes()
	if at := bytes.Index(text, []byte("://")); at >= 0 {
		text = text[at+3:]
	}
	if host, link, ok := bytes.Cut(text, []byte("/")); ok && len(link) > 0 {
		c.Host, c.Link = host, link
	}
}

// hasZone reports whether a date in text says its zone, as YOURLS's click_time does not. Numbers count from 1970 and need none.
func hasZone(v jsonscan.Value) bool {
	text := v.Bytes()
	if v.Kind != jsonscan.KindString || len(text) < 16 || text[4] != '-' {
		return true
	}
	return bytes.ContainsAny(text[16:], "Zz+-") || bytes.HasSuffix(text, []byte("UTC"))
}
