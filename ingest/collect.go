package ingest

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/jsonscan"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// collect is one request of a tracker under way: one hit or several, each for one site.
type collect struct {
	*intake
	r      *http.Request
	client clientip.Client
	speaks bool // the sender has shown a key: its word on addresses, agents and times of others is taken
}

func (i *Ingest) newCollect(r *http.Request, client clientip.Client, from origin) (*collect, error) {
	i.proxies.note(client, i.cfg.Log)
	t, err := i.intakeOf(r, from)
	if err != nil {
		return nil, err
	}
	return &collect{intake: t, r: r, client: client}, nil
}

// refused is a hit that is not taken, while others of the same request may be.
type refused struct{ refusal }

// Error implements error.
func (r *refused) Error() string { return r.field + " " + r.message }

// take queues the hit of an event. An error is *refused, or one of the way to the log after which nothing more is taken.
func (c *collect) take(e *dialect.Event, site state.Site) error {
	err := c.tryTake(e, site)
	if over, ok := err.(*refused); ok {
		over.site = site.ID
	}
	return err
}

func (c *collect) tryTake(e *dialect.Event, site state.Site) error {
	if !c.speaks {
		e.Said = nil
	}
	if !pageurl.IsPage(e.URL) {
		return &refused{refusalNoPage}
	}
	if e.Said != nil && e.Said.TimeMs > c.receivedMs+maxAheadMs {
		return &refused{refusal{http.StatusBadRequest, "timestamp", "is in the future: check the sender's clock", reasonFuture, 0}}
	}
	if !c.speaks {
		if over := c.i.siteLimited(site.ID); over != nil {
			return over
		}
	}
	return c.inPart(c.putEvent(c.r, c.client, e, pageurl.Parse(e.URL), []state.Site{site}))
}

// commit waits until all hits are committed, or as long as the sender asks for. gone is true when the sender has left meanwhile: the hits are
// on their way, and nobody reads the answer.
func (c *collect) commit(w http.ResponseWriter) (gone bool, err error) {
	err = c.settle(w, c.r)
	return errors.Is(err, context.Canceled), err
}

// refusalNoPage refuses a hit whose page is code or content, and no address.
var refusalNoPage = refusal{http.StatusBadRequest, "url", "scheme is not allowed", reasonInvalid, 0}

// unknownSite refuses a hit of a site that is not here.
func unknownSite(name string) *refused {
	return &refused{refusal{http.StatusBadRequest, "site", unknownSiteMessage(name), reasonUnknownSite, 0}}
}

// siteNamed returns the first of the names that is a site's. Names may be UUIDs, see siteUUID.
func (c *collect) siteNamed(names ...string) (state.Site, bool) {
	for _, name := range names {
		if name == "" {
			continue
		}
		if site, ok := c.findSite(name); ok {
			return site, true
		}
		if len(name) == 36 {
			if id, err := uuid.Parse(name); err == nil {
				if site, ok := c.i.siteIDs.find(c.state, id); ok {
					return site, true
				}
			}
		}
	}
	return state.Site{}, false
}

// onlySite returns the site when there is one only.
func (c *collect) onlySite() (state.Site, bool) {
	if len(c.state.Sites) == 1 {
		for _, site := range c.state.Sites {
			return site, true
		}
	}
	return state.Site{}, false
}

// siteAround finds the site for trackers that do not name one: the one asked for in the collecting address, the one of the page that sends, the one
// that the request was sent to, or the only one there is.
func (c *collect) siteAround() (state.Site, bool) {
	if site, ok := c.siteNamed(c.r.URL.Query().Get("site"), pageHost(c.r), pageurl.Host(c.r.Host)); ok {
		return site, true
	}
	if c.r.URL.Query().Get("site") != "" {
		return state.Site{}, false
	}
	return c.onlySite()
}

// pageHost returns the host of the page that sends, as the browser says.
func pageHost(r *http.Request) string {
	for _, name := range []string{"Referer", "Origin"} {
		if value := r.Header.Get(name); value != "" && value != "null" {
			if host := pageurl.Parse(value).Host; host != "" {
				return host
			}
		}
	}
	return ""
}

// hasKey reports whether a request shows a token that may speak for others: in the Authorization header, or where the tracker has a
// place for it.
func (i *Ingest) hasKey(r *http.Request, elsewhere string) bool {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		if holdsScope(i.cfg.Sites.State(), strings.TrimSpace(token)) {
			return true
		}
	}
	return elsewhere != "" && holdsScope(i.cfg.Sites.State(), elsewhere)
}

// refusalOfHit words an error of take.
func refusalOfHit(err error) refusal {
	var r *refused
	if errors.As(err, &r) {
		return r.refusal
	}
	return refusalOf(err)
}

// refusalOfBatch words an error of reading a batch, or of the way to the log.
func refusalOfBatch(err error) refusal {
	var syntax *jsonscan.SyntaxError
	var field *dialect.FieldError
	if errors.As(err, &syntax) || errors.As(err, &field) {
		return refusalOfBody(err)
	}
	return refusalOfHit(err)
}

// serveOne takes one hit of a tracker that wants a picture for an answer. read says what the hit is, and for which site.
func (i *Ingest) serveOne(w http.ResponseWriter, r *http.Request, client clientip.Client, from origin, gif []byte,
	read func(c *collect) (dialect.Event, state.Site, error)) {
	c, err := i.newCollect(r, client, from)
	if err == nil {
		var e dialect.Event
		var site state.Site
		if e, site, err = read(c); err == nil {
			err = c.take(&e, site)
		}
	}
	if err == nil {
		var gone bool
		if gone, err = c.commit(w); gone {
			return
		}
	}
	if err != nil {
		why := refusalOfHit(err)
		i.drop(w, why)
		writePicture(w, why.status, gif)
		return
	}
	if c.bots > 0 {
		w.Header().Set("X-Weir-Note", "bot")
	}
	writePicture(w, http.StatusOK, gif)
}
