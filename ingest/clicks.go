package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/jsonscan"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/ingest/visitor"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// maxLineErrors bounds the errors in an answer; all are counted.
const maxLineErrors = 100

// maxAheadMs is how far a sender's clock may be ahead.
const maxAheadMs = 5 * 60 * 1000

// serveClicks takes a batch of clicks of short links.
func (i *Ingest) serveClicks(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	if refused, ok := i.mayGiveAddresses(r, client); !ok {
		discardBody(w, r)
		i.refuseBatch(w, refused)
		return
	}
	body, err := i.readBody(w, r, i.cfg.ClicksBytes)
	defer i.putBody(body)
	if err != nil {
		i.refuseBatch(w, refusalOfBody(err))
		return
	}
	data := bytes.TrimPrefix(body.Bytes(), []byte("\xef\xbb\xbf"))
	if !takesJSON(r.Header.Get("Content-Type"), func() byte { return firstByte(data) }) {
		i.refuseBatch(w, refusal{http.StatusUnsupportedMediaType, "content-type", "must be application/x-ndjson or application/json", reasonContentType, 0})
		return
	}
	t, err := i.intakeOf(r, sourceClick)
	if err != nil {
		i.refuseBatch(w, refusalOf(err))
		return
	}
	query := r.URL.Query()
	c := clicks{intake: t, defaultSite: query.Get("site")}
	if name := query.Get("tz"); name != "" {
		if c.zone, err = time.LoadLocation(name); err != nil || name == "Local" {
			i.refuseBatch(w, refusal{http.StatusBadRequest, "tz", "must be the name of a time zone such as Europe/Berlin", reasonInvalid, 0})
			return
		}
	}
	c.takeAll(data)
	if err := t.settle(w, r); err != nil {
		c.failed = err
	}
	c.answer(w)
}

// refuseBatch answers for the whole batch, in the shape of the API for programs.
func (i *Ingest) refuseBatch(w http.ResponseWriter, r refusal) {
	i.drop(w, r)
	w.Header()["Content-Type"] = textJSON
	w.WriteHeader(r.status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"code": string(r.reason), "field": r.field, "message": r.field + " " + r.message}})
}

// clicks is one batch under way.
type clicks struct {
	*intake
	defaultSite string
	zone        *time.Location // of times without one; nil is UTC
	click       dialect.Click
	line        int
	rejected    int
	rejectedOf  state.SiteID // of the line that is rejected now
	errors      []lineError
	failed      error // of the way to the log: from here on nothing was taken, or nothing is known
}

// lineError says what is wrong with one line, counted from 1; in an array, with one element.
type lineError struct {
	Line  int    `json:"line"`
	Error string `json:"error"`
}

// takeAll takes the lines of NDJSON, or the elements of an array.
func (c *clicks) takeAll(data []byte) {
	if firstByte(data) == '[' {
		c.takeArray(data)
		return
	}
	for len(data) > 0 && c.failed == nil {
		line := data
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			line, data = data[:end], data[end+1:]
		} else {
			data = nil
		}
		c.line++
		if jsonscan.Blank(line) {
			continue
		}
		c.take(line)
	}
}

// takeArray takes elements up to the end of the array, or to where it stops being one.
func (c *clicks) takeArray(data []byte) {
	rest, err := jsonscan.Array(data, func(v jsonscan.Value) error {
		c.line++
		if v.Kind == jsonscan.KindString {
			c.reject(reasonInvalid, "not a click: an element must be an object")
		} else {
			c.take(v.Raw)
		}
		return c.failed
	})
	switch {
	case c.failed != nil:
	case err != nil:
		c.line++
		c.reject(reasonNotJSON, "the array ends here, what follows is lost: "+err.Error())
	case !jsonscan.Blank(rest):
		c.line++
		c.reject(reasonNotJSON, "something follows the array")
	}
}

func (c *clicks) reject(why reason, message string) {
	c.rejected++
	c.i.lost(c.rejectedOf, why, 1)
	if len(c.errors) < maxLineErrors {
		c.errors = append(c.errors, lineError{c.line, message})
	}
}

