package admin

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/reply"
	"github.com/weir-analytics/weir/web/stats"
)

// DiagnoseQuestion asks what would become of a page view of a site.
type DiagnoseQuestion struct {
	Site     state.Site
	URL      string
	Referrer string
}

// Diagnose answers POST /sites/{site}/diagnose. Without a peer, headers and agent of its own, the request itself is judged.
func (a *Admin) Diagnose(w http.ResponseWriter, r *http.Request) {
	var in struct {
		URL       string            `json:"url"`
		Referrer  string            `json:"referrer"`
		UserAgent *string           `json:"user_agent"`
		Peer      string            `json:"peer"`    // address of who sends the request that is judged
		Headers   map[string]string `json:"headers"` // of that request
	}
	site, err := stats.SiteOf(r, a.ctl)
	if err == nil {
		err = reply.Decode(r, &in)
	}
	if _, isAddress := clientip.Parse(in.Peer); err == nil && in.Peer != "" && !isAddress {
		err = reply.Invalid("peer", "peer is %.80q, want an address such as 192.0.2.1", in.Peer)
	}
	if err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	judged := r
	if in.Peer != "" || len(in.Headers) > 0 {
		judged = &http.Request{Method: http.MethodGet, URL: new(url.URL), RemoteAddr: in.Peer, Header: http.Header{"User-Agent": {r.UserAgent()}}}
		for name, value := range in.Headers {
			judged.Header.Set(name, value)
		}
	}
	if in.UserAgent != nil {
		judged = judged.Clone(r.Context())
		for name := range judged.Header { // hints are of another browser
			if strings.HasPrefix(name, "Sec-Ch-") {
				delete(judged.Header, name)
			}
		}
		judged.Header.Set("User-Agent", *in.UserAgent)
	}
	if in.URL == "" {
		in.URL = "https://" + site.Name + "/"
	}
	reply.JSON(w, http.StatusOK, a.diagnose(judged, DiagnoseQuestion{Site: site, URL: in.URL, Referrer: in.Referrer}))
}
