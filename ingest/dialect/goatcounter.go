package dialect

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/jsonscan"
)

// Limits of GoatCounter's own server, in bytes, and in hits of one request.
const (
	maxGoatPath  = 2048
	maxGoatTitle = 1024
	MaxGoatHits  = 500
)

// GoatGIF is the picture that GoatCounter answers with.
var GoatGIF = []byte("GIF89a\x01\x00\x01\x00\x80\x01\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\n\x00\x01\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02L\x01\x00;")

// ParseGoatCounter reads the query of /count: p path or name of an event, r referrer, t title, e event, q query of the page, b what the script
// knows of bots, s size of the screen. host is that of the page when p is a path. An error is a *FieldError.
func ParseGoatCounter(q url.Values, host string) (Event, error) {
	g := goatHit{path: q.Get("p"), title: q.Get("t"), query: q.Get("q"), ref: q.Get("r"), width: screenWidth(q.Get("s"))}
	switch q.Get("e") {
	case "true", "1", "on":
		g.event = true
	}
	if text := q.Get("b"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return Event{}, wrong("b", "must be a number")
		}
		g.bot = n
	}
	return g.build(host)
}

// goatHit is one hit as GoatCounter names its parts.
type goatHit struct {
	path, title, query, ref string
	language                string
	event                   bool
	bot, width              int
}

// build checks a hit and turns it into an event.
func (g *goatHit) build(host string) (Event, error) {
	e := Event{Referrer: g.ref, Title: g.title, Language: g.language, ScreenWidth: g.width, ScrollPercent: -1, EngagedMs: -1}
	if g.bot >= 150 {
		e.Robot = RobotDriven
	}
	switch {
	case g.bot < 0 || g.bot > 0 && g.bot < 150:
		return e, wrong("b", "wrong value: b=%d", g.bot)
	case strings.TrimSpace(g.path) == "":
		return e, wrong("path", "must be set")
	case len(g.path) > maxGoatPath:
		return e, wrong("path", "must be fewer than %d characters", maxGoatPath)
	case len(g.title) > maxGoatTitle:
		return e, wrong("title", "must be fewer than %d characters", maxGoatTitle)
	}
	if g.event {
		e.Kind, e.Name, e.URL = hit.Event, g.path, "/"
		if host != "" {
			e.URL = "https://" + host + "/"
		}
		return e, nil
	}
	e.Name, e.URL = NamePageview, goatURL(g.path, g.query, host)
	return e, nil
}

// goatURL puts the page's address together. The script sends the path with the query that belongs to the page, and apart from it the whole
// query that the page was opened with, for the campaign.
func goatURL(path, query, host string) string {
	address := path
	if !strings.Contains(path, "://") {
		address = "/" + strings.TrimPrefix(path, "/")
		if host != "" {
			address = "https://" + host + address
		}
	}
	query = strings.TrimPrefix(query, "?")
	if query == "" || strings.Contains(address, query) {
		return address
	}
	if strings.Contains(address, "?") {
		return address + "&" + query
	}
	return address + "?" + query
}

// GoatHit is one element of POST /api/v0/count.
type GoatHit struct {
	Event Event
	Err   error // why it cannot be taken: a *FieldError
}

// ParseGoatCounterAPI reads the body of POST /api/v0/count. It calls take for each hit, in order, up to the limit. An error is a *FieldError
// or a *jsonscan.SyntaxError, and then nothing was taken.
func ParseGoatCounterAPI(body []byte, host string, take func(GoatHit)) error {
	var hits jsonscan.Value
	noSessions := false
	_, err := jsonscan.Object(body, func(key []byte, v jsonscan.Value) error {
		switch string(key) {
		case "no_sessions":
			noSessions = v.True()
		case "hits":
			hits = v
		}
		return nil
	})
	if err != nil {
		return err
	}
	if hits.Kind != jsonscan.KindArray {
		return wrong("hits", "no hits")
	}
	var elements []jsonscan.Value
	if _, err := jsonscan.Array(hits.Raw, func(v jsonscan.Value) error { elements = append(elements, v); return nil }); err != nil {
		return err
	}
	switch {
	case len(elements) == 0:
		return wrong("hits", "no hits")
	case len(elements) > MaxGoatHits:
		return wrong("hits", "maximum amount of pageviews in one batch is %d", MaxGoatHits)
	}
	for _, v := range elements {
		take(parseGoatHit(v, host, noSessions))
	}
	return nil
}

func parseGoatHit(v jsonscan.Value, host string, noSessions bool) GoatHit {
	if v.Kind != jsonscan.KindObject {
		return GoatHit{Err: wrong("hit", "must be an object")}
	}
	var g goatHit
	said := &Said{Other: true}
	session := ""
	_, err := jsonscan.Object(v.Raw, func(key []byte, v jsonscan.Value) error {
		switch string(key) {
		case "path":
			g.path = v.Text()
		case "title":
			g.title = v.Text()
		case "event":
			g.event = v.True()
		case "ref":
			g.ref = v.Text()
		case "query":
			g.query = v.Text()
		case "size":
			g.width = screenWidthOf(v)
		case "language":
			g.language = Language(v.Text())
		case "bot":
			n, _ := v.Int()
			g.bot = int(n)
		case "user_agent":
			said.Agent, said.HasAgent = v.Text(), v.Kind == jsonscan.KindString
		case "location":
			said.Country, _, _ = strings.Cut(v.Text(), "-")
		case "ip":
			said.IP = v.Text()
		case "session":
			session = v.Text()
		case "created_at":
			if v.Kind == jsonscan.KindNull {
				return nil
			}
			ms, err := ParseTime(v)
			if err != nil {
				return wrong("created_at", "%s", err)
			}
			said.TimeMs = ms
		}
		return nil
	})
	if err != nil {
		return GoatHit{Err: err}
	}
	e, err := g.build(host)
	if err != nil {
		return GoatHit{Err: err}
	}
	switch {
	case said.IP != "" && said.Agent != "":
	case session != "":
		said.Client, said.IP = "session "+session, ""
	case !noSessions:
		return GoatHit{Err: wrong("session", "or browser/IP not set; use no_sessions if you don't want to track unique visits")}
	default:
		said.IP = ""
	}
	e.Said = said
	return GoatHit{Event: e}
}
