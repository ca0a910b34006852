package dialect

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/jsonscan"
)

// MatomoGIF is the picture that Matomo answers with.
var MatomoGIF = []byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;")

// maxMatomoBack is how far back a time may lie that comes without a key, in milliseconds; Matomo's own number.
const maxMatomoBack = 24 * 3600 * 1000

// Matomo is one tracking request.
type Matomo struct {
	Site  string // idsite
	Event Event
	Token string // token_auth
	// NeedsKey says which parameter may only be used with a key: the request is refused without one.
	NeedsKey string
}

// ParseMatomo reads the parameters of /matomo.php, from a query or a form. pageFromHeader is the Referer header: the page, for pictures without
// script. An error is a *FieldError.
func ParseMatomo(q url.Values, pageFromHeader string, nowMs int64) (Matomo, error) {
	m := Matomo{Site: q.Get("idsite"), Token: q.Get("token_auth")}
	e := &m.Event
	*e = Event{URL: q.Get("url"), Referrer: q.Get("urlref"), Title: q.Get("action_name"), Language: Language(q.Get("lang")), ScreenWidth: screenWidth(q.Get("res")),
		ScrollPercent: -1, EngagedMs: -1}
	if m.Site == "" {
		return m, wrong("idsite", "is missing")
	}
	if rec := q.Get("rec"); rec != "1" {
		return m, wrong("rec", "must be 1, or the request is not recorded")
	}
	if id := q.Get("_id"); id != "" && !isVisitorID(id) {
		return m, wrong("_id", "must be 16 hexadecimal characters")
	}
	if id := q.Get("cid"); id != "" && !isVisitorID(id) {
		return m, wrong("cid", "must be 16 hexadecimal characters")
	}
	if e.URL == "" {
		e.URL = pageFromHeader
	}
	if e.URL == "" {
		e.URL = "/"
	}
	if err := m.said(q, nowMs); err != nil {
		return m, err
	}
	m.action(q)
	return m, nil
}

// said takes what servers say of visitors.
func (m *Matomo) said(q url.Values, nowMs int64) error {
	s := Said{IP: q.Get("cip"), Country: q.Get("country")}
	if q.Has("ua") {
		s.Agent, s.HasAgent = q.Get("ua"), true
	}
	if text := q.Get("cdt"); text != "" {
		ms, err := ParseTimeText([]byte(text))
		if err != nil {
			return wrong("cdt", "%s", err)
		}
		s.TimeMs = ms
	}
	if offset, err := strconv.ParseInt(q.Get("cdo"), 10, 64); err == nil && offset != 0 && max(offset, -offset) < 1<<40 {
		if s.TimeMs == 0 {
			s.TimeMs = nowMs
		}
		s.TimeMs -= max(offset, -offset) * 1000
	}
	switch {
	case s.IP != "":
		m.NeedsKey = "cip"
	case q.Get("country") != "":
		m.NeedsKey = "country"
	case s.TimeMs != 0 && s.TimeMs < nowMs-maxMatomoBack:
		m.NeedsKey = "cdt"
	}
	if s != (Said{}) {
		m.Event.Said = &s
	}
	return nil
}

