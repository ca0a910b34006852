package dialect

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/jsonscan"
)

// Limits of Google's own servers.
const (
	maxGA4Events = 25
	maxGA4Params = 25
	maxGA4Name   = 40
	maxGA4Value  = 100
)

// ga4Own are events that gtag sends by itself: they belong to a page view, or to a visit, and are none.
var ga4Own = map[string]bool{"scroll": true, "user_engagement": true, "session_start": true, "first_visit": true}

// ParseGA4 reads a request of gtag.js to /g/collect: parameters in the query, and further events, a query string a line, in the body. It calls
// take for each event, in order. An error is a *FieldError, and then nothing was taken.
func ParseGA4(query string, body []byte, take func(Event)) error {
	shared, _ := url.ParseQuery(query) // what can be read of it
	if shared.Get("v") != "2" {
		return wrong("v", "must be 2")
	}
	lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
	if len(lines) > maxGA4Events {
		return wrong("en", "more than %d events", maxGA4Events)
	}
	if len(lines) == 1 && len(lines[0]) == 0 {
		take(ga4Event(shared, url.Values{}))
		return nil
	}
	if shared.Get("en") != "" {
		take(ga4Event(shared, url.Values{}))
	}
	for _, line := range lines {
		own, _ := url.ParseQuery(string(bytes.TrimSpace(line)))
		if own.Get("en") != "" {
			take(ga4Event(shared, own))
		}
	}
	return nil
}

// ga4Event puts one event together. What a line says goes before what the query says.
func ga4Event(shared, own url.Values) Event {
	get := func(name string) string {
		if own.Has(name) {
			return own.Get(name)
		}
		return shared.Get(name)
	}
	e := Event{Name: get("en"), URL: get("dl"), Referrer: get("dr"), Title: get("dt"), Language: Language(get("ul")), ScreenWidth: screenWidth(get("sr")),
		ScrollPercent: -1, EngagedMs: -1}
	if e.URL == "" && (get("dh") != "" || get("dp") != "") {
		e.URL = "https://" + get("dh") + "/" + strings.TrimPrefix(get("dp"), "/")
	}
	params := shared
	if len(own) > 0 {
		params = own
	}
	for _, name := range sortedNames(params) {
		if key, ok := strings.CutPrefix(name, "ep."); ok {
			e.Props = withProp(e.Props, key, params.Get(name))
		} else if key, ok := strings.CutPrefix(name, "epn."); ok {
			e.Props = withProp(e.Props, key, params.Get(name))
		}
	}
	e.finishGA4(get("_et"), get("cu"))
	return e
}

// finishGA4 gives an event its kind.
func (e *Event) finishGA4(engaged, currency string) {
	if currency == "" {
		currency = e.Props["currency"]
	}
	switch {
	case e.Name == "" || e.Name == "page_view":
		e.Name, e.Props = NamePageview, nil
		return
	case ga4Own[e.Name]:
		e.Name = NameEngagement
		if n, err := strconv.ParseFloat(e.Props["percent_scrolled"], 64); err == nil && n >= 0 && n <= 255 {
			e.ScrollPercent = int(min(n, 100))
		}
		if n, err := strconv.ParseInt(engaged, 10, 64); err == nil && n >= 0 && n < maxEngagedMs {
			e.EngagedMs = n
		}
		e.Props = nil
		return
	}
	e.Kind = hit.Event
	currency = strings.ToUpper(currency)
	if amount := e.Props["value"]; isCurrency(currency) && isAmount(amount) {
		e.Revenue = hit.Revenue{Currency: currency, Amount: amount}
	}
}

// GA4Problem is what the debugging server of the Measurement Protocol says of a request.
type GA4Problem struct {
	Field       string `json:"fieldPath,omitempty"`
	Description string `json:"description"`
	Code        string `json:"validationCode"`
}

// ParseGA4Server reads the body of POST /mp/collect. It calls take for each event that can be counted, and returns what is wrong with the
// others. Google's server never tells; its debugging server does.
func ParseGA4Server(body []byte, take func(Event)) []GA4Problem {
	m := measurement{}
	if _, err := jsonscan.Object(body, m.member); err != nil {
		return []GA4Problem{{"", "Unable to parse Measurement Protocol JSON payload. " + err.Error(), "VALUE_INVALID"}}
	}
	if m.client == "" && m.user == "" {
		m.problem("client_id", "Measurement requires a client_id.", "VALUE_REQUIRED")
		return m.problems
	}
	if len(m.events) == 0 {
		m.problem("events", "Measurement requires at least one event.", "VALUE_REQUIRED")
	}
	if len(m.events) > maxGA4Events {
		m.problem("events", "At most 25 events are allowed per request.", "EXCEEDED_MAX_ENTITIES")
		return m.problems
	}
	for i, v := range m.events {
		if e, ok := m.event(i, v); ok {
			take(e)
		}
	}
	return m.problems
}

// measurement is a request of the Measurement Protocol being read.
type measurement struct {
	client, user string
	language     string
	width        int
	said         Said
	events       []jsonscan.Value
	problems     []GA4Problem
}

func (m *measurement) problem(field, description, code string) {
	m.problems = append(m.problems, GA4Problem{field, description, code})
}

