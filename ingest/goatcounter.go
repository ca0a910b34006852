package ingest

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// serveGoatCounter takes a hit of GoatCounter's script. All is in the query, in a POST of sendBeacon too.
func (i *Ingest) serveGoatCounter(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	i.serveOne(w, r, client, sourceGoatCounter, dialect.GoatGIF, func(c *collect) (dialect.Event, state.Site, error) {
		site, ok := c.siteAround()
		if !ok {
			w.Header().Set("X-Goatcounter", "not valid: no site; add ?site=NAME to the address of the endpoint")
			return dialect.Event{}, site, unknownSite(pageHost(r))
		}
		e, err := dialect.ParseGoatCounter(r.URL.Query(), firstOf(pageHost(r), site.Name))
		var field *dialect.FieldError
		if errors.As(err, &field) {
			text := "not valid: " + field.Field + ": " + field.Message
			if field.Field == "b" {
				text = field.Message
			}
			w.Header().Set("X-Goatcounter", text)
			return e, site, &refused{refusalOfBody(err)}
		}
		return e, site, nil
	})
}

// goatStatus, goatError and goatErrors are the answers of GoatCounter's API.
type goatStatus struct {
	Status string `json:"status"`
}

type goatError struct {
	Error string `json:"error"`
}

type goatErrors struct {
	Errors map[string]string `json:"errors"`
}

// serveGoatCounterAPI takes hits from servers.
func (i *Ingest) serveGoatCounterAPI(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	if refused, ok := i.mayGiveAddresses(r, client); !ok {
		i.refuseGoat(w, refused)
		return
	}
	body, refusal, ok := i.readJSON(w, r, i.cfg.ClicksBytes)
	defer i.putBody(body)
	if !ok {
		i.refuseGoat(w, refusal)
		return
	}
	c, err := i.newCollect(r, client, sourceGoatCounter)
	if err != nil {
		i.refuseGoat(w, refusalOf(err))
		return
	}
	c.speaks = true
	site, ok := c.siteAround()
	if !ok {
		i.refuseGoat(w, unknownSite(pageurl.Host(r.Host)).refusal)
		return
	}
	errs, err := c.takeGoatHits(body.Bytes(), site)
	if err == nil {
		var gone bool
		if gone, err = c.commit(w); gone {
			return
		}
	} else {
		c.flush()
	}
	switch {
	case err != nil:
		i.refuseGoat(w, refusalOfBatch(err))
	case len(errs) > 0:
		writeBareJSON(w, http.StatusBadRequest, goatErrors{errs})
	default:
		writeBareJSON(w, http.StatusAccepted, goatStatus{"ok"})
	}
}

// takeGoatHits takes all hits and returns what is wrong with some, by their index. The others are taken.
func (c *collect) takeGoatHits(body []byte, site state.Site) (errs map[string]string, failed error) {
	index := 0
	errs = map[string]string{}
	err := dialect.ParseGoatCounterAPI(body, site.Name, func(h dialect.GoatHit) {
		at := strconv.Itoa(index)
		index++
		if failed != nil {
			return
		}
		err := h.Err
		if err == nil {
			err = c.take(&h.Event, site)
		}
		var field *dialect.FieldError
		var wrong *refused
		switch {
		case err == nil:
		case errors.As(err, &field):
			errs[at] = field.Field + ": " + field.Message
			c.i.lost(site.ID, reasonInvalid, 1)
		case errors.As(err, &wrong):
			errs[at] = wrong.Error()
			c.i.lostRefused(&wrong.refusal)
		case h.Err != nil:
			errs[at] = err.Error()
			c.i.lost(site.ID, reasonInvalid, 1)
		default:
			failed = err
		}
	})
	if failed == nil {
		failed = err
	}
	return errs, failed
}

// refuseGoat answers in GoatCounter's words.
func (i *Ingest) refuseGoat(w http.ResponseWriter, r refusal) {
	i.drop(w, r)
	text := r.field + " " + r.message
	if r.field == "hits" || r.field == "site" {
		text = r.message
	}
	writeBareJSON(w, r.status, goatError{text})
}
