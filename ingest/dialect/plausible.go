package dialect

import (
	"strings"
	"unicode/utf8"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/jsonscan"
	"github.com/weir-analytics/weir/ingest/pageurl"
)

// Limits of Plausible's own server, and of our additions.
const (
	maxEventName = 120 // characters
	maxProps     = 30
	maxPropKey   = 300  // bytes
	maxPropValue = 2000 // bytes
	maxEventID   = 128  // bytes
	maxEngagedMs = 30 * 24 * 3600 * 1000
)

// Event is what a page's tracker sends.
type Event struct {
	ID             string // given by the sender, to drop repeats; ours, not Plausible's
	Name           string
	URL            string
	Domain         string // one site or several with commas; "" is the host of URL
	Referrer       string
	Title          string // ours
	HashMode       bool   // the fragment is part of the page
	NonInteractive bool
	Props          map[string]string
	Revenue        hit.Revenue
	ScrollPercent  int    // -1: not given
	EngagedMs      int64  // -1: not given
	ScreenWidth    int    // CSS pixels; 0: not given
	Language       string // BCP 47; "" is what the browser's header says

	Kind   hit.Kind // 0: by Name
	Link   string   // of a click: the short link
	Dest   string   // and where it leads
	Status int      // HTTP status, where the sender is a server that tells it
	Robot  string   // kind of bot that the sender takes the visitor for: RobotDriven or RobotSender; "" when it says nothing
	Said   *Said    // what the sender says of others; nil when it says nothing
}

// Said is what a sender says of a visitor, in place of its own address, agent and time. The caller takes it from senders that have shown a
// key, and clears it otherwise.
type Said struct {
	Other    bool  // the sender is a server: its own address and agent are nobody's
	TimeMs   int64 // Unix milliseconds; 0: now
	IP       string
	Client   string // name of the visitor where no address is known
	Agent    string
	HasAgent bool   // an agent is named, if empty
	Country  string // counts where the address tells none
}

// Kinds of bots by a sender's word. They are stored in hits.
const (
	RobotDriven = "driven" // the script noticed that a program drives the browser
	RobotSender = "sender" // the service takes the visitor for a bot
)

// Names with a meaning of their own.
const (
	NamePageview   = "pageview"
	NameEngagement = "engagement"
)

// ParsePlausible reads the body of POST /api/event: one object with one-letter keys, as the script sends it, or long ones, as servers do.
// Where both are there, the short one wins. Unknown members are left out. An error is a *FieldError or a *jsonscan.SyntaxError.
func ParsePlausible(body []byte) (Event, error) {
	e := Event{ScrollPercent: -1, EngagedMs: -1}
	p := plausible{event: &e}
	rest, err := jsonscan.Object(body, p.member)
	if err != nil {
		return e, err
	}
	if !jsonscan.Blank(rest) {
		return e, wrong("body", "holds more than one JSON object; send one per request, or use /api/clicks for batches")
	}
	return e, p.check()
}

// plausible remembers which fields came under their short name.
type plausible struct {
	event                              *Event
	name, url, domain, referrer, props bool
}

// member takes one member of the object.
func (p *plausible) member(key []byte, v jsonscan.Value) error {
	e := p.event
	switch string(key) {
	case "n":
		p.name = true
		return p.setName(v)
	case "name":
		if !p.name {
			return p.setName(v)
		}
	case "u", "url":
		return setText(&e.URL, &p.url, "url", len(key) == 1, v)
	case "d", "domain":
		return setText(&e.Domain, &p.domain, "domain", len(key) == 1, v)
	case "r", "referrer":
		return setText(&e.Referrer, &p.referrer, "referrer", len(key) == 1, v)
	case "t":
		e.Title = v.Text()
	case "w", "screen_width":
		e.ScreenWidth = screenWidthOf(v)
	case "l":
		e.Language = Language(v.Text())
	case "id":
		if v.Kind != jsonscan.KindNull {
			e.ID = v.Text()
		}
	case "p", "m", "meta", "props":
		short := len(key) == 1
		if p.props && !short {
			return nil
		}
		p.props = p.props || short
		return p.setProps(v)
	case "h", "hashMode":
		n, ok := v.Int()
		e.HashMode = ok && n == 1 || v.True()
	case "i", "interactive":
		e.NonInteractive = v.False()
	case "sd":
		if n, ok := v.Int(); ok && n >= 0 && n <= 255 {
			e.ScrollPercent = int(min(n, 100))
		}
	case "e":
		if n, ok := v.Int(); ok {
			e.EngagedMs = 0
			if n >= 0 && n < maxEngagedMs {
				e.EngagedMs = n
			}
		}
	case "$", "revenue":
		p.setRevenue(v)
	}
	return nil
}

// setText sets a text field unless its short name was there already.
func setText(field *string, hadShort *bool, name string, short bool, v jsonscan.Value) error {
	if *hadShort && !short {
		return nil
	}
	*hadShort = *hadShort || short
	switch v.Kind {
	case jsonscan.KindString, jsonscan.KindNull:
		*field = v.Text()
		return nil
	}
	return wrong(name, "must be a string")
}

