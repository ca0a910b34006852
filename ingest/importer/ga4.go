package importer

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// ga4Event is one line of Google Analytics 4's export to BigQuery, as newline-delimited JSON
// (https://support.google.com/analytics/answer/7029846). Numbers of 64 bits are text there.
type ga4Event struct {
	Name   string          `json:"event_name"`
	Micros json.RawMessage `json:"event_timestamp"` // since 1970
	User   string          `json:"user_pseudo_id"`
	Params []struct {
		Key   string `json:"key"`
		Value struct {
			Text   *string         `json:"string_value"`
			Int    json.RawMessage `json:"int_value"`
			Float  json.RawMessage `json:"float_value"`
			Double json.RawMessage `json:"double_value"`
		} `json:"value"`
	} `json:"event_params"`
	Device struct {
		Category  string `json:"category"`
		OS        string `json:"operating_system"`
		OSVersion string `json:"operating_system_version"`
		Language  string `json:"language"`
		Browser   string `json:"browser"`
		Version   string `json:"browser_version"`
		Web       struct {
			Browser string `json:"browser"`
			Version string `json:"browser_version"`
		} `json:"web_info"`
	} `json:"device"`
	Geo struct {
		Country string `json:"country"`
		Region  string `json:"region"`
		City    string `json:"city"`
	} `json:"geo"`
}

// looksGA4 reports whether a line is of that export.
func looksGA4(line []byte) bool {
	return strings.Contains(string(line), `"event_timestamp"`) && strings.Contains(string(line), `"event_name"`)
}

// ga4Own are events that Google counts with and that nobody has done.
var ga4Own = map[string]bool{"session_start": true, "first_visit": true, "first_open": true, "ad_impression": true}

func (p *Parser) parseGA4(line []byte, into *Line) error {
	var g ga4Event
	if err := json.Unmarshal(line, &g); err != nil {
		return bad(BadJSON, "%v", err)
	}
	micros, err := strconv.ParseInt(strings.Trim(string(g.Micros), `"`), 10, 64)
	if err != nil || micros < 0 {
		return bad(BadTime, "event_timestamp: %s, want microseconds since 1970", clip(string(g.Micros)))
	}
	into.TimeMs = micros / 1000
	if ga4Own[g.Name] {
		return bad(NoHit, "%s is what Google Analytics counts with", g.Name)
	}
	if g.Name == "" {
		return bad(NoHit, "event_name is empty")
	}
	p.export = Export{}
	e := &p.export
	into.Export, into.Method, into.Client = e, get, []byte(g.User)
	page := ""
	for i := range g.Params {
		param := &g.Params[i]
		value := ""
		switch v := &param.Value; {
		case v.Text != nil:
			value = *v.Text
		default:
			for _, number := range []json.RawMessage{v.Int, v.Float, v.Double} {
				if text := strings.Trim(string(number), `"`); text != "" && text != "null" {
					value = text
					break
				}
			}
		}
		switch param.Key {
		case "page_location":
			page = value
		case "page_referrer":
			into.Referrer = []byte(value)
		case "page_title":
			e.Title = value
		case "engagement_time_msec":
			e.EngagedMs, _ = strconv.ParseInt(value, 10, 64)
			e.EngagedMs = max(e.EngagedMs, 0)
		default:
			if value == "" || strings.HasPrefix(param.Key, "ga_") || ga4Bookkeeping[param.Key] {
				continue
			}
			if e.Props == nil {
				e.Props = map[string]string{}
			}
			e.Props[param.Key] = value
		}
	}
	switch g.Name {
	case "page_view":
		e.Props, e.EngagedMs = nil, 0
	case "user_engagement", "scroll":
		if e.EngagedMs == 0 {
			return bad(NoHit, "%s without engagement_time_msec", g.Name)
		}
		e.Engagement, e.Props = true, nil
	default:
		e.Event, e.EngagedMs = g.Name, 0
	}
	if u, err := url.Parse(page); err == nil && page != "" {
		into.Host, into.Target = []byte(u.Host), []byte(u.RequestURI())
	} else if e.Event == "" {
		return bad(NoHit, "%s without page_location", g.Name)
	}
	d := &g.Device
	if d.Web.Browser != "" {
		d.Browser, d.Version = d.Web.Browser, d.Web.Version
	}
	e.Browser, e.OS, e.Device = browserName(d.Browser), systemName(d.OS), deviceName(d.Category)
	if e.Browser != "" {
		e.BrowserVersion = known(d.Version)
	}
	e.OSVersion, e.Language = known(d.OSVersion), d.Language
	e.OS, _ = windowsVersion(e.OS)
	if e.OS == "Windows" {
		e.OSVersion = strings.TrimPrefix(e.OSVersion, "Windows ")
	}
	e.Country = countryOf(g.Geo.Country)
	if e.Country != "" {
		e.Region, e.City = known(g.Geo.Region), known(g.Geo.City)
	}
	return nil
}

// ga4Bookkeeping are parameters that Google adds by itself.
var ga4Bookkeeping = map[string]bool{"session_engaged": true, "engaged_session_event": true, "entrances": true, "debug_mode": true, "ignore_referrer": true,
	"batch_ordering_id": true, "batch_page_id": true, "percent_scrolled": true, "term": true, "source": true, "medium": true, "campaign": true, "content": true, "gclid": true}

func known(text string) string {
	if text == "(not set)" || text == "not set" {
		return ""
	}
	return text
}

// countryOf is the ISO 3166-1 code of a country's English name, "" when nobody knows it.
func countryOf(name string) string { return countryCodes()[strings.ToLower(name)] }

var countryCodes = sync.OnceValue(func() map[string]string {
	codes := map[string]string{"türkiye": "TR", "turkey": "TR", "czech republic": "CZ", "hong kong": "HK", "macao": "MO", "macau": "MO", "myanmar (burma)": "MM", "palestine": "PS",
		"bosnia and herzegovina": "BA", "trinidad and tobago": "TT", "antigua and barbuda": "AG", "st. kitts and nevis": "KN", "st. vincent and grenadines": "VC",
		"côte d’ivoire": "CI", "cote d'ivoire": "CI", "congo - kinshasa": "CD", "congo - brazzaville": "CG", "north macedonia": "MK", "swaziland": "SZ"}
	names := display.English.Regions()
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			code := string(a) + string(b)
			region, err := language.ParseRegion(code)
			if err != nil || !region.IsCountry() || region.Canonicalize().String() != code {
				continue
			}
			if name := strings.ToLower(names.Name(region)); name != "" && codes[name] == "" {
				codes[name] = code
			}
		}
	}
	return codes
})
