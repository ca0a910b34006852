package ingest

import (
	"net/http"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/pageurl"
)

// serveShlink takes what Shlink publishes of one visit.
func (i *Ingest) serveShlink(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	if refused, ok := i.mayGiveAddresses(r, client); !ok {
		i.refuseBatch(w, refused)
		return
	}
	i.serveHook(w, r, client, func(body []byte) (dialect.Event, bool, error) {
		e, err := dialect.ParseShlink(body)
		return e, true, err
	})
}

// serveDub takes a webhook of Dub. Where its secret is known the signature decides, and a wrong one is refused whatever else is shown.
func (i *Ingest) serveDub(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	if i.cfg.DubSecret == "" {
		if refused, ok := i.mayGiveAddresses(r, client); !ok {
			refused.message = "set the webhook's secret with --dub-secret; or this " + tokenAdvice
			i.refuseBatch(w, refused)
			return
		}
	}
	i.serveHook(w, r, client, func(body []byte) (dialect.Event, bool, error) {
		if i.cfg.DubSecret != "" && !dialect.SignedByDub(body, r.Header.Get("Dub-Signature"), i.cfg.DubSecret) {
			return dialect.Event{}, false, &refused{refusal{http.StatusUnauthorized, "dub-signature", "is not that of this body under the secret that is set with --dub-secret", reasonUnauthorized, 0}}
		}
		return dialect.ParseDub(body)
	})
}

// serveHook takes the one hit of a webhook. parse says with ok that there is one.
func (i *Ingest) serveHook(w http.ResponseWriter, r *http.Request, client clientip.Client, parse func([]byte) (e dialect.Event, ok bool, err error)) {
	body, why, ok := i.readJSON(w, r, i.cfg.EventBytes)
	defer i.putBody(body)
	if !ok {
		i.refuseBatch(w, why)
		return
	}
	e, isHit, err := parse(body.Bytes())
	if err != nil {
		i.refuseBatch(w, refusalOfBatch(err))
		return
	}
	if !isHit {
		i.lost(0, reasonNoHit, 1)
		writeBareJSON(w, http.StatusAccepted, batchAnswer{})
		return
	}
	c, err := i.newCollect(r, client, sourceHook)
	if err != nil {
		i.refuseBatch(w, refusalOf(err))
		return
	}
	c.speaks = true
	if err = c.takeHook(&e); err == nil {
		var gone bool
		if gone, err = c.commit(w); gone {
			return
		}
	}
	if err != nil {
		i.refuseBatch(w, refusalOfHit(err))
		return
	}
	writeBareJSON(w, http.StatusAccepted, batchAnswer{Accepted: 1})
}

// takeHook finds the site: the one in the hook's address, the short link's host, or the only one there is.
func (c *collect) takeHook(e *dialect.Event) error {
	host := pageurl.Parse(e.URL).Host
	name := firstOf(c.r.URL.Query().Get("site"), host)
	site, ok := c.siteNamed(name)
	if !ok && (name == "" || name == host) {
		site, ok = c.onlySite()
	}
	if !ok {
		return unknownSite(name)
	}
	return c.take(e, site)
}
