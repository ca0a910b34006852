package stats

import (
	"net/http"
	"net/url"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup/zone"
	"github.com/weir-analytics/weir/web/reply"
)

// refused is the document about hits that were not taken. Names and their meaning are in docs/interfaces.md.
type refused struct {
	Site     string          `json:"site"`
	Timezone string          `json:"timezone"`
	From     *time.Time      `json:"from"`
	To       *time.Time      `json:"to"`
	Since    *time.Time      `json:"since"`
	Rows     []refusedReason `json:"rows"`
	NoSite   []refusedReason `json:"no_site"`
}

type refusedReason struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

// refusedFor is how far back the answer goes where the question does not say.
const refusedFor = 90 // days, as long as the numbers are kept

// Refused answers GET /sites/{site}/refused: how many hits were not taken, by reason; those of the site, and those of no site that is known.
func (s *Stats) Refused(w http.ResponseWriter, r *http.Request) {
	site, err := s.site(r)
	if err == nil {
		var doc refused
		if doc, err = s.refused(site, r.URL.Query()); err == nil {
			reply.JSON(w, http.StatusOK, doc)
			return
		}
	}
	reply.Fail(w, r, s.log, err)
}

func (s *Stats) refused(site state.Site, query url.Values) (refused, error) {
	cal, err := loadCalendar(site.Timezone)
	if err != nil {
		return refused{}, err
	}
	for _, name := range []string{"by", "every", "link", "limit", "zero", "compare"} {
		if query.Get(name) != "" {
			return refused{}, reply.Invalid(name, "there is no parameter %q here, want any of: from, to, last, period, week_starts", name)
		}
	}
	now, loc := s.now(), cal.zone.Location()
	p, err := parseParams(query, cal, now)
	if err != nil {
		return refused{}, err
	}
	whole, end := cal.last(refusedFor, zone.Day, now)
	if p.from.IsZero() {
		p.from = whole
	}
	if p.to.IsZero() {
		p.to = end
	}
	rows, since := s.rollup.Refused(site.ID, p.from, p.to)
	noSite, _ := s.rollup.Refused(0, p.from, p.to)
	return refused{Site: site.Name, Timezone: site.Timezone, From: inZone(p.from, loc), To: inZone(p.to, loc), Since: inZone(since, time.UTC),
		Rows: refusedRows(rows), NoSite: refusedRows(noSite)}, nil
}

func refusedRows(counts []RefusedCount) []refusedReason {
	rows := make([]refusedReason, len(counts))
	for i, one := range counts {
		rows[i] = refusedReason{one.Reason, one.Count}
	}
	return rows
}
