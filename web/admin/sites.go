package admin

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/reply"
	"github.com/weir-analytics/weir/web/stats"
)

// siteDocument is a site on the wire. The counts are null while the rollups are still loading.
type siteDocument struct {
	ID          state.SiteID `json:"id"`
	Name        string       `json:"name"`
	Timezone    string       `json:"timezone"`
	CreatedAt   time.Time    `json:"created_at"`
	VisitorsNow *int64       `json:"visitors_now"`
	Hits30m     *int64       `json:"hits_30m"`
	FirstHit    *bool        `json:"first_hit"`
	Rules       *state.Rules `json:"rules,omitempty"`
}

func (a *Admin) siteDocument(site state.Site) siteDocument {
	doc := siteDocument{ID: site.ID, Name: site.Name, Timezone: site.Timezone, CreatedAt: site.CreatedAt, Rules: site.Rules}
	now, err := stats.NowOf(a.rollup, site.ID)
	if err != nil {
		a.log.Debug("a site is shown without its counts", "site", site.ID, "err", err)
		return doc
	}
	doc.VisitorsNow, doc.Hits30m, doc.FirstHit = &now.Visitors5m, &now.Hits30m, &now.FirstHit
	return doc
}

// ListSites answers GET /sites, in order of name.
func (a *Admin) ListSites(w http.ResponseWriter, _ *http.Request) {
	sites := []siteDocument{}
	for _, site := range a.ctl.State().Sites {
		sites = append(sites, a.siteDocument(site))
	}
	slices.SortFunc(sites, func(a, b siteDocument) int { return cmp.Compare(a.Name, b.Name) })
	reply.JSON(w, http.StatusOK, struct {
		Sites []siteDocument `json:"sites"`
	}{sites})
}

// GetSite answers GET /sites/{site}.
func (a *Admin) GetSite(w http.ResponseWriter, r *http.Request) {
	site, err := stats.SiteOf(r, a.ctl)
	if err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	reply.JSON(w, http.StatusOK, a.siteDocument(site))
}

// AddSite answers POST /sites.
func (a *Admin) AddSite(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name     string `json:"name"`
		Timezone string `json:"timezone"`
	}
	err := reply.Decode(r, &in)
	if err == nil {
		var site state.Site
		if site, err = a.ctl.AddSite(r.Context(), in.Name, cmp.Or(in.Timezone, "UTC")); err == nil {
			reply.JSON(w, http.StatusCreated, a.siteDocument(site))
			return
		}
	}
	reply.Fail(w, r, a.log, err)
}

// UpdateSite answers PATCH /sites/{site}. The name stays: snippets and published cells carry it.
func (a *Admin) UpdateSite(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Timezone *string      `json:"timezone"`
		Rules    *state.Rules `json:"rules"`
	}
	site, err := stats.SiteOf(r, a.ctl)
	if err == nil {
		err = reply.Decode(r, &in)
	}
	if err == nil {
		if site, err = a.ctl.UpdateSite(r.Context(), site.Name, raftfsm.SiteChange{Timezone: in.Timezone, Rules: in.Rules}); err == nil {
			reply.JSON(w, http.StatusOK, a.siteDocument(site))
			return
		}
	}
	reply.Fail(w, r, a.log, err)
}

// DeleteSite answers DELETE /sites/{site}.
func (a *Admin) DeleteSite(w http.ResponseWriter, r *http.Request) {
	site, err := stats.SiteOf(r, a.ctl)
	if err == nil {
		err = a.ctl.DeleteSite(r.Context(), site.Name)
	}
	if err != nil {
		reply.Fail(w, r, a.log, err)
		return
	}
	reply.NoContent(w)
}