func isVisitorID(text string) bool {
	if len(text) != 16 {
		return false
	}
	for i := range len(text) {
		if c := text[i]; !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// action tells what happened. Names of events are those that our own tracker and Plausible's use for the same things.
func (m *Matomo) action(q url.Values) {
	e := &m.Event
	event := func(name string, props ...string) {
		e.Kind, e.Name = hit.Event, name
		for i := 0; i+1 < len(props); i += 2 {
			e.Props = withProp(e.Props, props[i], props[i+1])
		}
	}
	goal := q.Get("idgoal")
	switch {
	case q.Get("ping") == "1":
		e.Kind = hit.Engagement
	case q.Get("link") != "":
		event("Outbound Link: Click", "url", q.Get("link"))
	case q.Get("download") != "":
		event("File Download", "url", q.Get("download"))
	case q.Has("search"):
		event("Search", "keyword", q.Get("search"), "category", q.Get("search_cat"), "count", q.Get("search_count"))
	case q.Get("e_c") != "" && q.Get("e_a") != "":
		event(cutRunes(q.Get("e_c")+": "+q.Get("e_a"), maxEventName), "category", q.Get("e_c"), "action", q.Get("e_a"), "name", q.Get("e_n"), "value", q.Get("e_v"))
	case q.Get("c_n") != "":
		name := "Content Impression"
		if q.Get("c_i") != "" {
			name = "Content Interaction"
		}
		event(name, "name", q.Get("c_n"), "piece", q.Get("c_p"), "target", q.Get("c_t"), "interaction", q.Get("c_i"))
	case goal == "0" && q.Get("ec_id") != "":
		event("Order", "order", q.Get("ec_id"))
	case goal == "0":
		event("Cart Update")
	case goal != "":
		event(cutRunes("Goal "+goal, maxEventName))
	case q.Get("ca") == "1":
		event("Custom Action")
	default:
		e.Name = NamePageview
	}
	if e.Kind != hit.Event && e.Kind != 0 {
		return
	}
	for _, name := range sortedNames(q) {
		if number, ok := strings.CutPrefix(name, "dimension"); ok && number != "" && isNumber(number) {
			e.Props = withProp(e.Props, name, q.Get(name))
		}
	}
	// The currency is a setting of the site in Matomo; without one an amount says nothing, so it is kept as a property.
	if amount := q.Get("revenue"); goal != "" && isAmount(amount) {
		e.Props = withProp(e.Props, "revenue", amount)
	}
}

func isNumber(text string) bool {
	_, ok := digits([]byte(text))
	return ok
}

// cutRunes shortens text to a number of characters.
func cutRunes(text string, most int) string {
	for i := range text {
		if most == 0 {
			return text[:i]
		}
		most--
	}
	return text
}

// MaxMatomoBulk bounds the requests of one bulk request.
const MaxMatomoBulk = 10_000

// IsMatomoBulk reports whether a body is one of bulk tracking.
func IsMatomoBulk(body []byte) bool {
	text := strings.TrimLeft(string(body[:min(len(body), 64)]), " \t\r\n")
	return strings.HasPrefix(text, "{") && strings.Contains(text, "requests") || strings.HasPrefix(text, "{") && strings.Contains(text, "token_auth")
}

// ParseMatomoBulk reads {"requests": ["?idsite=1&...", {...}], "token_auth": "..."} and returns the parameters of each request. An error is a
// *FieldError or a *jsonscan.SyntaxError.
func ParseMatomoBulk(body []byte) (requests []url.Values, token string, err error) {
	var list jsonscan.Value
	_, err = jsonscan.Object(body, func(key []byte, v jsonscan.Value) error {
		switch string(key) {
		case "requests":
			list = v
		case "token_auth":
			token = v.Text()
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	if list.Kind != jsonscan.KindArray {
		return nil, "", wrong("requests", "must be an array of query strings")
	}
	_, err = jsonscan.Array(list.Raw, func(v jsonscan.Value) error {
		if len(requests) >= MaxMatomoBulk {
			return wrong("requests", "may hold at most %d", MaxMatomoBulk)
		}
		requests = append(requests, matomoRequest(v))
		return nil
	})
	return requests, token, err
}

// matomoRequest reads one element: a query string, with or without what stands before it, or an object of parameters.
func matomoRequest(v jsonscan.Value) url.Values {
	q := url.Values{}
	switch v.Kind {
	case jsonscan.KindString:
		text := v.Text()
		if at := strings.IndexByte(text, '?'); at >= 0 && !strings.ContainsAny(text[:at], "&=") {
			text = text[at+1:]
		}
		q, _ = url.ParseQuery(text) // what can be read of it
	case jsonscan.KindObject:
		_, _ = jsonscan.Object(v.Raw, func(key []byte, v jsonscan.Value) error {
			if v.Kind != jsonscan.KindNull {
				q.Set(string(key), v.Text())
			}
			return nil
		})
	}
	return q
}