func (m *measurement) member(key []byte, v jsonscan.Value) error {
	switch string(key) {
	case "client_id":
		m.client = v.Text()
	case "user_id":
		m.user = v.Text()
	case "ip_override":
		m.said.IP = v.Text()
	case "timestamp_micros":
		if ms, err := ParseTime(v); err == nil {
			m.said.TimeMs = ms
		} else {
			m.problem("timestamp_micros", err.Error(), "VALUE_INVALID")
		}
	case "user_agent":
		m.said.Agent, m.said.HasAgent = v.Text(), v.Kind == jsonscan.KindString
	case "user_location":
		if v.Kind == jsonscan.KindObject {
			_, _ = jsonscan.Object(v.Raw, func(key []byte, v jsonscan.Value) error {
				if string(key) == "country_id" {
					m.said.Country = v.Text()
				}
				return nil
			})
		}
	case "device":
		if v.Kind == jsonscan.KindObject {
			_, _ = jsonscan.Object(v.Raw, func(key []byte, v jsonscan.Value) error {
				switch string(key) {
				case "language":
					m.language = Language(v.Text())
				case "screen_resolution":
					m.width = screenWidth(v.Text())
				}
				return nil
			})
		}
	case "events":
		if v.Kind == jsonscan.KindArray {
			_, err := jsonscan.Array(v.Raw, func(v jsonscan.Value) error { m.events = append(m.events, v); return nil })
			return err
		}
	}
	return nil
}

// event reads one event.
func (m *measurement) event(index int, v jsonscan.Value) (Event, bool) {
	field := "events[" + strconv.Itoa(index) + "]"
	if v.Kind != jsonscan.KindObject {
		m.problem(field, "An event must be an object.", "VALUE_INVALID")
		return Event{}, false
	}
	e := Event{Language: m.language, ScreenWidth: m.width, ScrollPercent: -1, EngagedMs: -1}
	said := m.said
	engaged := ""
	_, _ = jsonscan.Object(v.Raw, func(key []byte, v jsonscan.Value) error {
		switch string(key) {
		case "name":
			e.Name = v.Text()
		case "timestamp_micros":
			if ms, err := ParseTime(v); err == nil {
				said.TimeMs = ms
			}
		case "params":
			if v.Kind == jsonscan.KindObject {
				engaged = m.params(field, &e, v)
			}
		}
		return nil
	})
	if !m.nameOK(index, e.Name) {
		return e, false
	}
	said.Other = true
	said.Client = "client " + m.client + "\x00" + m.user
	e.Said = &said
	e.finishGA4(engaged, "")
	return e, true
}

// params reads the parameters of an event and returns how long the visitor was engaged.
func (m *measurement) params(field string, e *Event, object jsonscan.Value) (engaged string) {
	count := 0
	_, _ = jsonscan.Object(object.Raw, func(key []byte, v jsonscan.Value) error {
		count++
		switch name := string(key); name {
		case "page_location":
			e.URL = v.Text()
		case "page_referrer":
			e.Referrer = v.Text()
		case "page_title":
			e.Title = v.Text()
		case "engagement_time_msec":
			engaged = v.Text()
		case "session_id":
		default:
			if len(name) > maxGA4Name || !isGA4Name(name) {
				m.problem(field+".params", "A parameter has the invalid name ["+name+"]. Names must start with a letter and only contain alphanumeric characters and underscores.", "NAME_INVALID")
				return nil
			}
			if v.Kind == jsonscan.KindString && len(v.Raw) > maxGA4Value {
				m.problem(field+".params."+name, "A parameter's value may have at most 100 characters.", "VALUE_OUT_OF_BOUNDS")
			}
			if v.Kind != jsonscan.KindObject && v.Kind != jsonscan.KindArray {
				e.Props = withProp(e.Props, name, v.Text())
			}
		}
		return nil
	})
	if count > maxGA4Params {
		m.problem(field+".params", "At most 25 params are allowed per event.", "EXCEEDED_MAX_ENTITIES")
	}
	return engaged
}

// nameOK checks the name of an event.
func (m *measurement) nameOK(index int, name string) bool {
	number := strconv.Itoa(index)
	field := "events[" + number + "]"
	switch {
	case name == "":
		m.problem(field+".name", "An event requires a name.", "VALUE_REQUIRED")
	case len(name) > maxGA4Name || !isGA4Name(name):
		m.problem(field, "Event at index: ["+number+"] has invalid name ["+name+"]. Only alphanumeric characters and underscores are allowed.", "NAME_INVALID")
	case ga4Reserved[name]:
		m.problem(field, "Event at index: ["+number+"] has name ["+name+"] which is reserved.", "NAME_RESERVED")
	default:
		return true
	}
	return false
}

// ga4Reserved are names that Google keeps for itself.
var ga4Reserved = func() map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(`ad_activeview ad_click ad_exposure ad_query ad_reward adunit_exposure app_clear_data app_exception app_install
		app_remove app_store_refund app_update app_upgrade dynamic_link_app_open dynamic_link_app_update dynamic_link_first_open error
		firebase_campaign firebase_in_app_message_action firebase_in_app_message_dismiss firebase_in_app_message_impression first_open
		first_visit in_app_purchase notification_dismiss notification_foreground notification_open notification_receive notification_send
		os_update screen_view session_start user_engagement`) {
		set[name] = true
	}
	return set
}()

func isGA4Name(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && !isDigit(c)) {
			return false
		}
	}
	return name != ""
}