func (p *plausible) setName(v jsonscan.Value) error {
	switch v.Kind {
	case jsonscan.KindString, jsonscan.KindNumber, jsonscan.KindNull:
		p.event.Name = v.Text()
		return nil
	}
	return wrong("event_name", "must be a string")
}

// setProps takes custom properties: an object, or the text of one. Empty keys and values, lists and objects are left out; of too many
// the first ones are kept.
func (p *plausible) setProps(v jsonscan.Value) error {
	source := v.Raw
	switch v.Kind {
	case jsonscan.KindNull:
		return nil
	case jsonscan.KindString:
		source = v.Bytes()
		if jsonscan.Blank(source) {
			return nil
		}
	case jsonscan.KindObject:
	default:
		return wrong("props", "must be an object")
	}
	props := map[string]string{}
	rest, err := jsonscan.Object(source, func(key []byte, v jsonscan.Value) error { return addProp(props, key, v) })
	if err != nil {
		if _, ok := err.(*FieldError); ok {
			return err
		}
		return wrong("props", "must be an object, or the text of one")
	}
	if !jsonscan.Blank(rest) {
		return wrong("props", "must be one object")
	}
	p.event.Props = nil
	if len(props) > 0 {
		p.event.Props = props
	}
	return nil
}

func addProp(props map[string]string, key []byte, v jsonscan.Value) error {
	switch v.Kind {
	case jsonscan.KindObject, jsonscan.KindArray, jsonscan.KindNull:
		return nil
	}
	value := v.Text()
	if len(props) >= maxProps || len(key) == 0 || strings.TrimSpace(value) == "" {
		return nil
	}
	if len(key) > maxPropKey || len(value) > maxPropValue {
		return wrong("props", "keys may have %d bytes, values %d", maxPropKey, maxPropValue)
	}
	props[string(key)] = value
	return nil
}

// setRevenue keeps an amount of money. One that makes no sense is left out: the event itself still counts.
func (p *plausible) setRevenue(v jsonscan.Value) {
	source := v.Raw
	if v.Kind == jsonscan.KindString {
		source = v.Bytes()
	}
	var r hit.Revenue
	_, err := jsonscan.Object(source, func(key []byte, v jsonscan.Value) error {
		switch string(key) {
		case "currency":
			r.Currency = strings.ToUpper(v.Text())
		case "amount":
			r.Amount = strings.TrimSpace(v.Text())
		}
		return nil
	})
	if err == nil && isCurrency(r.Currency) && isAmount(r.Amount) {
		p.event.Revenue = r
	}
}

func isCurrency(text string) bool {
	if len(text) != 3 {
		return false
	}
	for i := range len(text) {
		if text[i] < 'A' || text[i] > 'Z' {
			return false
		}
	}
	return true
}

// isAmount accepts what JSON accepts as a number.
func isAmount(text string) bool {
	v, rest, err := jsonscan.One([]byte(text))
	return err == nil && v.Kind == jsonscan.KindNumber && len(rest) == 0 && len(text) <= 32
}

// check reports what is missing or too long.
func (p *plausible) check() error {
	e := p.event
	e.Name = strings.TrimSpace(e.Name)
	switch {
	case e.Name == "":
		return wrong("event_name", "can't be blank")
	case utf8.RuneCountInString(e.Name) > maxEventName:
		return wrong("event_name", "should be at most %d character(s)", maxEventName)
	case strings.TrimSpace(e.URL) == "":
		return wrong("url", "is required")
	case !pageurl.IsPage(e.URL):
		return wrong("url", "scheme is not allowed")
	case p.domain && strings.Trim(e.Domain, " ,") == "":
		return wrong("domain", "can't be blank")
	case len(e.ID) > maxEventID:
		return wrong("id", "should be at most %d bytes", maxEventID)
	case e.Name == NameEngagement && e.ScrollPercent < 0 && e.EngagedMs < 0:
		return wrong("scroll_depth", "an engagement needs sd or e")
	}
	return nil
}

// ParseTimedEvent is ParsePlausible for an element of a batch: a pageview when it has no name, and with the member ts, the time. Said is set
// when there is one. ts is RFC 3339, or a number as ParseTime reads it.
func ParseTimedEvent(body []byte) (Event, error) {
	e := Event{ScrollPercent: -1, EngagedMs: -1}
	p := plausible{event: &e}
	_, err := jsonscan.Object(body, func(key []byte, v jsonscan.Value) error {
		if string(key) != "ts" {
			return p.member(key, v)
		}
		ms, err := ParseTime(v)
		if err != nil {
			return wrong("ts", "%s", err)
		}
		e.Said = &Said{TimeMs: ms}
		return nil
	})
	if err != nil {
		return e, err
	}
	if e.Name == "" {
		e.Name = NamePageview
	}
	return e, p.check()
}
