package dialect

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/jsonscan"
	"github.com/weir-analytics/weir/ingest/pageurl"
)

// ParseShlink reads what Shlink publishes of a visit: {"shortUrl": {...}, "visit": {...}}. A visit of no short link, which Shlink calls an orphan, is
// a request and not a click. An error is a *FieldError or a *jsonscan.SyntaxError.
func ParseShlink(body []byte) (Event, error) {
	s := shlink{Event: Event{Said: &Said{Other: true, HasAgent: true}, ScrollPercent: -1, EngagedMs: -1}}
	_, err := jsonscan.Object(body, func(key []byte, v jsonscan.Value) error {
		if v.Kind != jsonscan.KindObject {
			return nil
		}
		var err error
		switch string(key) {
		case "shortUrl":
			_, err = jsonscan.Object(v.Raw, s.shortURL)
		case "visit":
			s.visited = true
			_, err = jsonscan.Object(v.Raw, s.visit)
		}
		return err
	})
	switch {
	case err != nil:
		return s.Event, err
	case !s.visited:
		return s.Event, wrong("visit", "is missing")
	}
	return s.finish()
}

type shlink struct {
	Event
	visited                    bool
	code, short, long, address string
	orphan                     string // type of a visit of no short link
}

func (s *shlink) shortURL(key []byte, v jsonscan.Value) error {
	switch string(key) {
	case "shortCode":
		s.code = v.Text()
	case "shortUrl":
		s.short = v.Text()
	case "longUrl":
		s.long = v.Text()
	}
	return nil
}

func (s *shlink) visit(key []byte, v jsonscan.Value) error {
	switch string(key) {
	case "referer":
		s.Referrer = v.Text()
	case "date":
		ms, err := ParseTime(v)
		if err != nil {
			return wrong("visit.date", "%s", err)
		}
		s.Said.TimeMs = ms
	case "userAgent":
		s.Said.Agent = v.Text()
	case "potentialBot":
		if v.True() {
			s.Robot = RobotSender
		}
	case "visitedUrl":
		s.address = v.Text()
	case "redirectUrl":
		s.Dest = v.Text()
	case "type":
		s.orphan = v.Text()
	case "visitLocation":
		if v.Kind == jsonscan.KindObject {
			_, _ = jsonscan.Object(v.Raw, func(key []byte, v jsonscan.Value) error {
				if string(key) == "countryCode" {
					s.Said.Country = v.Text()
				}
				return nil
			})
		}
	}
	return nil
}

func (s *shlink) finish() (Event, error) {
	e := &s.Event
	e.URL = s.address
	if e.URL == "" {
		e.URL = s.short
	}
	if s.code == "" {
		e.Kind, e.Status = hit.Request, 404
		if s.orphan == "base_url" {
			e.Status = 200
		}
		if e.URL == "" {
			return *e, wrong("visit.visitedUrl", "is missing")
		}
		return *e, nil
	}
	e.Kind, e.Link = hit.Click, s.code
	if e.Dest == "" {
		e.Dest = s.long
	}
	return *e, nil
}

// SignedByDub reports whether a signature is Dub's of this body: the hexadecimal HMAC-SHA256 under the webhook's secret.
func SignedByDub(body []byte, signature, secret string) bool {
	given, err := hex.DecodeString(strings.TrimSpace(signature))
	if err != nil || secret == "" {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hmac.Equal(mac.Sum(nil), given)
}

// ParseDub reads a webhook of Dub. ok is false for events other than a click: they are not hits. An error is a *FieldError or a
// *jsonscan.SyntaxError.
func ParseDub(body []byte) (e Event, ok bool, err error) {
	d := dub{Event: Event{Said: &Said{Other: true}, Kind: hit.Click, ScrollPercent: -1, EngagedMs: -1}}
	_, err = jsonscan.Object(body, func(key []byte, v jsonscan.Value) error {
		switch string(key) {
		case "event":
			d.event = v.Text()
		case "data":
			if v.Kind == jsonscan.KindObject {
				_, err := jsonscan.Object(v.Raw, d.data)
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return d.Event, false, err
	case d.event == "":
		return d.Event, false, wrong("event", "is missing")
	case d.event != "link.clicked":
		return d.Event, false, nil
	case d.Link == "":
		return d.Event, false, wrong("data.link.key", "is missing")
	case len(d.Link) > maxLink:
		return d.Event, false, wrong("data.link.key", "should be at most %d bytes", maxLink)
	case len(d.ID) > maxEventID:
		return d.Event, false, wrong("data.click.id", "should be at most %d bytes", maxEventID)
	}
	d.URL = "https://" + d.domain + "/"
	return d.Event, true, nil
}

type dub struct {
	Event
	event, domain string
}

func (d *dub) data(key []byte, v jsonscan.Value) error {
	if v.Kind != jsonscan.KindObject {
		return nil
	}
	var err error
	switch string(key) {
	case "click":
		_, err = jsonscan.Object(v.Raw, d.click)
	case "link":
		_, err = jsonscan.Object(v.Raw, d.link)
	}
	return err
}

func (d *dub) click(key []byte, v jsonscan.Value) error {
	switch string(key) {
	case "id":
		d.ID = v.Text()
	case "timestamp":
		ms, err := ParseTime(v)
		if err != nil {
			return wrong("data.click.timestamp", "%s", err)
		}
		d.Said.TimeMs = ms
	case "url":
		d.Dest = v.Text()
	case "country":
		d.Said.Country = v.Text()
	case "ip":
		d.Said.IP = v.Text()
	case "ua":
		if v.Kind == jsonscan.KindString {
			d.Said.Agent, d.Said.HasAgent = v.Text(), true
		}
	case "referer":
		if d.Referrer == "" {
			d.Referrer = v.Text()
		}
	case "refererUrl":
		if text := v.Text(); text != "" {
			d.Referrer = text
		}
	}
	return nil
}

func (d *dub) link(key []byte, v jsonscan.Value) error {
	switch string(key) {
	case "domain":
		d.domain = pageurl.Host(v.Text())
	case "key":
		d.Link = v.Text()
	}
	return nil
}
