package ingest

import (
	"net/http"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/ingest/dialect"
	"github.com/weir-analytics/weir/ingest/pageurl"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// serveFathom takes a page view of Fathom Lite's script.
func (i *Ingest) serveFathom(w http.ResponseWriter, r *http.Request, client clientip.Client) {
	h := w.Header()
	h.Set("Expires", "Mon, 01 Jan 1990 00:00:00 GMT")
	h.Set("Pragma", "no-cache")
	i.serveOne(w, r, client, sourceFathom, dialect.FathomGIF, func(c *collect) (dialect.Event, state.Site, error) {
		e, err := dialect.ParseFathom(r.URL.Query(), r.Referer())
		if err != nil {
			return e, state.Site{}, &refused{refusalOfBody(err)}
		}
		host := pageurl.Parse(e.URL).Host
		site, ok := c.siteNamed(r.URL.Query().Get("site"), host)
		if !ok {
			return e, site, unknownSite(host)
		}
		return e, site, nil
	})
}
