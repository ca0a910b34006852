package stats

import (
	"net/http"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/web/reply"
)

// Now is the document about the last minutes of a site.
type Now struct {
	Visitors5m  int64      `json:"visitors_5m"`
	Hits1m      int64      `json:"hits_1m"`
	Visitors30m int64      `json:"visitors_30m"`
	Hits30m     int64      `json:"hits_30m"`
	CompleteTo  *time.Time `json:"complete_to"`
	FirstHit    bool       `json:"first_hit"` // whether the site ever had a hit
}

// NowOf returns the document about the last minutes of a site.
func NowOf(rollup Rollup, site state.SiteID) (Now, error) {
	counts, err := rollup.Now(site)
	if err != nil {
		return Now{}, err
	}
	_, _, any := rollup.Bounds(site)
	return Now{Visitors5m: counts.Visitors5m, Hits1m: counts.Hits1m, Visitors30m: counts.Visitors30m, Hits30m: counts.Hits30m,
		CompleteTo: inZone(counts.CompleteTo, time.UTC), FirstHit: any}, nil
}

// Now answers GET /sites/{site}/now.
func (s *Stats) Now(w http.ResponseWriter, r *http.Request) {
	site, err := s.site(r)
	if err == nil {
		var now Now
		if now, err = NowOf(s.rollup, site.ID); err == nil {
			reply.JSON(w, http.StatusOK, now)
			return
		}
	}
	reply.Fail(w, r, s.log, err)
}