// take takes one click.
func (c *clicks) take(line []byte) {
	switch {
	case len(line) > c.i.cfg.LineBytes:
		c.reject(reasonTooLarge, "longer than "+strconv.Itoa(c.i.cfg.LineBytes)+" bytes")
		return
	case c.hits >= c.i.cfg.MaxClicks:
		c.reject(reasonTooLarge, "a batch may have "+strconv.Itoa(c.i.cfg.MaxClicks)+" clicks; send the rest in another one")
		return
	case !utf8.Valid(line):
		c.reject(reasonNotUTF8, "not valid UTF-8 at byte "+strconv.Itoa(invalidAt(line)))
		return
	}
	if err := dialect.ParseClick(line, &c.click); err != nil {
		c.reject(reasonOfLine(err), err.Error())
		return
	}
	if c.click.Local && c.zone != nil {
		c.click.TimeMs = inZone(c.click.TimeMs, c.zone)
	}
	if c.click.TimeMs > c.receivedMs+maxAheadMs {
		if site, _, ok := c.siteOf(&c.click); ok {
			c.rejectedOf = site.ID
		}
		c.reject(reasonFuture, "ts is in the future: check the sender's clock")
		c.rejectedOf = 0
		return
	}
	site, name, ok := c.siteOf(&c.click)
	if !ok {
		c.reject(reasonUnknownSite, unknownSiteMessage(name))
		return
	}
	if err := c.putClick(&c.click, site); err != nil {
		c.failed = c.inPart(err)
	}
}

// inZone takes a time that was read as UTC for the time of day of a zone.
func inZone(ms int64, zone *time.Location) int64 {
	t := time.UnixMilli(ms).UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone).UnixMilli()
}

func reasonOfLine(err error) reason {
	var syntax *jsonscan.SyntaxError
	if errors.As(err, &syntax) {
		return reasonNotJSON
	}
	return reasonInvalid
}

func unknownSiteMessage(name string) string {
	name = pageurl.Cut(pageurl.Printable(name), pageurl.MaxHost)
	if name == "" {
		return `no site: send "site" or "host", or add ?site=NAME to the address`
	}
	return name + " is not a site here; add it with: weir site add " + name
}

// siteOf finds the site of a click: the one it names, the one of the whole batch, the one of its host, or the only one there is.
func (c *clicks) siteOf(click *dialect.Click) (site state.Site, name string, ok bool) {
	switch {
	case len(click.Site) > 0:
		name = view(click.Site)
	case c.defaultSite != "":
		name = c.defaultSite
	default:
		name = pageurl.Host(view(click.Host))
	}
	if name == "" {
		if len(c.state.Sites) == 1 {
			for _, site = range c.state.Sites {
				return site, site.Name, true
			}
		}
		return site, "", false
	}
	site, ok = c.findSite(name)
	return site, name, ok
}

// putClick queues a click.
func (c *clicks) putClick(click *dialect.Click, site state.Site) error {
	a := noAgent
	if click.HasUA {
		a = c.i.agents.get(click.Agent)
	}
	who := visitor.Who{Agent: a.sum}
	if len(click.IP) > 0 {
		who.Addr, _ = clientip.Parse(view(click.IP))
	}
	h := hit.Hit{Kind: hit.Click, ClientID: view(click.ID), TimeMs: click.TimeMs,
		Link: pageurl.Printable(view(click.Link)), Host: pageurl.Host(view(click.Host)),
		Dest:    destination(view(click.Dest)),
		Country: countryCode(view(click.Country))}
	botKind := ""
	if click.Bot {
		botKind = dialect.RobotSender
	}
	from := c.referrer(view(click.Ref))
	botKind = from.set(&h, botKind)
	c.describe(&h, site, who, a, botKind)
	return c.put(&h, who, nil)
}

// destination cleans where a link leads. What is no address of a page is left out.
func destination(raw string) string {
	if !pageurl.IsPage(raw) {
		return ""
	}
	return pageurl.Link(raw)
}

// countryCode takes a sender's word for the country when it is a code.
func countryCode(code string) string {
	if len(code) != 2 || code[0]|0x20 < 'a' || code[0]|0x20 > 'z' || code[1]|0x20 < 'a' || code[1]|0x20 > 'z' {
		return ""
	}
	return string([]byte{code[0] &^ 0x20, code[1] &^ 0x20})
}

// batchAnswer is what a batch is answered with.
type batchAnswer struct {
	Accepted int         `json:"accepted"`
	Rejected int         `json:"rejected"`
	Errors   []lineError `json:"errors,omitempty"`
	More     int         `json:"errors_left_out,omitempty"`
	Error    *batchError `json:"error,omitempty"`
}

// batchError says why the batch as a whole was not taken.
type batchError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (c *clicks) answer(w http.ResponseWriter) {
	a := batchAnswer{Accepted: c.hits, Rejected: c.rejected, Errors: c.errors, More: c.rejected - len(c.errors)}
	status := http.StatusAccepted
	switch {
	case c.failed != nil:
		r := refusalOf(c.failed)
		c.i.drop(w, r)
		status = r.status
		a.Accepted = 0
		a.Error = &batchError{string(r.reason), "the log did not take all clicks; send the whole batch again: clicks with an id are counted once"}
	case c.hits == 0 && c.rejected > 0:
		status = http.StatusBadRequest
	}
	w.Header()["Content-Type"] = textJSON
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(a)
}
