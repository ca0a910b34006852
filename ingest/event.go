package ingest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-analytics/weir/ingest/bot"
	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/ingest/visitor"
	"github.com/weir-analytics/weir/raftfsm/state"
)

const contentTypeAdvice = "must be text/plain or application/json"

// serveEvent takes one hit in Plausible's shape.
func (i *Ingest) serveEvent(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	if r.Header["X-Debug-Request"] != nil && r.Header.Get("X-Debug-Request") == "true" {
		w.Header()["Content-Type"] = textPlain
		_, _ = w.Write([]byte(client.Addr.String())) // the caller's own address, for the caller
		return
	}
	body, err := i.readBody(w, r, i.cfg.EventBytes)
	defer i.putBody(body)
	if err != nil {
		i.refuse(w, refusalOfBody(err))
		return
	}
	data := body.Bytes()
	if !takesJSON(r.Header.Get("Content-Type"), func() byte { return firstByte(data) }) {
		i.refuse(w, refusal{http.StatusUnsupportedMediaType, "content-type", contentTypeAdvice, reasonContentType, 0})
		return
	}
	if !utf8.Valid(data) {
		i.refuse(w, refusalNotUTF8(invalidAt(data)))
		return
	}
	event, err := dialect.ParsePlausible(data)
	if err != nil {
		w.Header().Set("X-Plausible-Dropped", "1")
		i.refuse(w, refusalOfBody(err))
		return
	}
	i.takeEvent(w, r, client, &event, sourceEvent)
}

// takeEvent writes the hits of one event, one for each of its sites, and answers.
func (i *Ingest) takeEvent(w http.ResponseWriter, r *http.Request, client clientip.Client, e *dialect.Event, from origin) {
	i.proxies.note(client, i.cfg.Log)
	t, err := i.intakeOf(r, from)
	if err != nil {
		i.answer(w, from, refusalOf(err))
		return
	}
	if !pageurl.IsPage(e.URL) { // of a picture; events were looked at before
		i.answer(w, from, refusalNoPage)
		return
	}
	page := pageurl.Parse(e.URL)
	sites, unknown := t.sitesOf(e.Domain, page.Host)
	if unknown > 0 {
		i.lost(0, reasonUnknownSite, unknown)
		w.Header().Set("X-Plausible-Dropped", strconv.Itoa(unknown))
		w.Header().Set("X-Weir-Dropped", string(reasonUnknownSite))
	}
	if len(sites) == 0 {
		i.answerUnknownSite(w, from, firstName(e.Domain, page.Host))
		return
	}
	if sites = i.withinLimits(w, sites); len(sites) == 0 {
		writeLimited(w, from)
		return
	}
	if err := t.putEvent(r, client, e, page, sites); err != nil {
		t.flush()
		i.answer(w, from, refusalAt(t.inPart(err), sites[0].ID))
		return
	}
	if err := t.settle(w, r); err != nil {
		if errors.Is(err, context.Canceled) {
			return // the sender has gone; the hit is on its way
		}
		i.answer(w, from, refusalAt(err, sites[0].ID))
		return
	}
	if t.bots > 0 {
		w.Header().Set("X-Weir-Note", "bot")
	}
	i.answerTaken(w, from)
}

// withinLimits leaves out the sites that get too much.
func (i *Ingest) withinLimits(w http.ResponseWriter, sites []state.Site) []state.Site {
	if i.limits.site.perHit == 0 {
		return sites
	}
	kept := sites[:0]
	for _, site := range sites {
		if over := i.siteLimited(site.ID); over != nil {
			i.drop(w, over.refusal)
			continue
		}
		kept = append(kept, site)
	}
	return kept
}

// writeLimited answers a hit whose sites all get too much.
func writeLimited(w http.ResponseWriter, from origin) {
	if from == sourcePixel {
		writeGIF(w, http.StatusTooManyRequests)
		return
	}
	writeFieldError(w, http.StatusTooManyRequests, "rate", "is over what one site may get; send later")
}

