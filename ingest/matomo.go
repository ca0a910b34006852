package ingest

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// matomoEmpty is the answer to a request without parameters, for people who look whether something is there.
const matomoEmpty = "This address takes hits in the shape of Matomo's tracking API.\n"

// serveMatomo takes one hit from a query or a form, or several from a bulk request.
func (i *Ingest) serveMatomo(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		i.serveMatomoOne(w, r, client, r.URL.Query())
		return
	}
	body, err := i.readBody(w, r, i.cfg.ClicksBytes)
	defer i.putBody(body)
	if err == nil && !utf8.Valid(body.Bytes()) {
		i.refuseMatomo(w, r.URL.Query(), refusalNotUTF8(invalidAt(body.Bytes())))
		return
	}
	if err != nil {
		i.refuseMatomo(w, r.URL.Query(), refusalOfBody(err))
		return
	}
	if dialect.IsMatomoBulk(body.Bytes()) {
		i.serveMatomoBulk(w, r, client, body)
		return
	}
	query := r.URL.Query()
	form, _ := url.ParseQuery(strings.TrimSpace(body.String())) // what can be read of it
	for name, values := range form {
		if !query.Has(name) {
			query[name] = values
		}
	}
	i.serveMatomoOne(w, r, client, query)
}

func (i *Ingest) serveMatomoOne(w http.ResponseWriter, r *http.Request, client clientip.Client, query url.Values) {
	if len(query) == 0 {
		w.Header()["Content-Type"] = textPlain
		_, _ = w.Write([]byte(matomoEmpty))
		return
	}
	c, err := i.newCollect(r, client, sourceMatomo)
	if err == nil {
		err = c.takeMatomo(query, "")
	}
	if err == nil {
		var gone bool
		if gone, err = c.commit(w); gone {
			return
		}
	}
	if err != nil {
		i.refuseMatomo(w, query, refusalOfHit(err))
		return
	}
	if c.bots > 0 {
		w.Header().Set("X-Weir-Note", "bot")
	}
	answerMatomo(w, query, http.StatusOK)
}

// refuseMatomo counts a refusal and answers it as Matomo does: with the picture, and the status says it.
func (i *Ingest) refuseMatomo(w http.ResponseWriter, query url.Values, r refusal) {
	i.drop(w, r)
	if r.status == http.StatusBadRequest || r.status == http.StatusUnauthorized {
		writePicture(w, r.status, dialect.MatomoGIF)
		return
	}
	answerMatomo(w, query, r.status)
}

func answerMatomo(w http.ResponseWriter, query url.Values, status int) {
	if query.Get("send_image") == "0" && status == http.StatusOK {
		w.Header()["Cache-Control"] = noStore
		w.WriteHeader(http.StatusNoContent)
		return
	}
	writePicture(w, status, dialect.MatomoGIF)
}

// takeMatomo takes one request. token is that of the whole bulk request.
func (c *collect) takeMatomo(query url.Values, token string) error {
	m, err := dialect.ParseMatomo(query, c.r.Referer(), c.receivedMs)
	if err != nil {
		return &refused{refusalOfBody(err)}
	}
	c.speaks = c.i.hasKey(c.r, firstOf(m.Token, token))
	site, ok := c.matomoSite(m.Site, pageurl.Parse(m.Event.URL).Host)
	if !ok {
		return unknownSite(pageurl.Parse(m.Event.URL).Host)
	}
	if m.NeedsKey != "" && !c.speaks {
		return &refused{refusal{http.StatusUnauthorized, m.NeedsKey, "is taken with a token only: send one of scope ingest as token_auth", reasonUnauthorized, site.ID}}
	}
	if m.Event.Said != nil && !c.speaks {
		if over := c.i.siteLimited(site.ID); over != nil {
			over.site = site.ID
			return over
		}
		c.speaks = true // what needs no key with Matomo either: an agent, and a time within the last day
	}
	return c.take(&m.Event, site)
}

// matomoSite finds the site: that of the page, since the numbers of a former Matomo are not ours, else the one with that number or name.
func (c *collect) matomoSite(idsite, host string) (state.Site, bool) {
	if site, ok := c.siteNamed(host, idsite); ok {
		return site, true
	}
	number, err := strconv.ParseUint(idsite, 10, 32)
	if err != nil {
		return state.Site{}, false
	}
	site, ok := c.state.Sites[state.SiteID(number)]
	return site, ok
}

// matomoBulk is the answer to a bulk request.
type matomoBulk struct {
	Status  string `json:"status"`
	Tracked int    `json:"tracked"`
	Invalid int    `json:"invalid"`
	Indices *[]int `json:"invalid_indices,omitempty"`
}

func (i *Ingest) serveMatomoBulk(w http.ResponseWriter, r *http.Request, client clientip.Client, body *requestBody) {
	requests, token, err := dialect.ParseMatomoBulk(body.Bytes())
	if err != nil {
		why := refusalOfBody(err)
		i.drop(w, why)
		writeBareJSON(w, why.status, matomoBulk{Status: "error"})
		return
	}
	c, err := i.newCollect(r, client, sourceMatomo)
	answer := matomoBulk{Status: "success"}
	invalid := []int{}
	if err == nil {
		for at, query := range requests {
			err = c.takeMatomo(query, token)
			if wrong, ok := err.(*refused); ok {
				i.lostRefused(&wrong.refusal)
				w.Header().Set("X-Weir-Dropped", string(wrong.reason))
				invalid = append(invalid, at)
				err = nil
			}
			if err != nil {
				break
			}
		}
		if err == nil {
			var gone bool
			if gone, err = c.commit(w); gone {
				return
			}
		} else {
			c.flush()
		}
		answer.Tracked, answer.Invalid = c.hits, len(invalid)
	}
	if token != "" && i.hasKey(r, token) {
		answer.Indices = &invalid
	}
	if err != nil {
		why := refusalOf(err)
		i.drop(w, why)
		answer.Status, answer.Tracked = "error", 0
		writeBareJSON(w, why.status, answer)
		return
	}
	writeBareJSON(w, http.StatusOK, answer)
}
