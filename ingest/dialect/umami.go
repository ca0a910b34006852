package dialect

import (
	"strings"
	"unicode/utf8"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/jsonscan"
)

// Limits of Umami's own server, in characters.
const (
	maxUmamiHostname = 100
	maxUmamiLanguage = 35
	maxUmamiScreen   = 11
	maxUmamiName     = 50
)

// Types of messages of Umami's tracker.
const (
	UmamiEvent       = "event"
	UmamiIdentify    = "identify"
	UmamiPerformance = "performance"
)

// Umami is what a message of Umami's tracker says.
type Umami struct {
	Type    string
	Website string // UUID; of a site here: see docs/interfaces.md
	Link    string // UUID of a short link
	Pixel   string // UUID of a picture
	Host    string // of the page, as the tracker says
	Event   Event
}

// ParseUmami reads the body of POST /api/send, or one element of POST /api/batch: {"type": "event", "payload": {...}}. An error is a
// *FieldError or a *jsonscan.SyntaxError.
func ParseUmami(body []byte) (Umami, error) {
	u := umami{Umami: Umami{Event: Event{ScrollPercent: -1, EngagedMs: -1}}}
	rest, err := jsonscan.Object(body, u.member)
	if err != nil {
		return u.Umami, err
	}
	if !jsonscan.Blank(rest) {
		return u.Umami, wrong("body", "holds more than one JSON object; send several to /api/batch as an array")
	}
	return u.Umami, u.check()
}

// umami is a message being read.
type umami struct {
	Umami
	url, language, screen, tag string
	havePayload                bool
}

func (u *umami) member(key []byte, v jsonscan.Value) error {
	switch string(key) {
	case "type":
		u.Type = v.Text()
	case "payload":
		if v.Kind != jsonscan.KindObject {
			return wrong("payload", "must be an object")
		}
		u.havePayload = true
		_, err := jsonscan.Object(v.Raw, u.payload)
		return err
	}
	return nil
}

// payload takes one member of the payload.
func (u *umami) payload(key []byte, v jsonscan.Value) error {
	e := &u.Event
	switch name := string(key); name {
	case "website":
		return umamiText(&u.Website, name, v)
	case "link":
		return umamiText(&u.Link, name, v)
	case "pixel":
		return umamiText(&u.Pixel, name, v)
	case "hostname":
		return umamiText(&u.Host, name, v)
	case "url":
		return umamiText(&u.url, name, v)
	case "referrer":
		return umamiText(&e.Referrer, name, v)
	case "title":
		return umamiText(&e.Title, name, v)
	case "name":
		return umamiText(&e.Name, name, v)
	case "language":
		return umamiText(&u.language, name, v)
	case "screen":
		return umamiText(&u.screen, name, v)
	case "tag":
		return umamiText(&u.tag, name, v)
	case "data":
		if v.Kind == jsonscan.KindObject {
			e.Props = flatten(e.Props, "", v, 0)
		}
	case "lcp", "inp", "cls", "fcp", "ttfb":
		if v.Kind == jsonscan.KindNumber {
			e.Props = withProp(e.Props, name, v.Text())
		}
	case "timestamp":
		ms, err := ParseTime(v)
		if err != nil {
			return wrong(name, "%s", err)
		}
		u.said().TimeMs = ms
	case "ip":
		u.said().IP = v.Text()
	case "userAgent":
		if v.Kind == jsonscan.KindString {
			s := u.said()
			s.Agent, s.HasAgent = v.Text(), true
		}
	}
	return nil
}

func (u *umami) said() *Said {
	if u.Event.Said == nil {
		u.Event.Said = new(Said)
	}
	return u.Event.Said
}

func umamiText(field *string, name string, v jsonscan.Value) error {
	switch v.Kind {
	case jsonscan.KindString, jsonscan.KindNull:
		*field = v.Text()
		return nil
	}
	return wrong(name, "Invalid input: expected string")
}

// check reports what Umami's server refuses, and puts the page together.
func (u *umami) check() error {
	switch u.Type {
	case UmamiEvent, UmamiIdentify, UmamiPerformance:
	default:
		return wrong("type", `Invalid option: expected one of "event"|"identify"|"performance"`)
	}
	if !u.havePayload {
		return wrong("payload", "Invalid input: expected object")
	}
	given := 0
	for _, id := range []string{u.Website, u.Link, u.Pixel} {
		if id != "" {
			given++
		}
	}
	if given != 1 {
		return wrong("payload", "Exactly one of website, link, or pixel must be provided")
	}
	for _, limit := range []struct {
		name, value string
		max         int
	}{{"hostname", u.Host, maxUmamiHostname}, {"language", u.language, maxUmamiLanguage}, {"screen", u.screen, maxUmamiScreen},
		{"name", u.Event.Name, maxUmamiName}, {"tag", u.tag, maxUmamiName}} {
		if utf8.RuneCountInString(limit.value) > limit.max {
			return wrong(limit.name, "Too big: expected string to have <=%d characters", limit.max)
		}
	}
	if u.tag != "" {
		u.Event.Props = withProp(u.Event.Props, "tag", u.tag)
	}
	u.Event.Language, u.Event.ScreenWidth = Language(u.language), screenWidth(u.screen)
	u.page()
	return nil
}

// page completes the event. Umami keeps every fragment; here only one that looks like a route is part of the page, or each jump within a page
// would be a page.
func (u *umami) page() {
	e := &u.Event
	e.URL = u.url
	if u.Host != "" && !strings.Contains(e.URL, "://") && !strings.HasPrefix(e.URL, "//") {
		e.URL = "https://" + u.Host + "/" + strings.TrimPrefix(e.URL, "/")
	}
	if e.URL == "" {
		e.URL = "/"
	}
	if _, fragment, ok := strings.Cut(e.URL, "#"); ok {
		e.HashMode = strings.HasPrefix(fragment, "/") || strings.HasPrefix(fragment, "!")
	}
	switch {
	case u.Type == UmamiPerformance:
		e.Kind = hit.Engagement
	case u.Link != "":
		e.Kind, e.Link = hit.Click, u.Link
	case e.Name == "":
		e.Name = NamePageview
	default:
		e.Kind = hit.Event
	}
}