// putEvent queues the hits of an event.
func (t *intake) putEvent(r *http.Request, client clientip.Client, e *dialect.Event, page pageurl.URL, sites []state.Site) error {
	a, who, botKind := t.senderOf(r, client, e)
	maskProps(e.Props)
	h := hit.Hit{Kind: kindOf(e), Name: pageurl.Printable(nameOf(e)), Host: page.Host, Path: page.Path, Query: page.Query,
		Title: pageurl.Cut(pageurl.Printable(e.Title), pageurl.MaxName), ClientID: pageurl.Printable(e.ID), Props: e.Props, Revenue: e.Revenue,
		NonInteractive: e.NonInteractive, Campaign: pageurl.Campaign(page.Query), ClickID: pageurl.ClickID(page.Query), Status: e.Status, Language: e.Language, ScreenWidth: e.ScreenWidth}
	ownAgent := e.Said == nil || !e.Said.HasAgent && !e.Said.Other
	if ownAgent {
		h.Hints = hints(r.Header)
		if h.Language == "" {
			h.Language = dialect.Language(first(r.Header["Accept-Language"]))
		}
	}
	if e.Said != nil {
		h.TimeMs, h.Country = e.Said.TimeMs, countryCode(e.Said.Country)
	}
	if h.Kind == hit.Click {
		h.Path, h.Query = "", ""
		h.Link = pageurl.Printable(e.Link)
		h.Dest = destination(e.Dest)
	}
	if e.HashMode && page.Fragment != "" {
		h.Fragment = page.Fragment
		h.Path = pageurl.Cut(h.Path+"#"+pageurl.Printable(page.Fragment), pageurl.MaxPath)
	}
	if h.Kind == hit.Engagement {
		h.ScrollPercent, h.EngagedMs = max(e.ScrollPercent, 0), max(e.EngagedMs, 0)
	}
	if e.Referrer != "" {
		from := newReferrer(e.Referrer)
		botKind = from.set(&h, botKind)
	}
	for _, site := range sites {
		one := h
		t.describe(&one, site, who, a, botKind)
		if ownAgent {
			applyHints(&one, r.Header)
		}
		if err := t.put(&one, who, nil); err != nil {
			return err
		}
	}
	return nil
}

// senderOf tells whose hit it is: that of who sends it, or of whom the sender speaks for.
func (t *intake) senderOf(r *http.Request, client clientip.Client, e *dialect.Event) (a *agent, who visitor.Who, botKind string) {
	said := e.Said
	if said == nil {
		a = t.i.agents.get([]byte(r.UserAgent()))
		return a, visitor.Who{Addr: client.Addr, Agent: a.sum}, firstOf(bot.Request(r.Method, r.Header), e.Robot)
	}
	switch {
	case said.HasAgent:
		a = t.i.agents.get([]byte(said.Agent))
	case said.Other:
		a = noAgent
	default:
		a = t.i.agents.get([]byte(r.UserAgent()))
	}
	who.Agent = a.sum
	switch addr, ok := clientip.Parse(said.IP); {
	case ok:
		who.Addr = addr
	case said.Client != "":
		who.Name = said.Client
	case !said.Other:
		who.Addr = client.Addr
	}
	return a, who, e.Robot
}

// first returns the first value of a header, "" when there is none.
func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// addressProps are properties that trackers put addresses in: of links that lead away, of files, of pages that are missing.
var addressProps = [...]string{"url", "path", "href"}

// maskProps masks what is personal in addresses.
func maskProps(props map[string]string) {
	if len(props) == 0 {
		return
	}
	for _, name := range addressProps {
		if value, ok := props[name]; ok {
			props[name] = pageurl.Link(value)
		}
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func kindOf(e *dialect.Event) hit.Kind {
	if e.Kind != 0 {
		return e.Kind
	}
	switch e.Name {
	case dialect.NamePageview:
		return hit.Pageview
	case dialect.NameEngagement:
		return hit.Engagement
	}
	return hit.Event
}

func nameOf(e *dialect.Event) string {
	if kindOf(e) == hit.Event {
		return e.Name
	}
	return ""
}

// sitesOf finds the sites that an event is for: those named, or the one of the page's host.
func (t *intake) sitesOf(names, host string) (sites []state.Site, unknown int) {
	if strings.Trim(names, " ,") == "" {
		names = host
	}
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		site, ok := t.findSite(name)
		if !ok {
			unknown++
			continue
		}
		if !contains(sites, site.ID) {
			sites = append(sites, site)
		}
	}
	return sites, unknown
}

func contains(sites []state.Site, id state.SiteID) bool {
	for i := range sites {
		if sites[i].ID == id {
			return true
		}
	}
	return false
}

// firstName returns the name to speak of when no site is known.
func firstName(names, host string) string {
	if strings.Trim(names, " ,") == "" {
		return host
	}
	name, _, _ := strings.Cut(strings.Trim(names, " ,"), ",")
	return strings.TrimSpace(name)
}

// answerTaken says that all hits are committed.
func (i *Ingest) answerTaken(w http.ResponseWriter, from origin) {
	if from == sourcePixel {
		writeGIF(w, http.StatusOK)
		return
	}
	w.Header()["Content-Type"] = textPlain
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(ok)
}

var ok = []byte("ok")

// answer says that nothing was taken.
func (i *Ingest) answer(w http.ResponseWriter, from origin, r refusal) {
	if from == sourcePixel {
		i.drop(w, r)
		writeGIF(w, r.status)
		return
	}
	i.refuse(w, r)
}

func (i *Ingest) answerUnknownSite(w http.ResponseWriter, from origin, name string) {
	w.Header().Set("X-Weir-Dropped", string(reasonUnknownSite))
	if from == sourcePixel {
		writeGIF(w, http.StatusBadRequest)
		return
	}
	name = pageurl.Cut(pageurl.Printable(name), pageurl.MaxHost)
	if name == "" {
		writeFieldError(w, http.StatusBadRequest, "domain", `is missing: send the name of the site as "d" or "domain"`)
		return
	}
	writeFieldError(w, http.StatusBadRequest, "domain", name+" is not a site here; add it with: weir site add "+name)
}
