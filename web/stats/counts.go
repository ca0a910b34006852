package stats

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup/zone"
	"github.com/weir-analytics/weir/web/reply"
)

// Stats answers the routes about counts.
type Stats struct {
	sites  Sites
	rollup Rollup
	now    func() time.Time
	log    *slog.Logger
	audits chan struct{} // holds a token while an audit runs
}

// New returns a Stats.
func New(sites Sites, rollup Rollup, now func() time.Time, log *slog.Logger) *Stats {
	return &Stats{sites: sites, rollup: rollup, now: now, log: log, audits: make(chan struct{}, 1)}
}

// document is the answer as it goes over the wire. Names and their meaning are in docs/interfaces.md.
type document struct {
	Site        string     `json:"site"`
	Timezone    string     `json:"timezone"`
	From        *time.Time `json:"from"`
	To          *time.Time `json:"to"`
	By          string     `json:"by"`
	Every       string     `json:"every"`
	Link        string     `json:"link"`
	CompleteTo  *time.Time `json:"complete_to"`
	VisitorsAre string     `json:"visitors_are"`
	Truncated   bool       `json:"truncated"`
	Rows        []row      `json:"rows"`
	Compare     *compared  `json:"compare,omitempty"`
}

// compared is the answer about the range that is compared with.
type compared struct {
	With        string     `json:"with"`
	From        *time.Time `json:"from"`
	To          *time.Time `json:"to"`
	VisitorsAre string     `json:"visitors_are"`
	Rows        []row      `json:"rows"`
}

type row struct {
	Key       string     `json:"key"`
	Start     *time.Time `json:"start,omitempty"`
	Visitors  int64      `json:"visitors"`
	Pageviews int64      `json:"pageviews"`
	Hits      int64      `json:"hits"`
	Humans    int64      `json:"humans"`
	Bots      int64      `json:"bots"`
	Events    int64      `json:"events"`
	Clicks    int64      `json:"clicks"`
	measures
}

// Counts answers GET /sites/{site}/counts.
func (s *Stats) Counts(w http.ResponseWriter, r *http.Request) { s.answer(w, r, r.URL.Query()) }

// Links answers GET /sites/{site}/links: the breakdown by short link.
func (s *Stats) Links(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if by := query.Get("by"); by != "" && by != "link" {
		reply.Fail(w, r, s.log, reply.Invalid("by", "by is %.80q, want link or nothing here; other breakdowns are at .../counts", by))
		return
	}
	query.Set("by", "link")
	s.answer(w, r, query)
}

func (s *Stats) answer(w http.ResponseWriter, r *http.Request, query url.Values) {
	site, err := s.site(r)
	if err == nil {
		var doc document
		if doc, err = s.count(r.Context(), site, query); err == nil && query.Get("format") == "csv" {
			if err = writeCSV(w, &doc); err != nil {
				s.log.Debug("write counts as CSV", "err", err) // whoever asked is gone
			}
			return
		} else if err == nil {
			reply.JSON(w, http.StatusOK, doc)
			return
		}
	}
	reply.Fail(w, r, s.log, err)
}

func (s *Stats) count(ctx context.Context, site state.Site, query url.Values) (document, error) {
	cal, err := loadCalendar(site.Timezone)
	if err != nil {
		return document{}, err
	}
	now, loc := s.now(), cal.zone.Location()
	p, err := parseParams(query, cal, now)
	if err != nil {
		return document{}, err
	}
	doc := document{Site: site.Name, Timezone: site.Timezone, By: p.by, Every: p.everyName(), Link: p.link, VisitorsAre: "exact", Rows: []row{}}
	if !s.resolveRange(site.ID, &p, cal, now) {
		return doc, nil // no hit yet and no range given: there is nothing to ask for
	}
	if p.every != 0 {
		if err := checkSize(p); err != nil {
			return document{}, err
		}
	}
	// One row more than wanted shows whether the limit cut any off.
	answer, err := s.rollup.Query(ctx, Query{Site: site.ID, Link: p.link, By: p.by, Every: p.everyName(), From: p.from, To: p.to, Limit: p.limit + 1})
	if err != nil {
		return document{}, err
	}
	rows := answer.Rows
	if p.zero {
		rows = fillZeros(rows, cal, p.every, p.from, p.to)
	}
	if len(rows) > p.limit {
		rows, doc.Truncated = rows[:p.limit], true
	}
	for _, one := range rows {
		doc.Rows = append(doc.Rows, makeRow(one, p.by == "", loc))
	}
	doc.From, doc.To, doc.CompleteTo = inZone(p.from, loc), inZone(p.to, loc), inZone(answer.CompleteTo, time.UTC)
	if answer.VisitorsAre != "" {
		doc.VisitorsAre = answer.VisitorsAre
	}
	if p.compare != "" {
		doc.Compare, err = s.compare(ctx, site, p, cal, doc.Rows)
	}
	return doc, err
}

// compare asks about the range that is compared with. Of a breakdown only the rows that are shown are wanted.
func (s *Stats) compare(ctx context.Context, site state.Site, p params, cal calendar, shown []row) (*compared, error) {
	loc := cal.zone.Location()
	from, to := p.compared(cal, s.now())
	answer, err := s.rollup.Query(ctx, Query{Site: site.ID, Link: p.link, By: p.by, Every: p.everyName(), From: from, To: to})
	if err != nil {
		return nil, err
	}
	rows := answer.Rows
	if p.zero {
		rows = fillZeros(rows, cal, p.every, from, to)
	}
	wanted := make(map[string]bool, len(shown))
	for i := range shown {
		wanted[shown[i].Key] = true
	}
	c := &compared{With: p.compare, From: inZone(from, loc), To: inZone(to, loc), VisitorsAre: answer.VisitorsAre, Rows: []row{}}
	for _, one := range rows {
		if p.by == "" || wanted[one.Key] {
			c.Rows = append(c.Rows, makeRow(one, p.by == "", loc))
		}
	}
	return c, nil
}

// resolveRange fills in the ends that were left out, on edges of buckets: from the first hit, to the end of the bucket being filled.
// It returns false when the beginning is open and there is no hit.
func (s *Stats) resolveRange(site state.SiteID, p *params, cal calendar, now time.Time) bool {
	unit := p.every
	if unit == 0 {
		unit = zone.Day
	}
	first, last, any := s.rollup.Bounds(site)
	if p.to.IsZero() {
		latest := now
		if any && last.After(latest) { // a sender whose clock is ahead
			latest = last.Add(-time.Nanosecond)
		}
		if p.from.After(latest) {
			latest = p.from
		}
		_, p.to = cal.window(unit, latest)
	}
	if !p.from.IsZero() {
		return true
	}
	if !any {
		return false
	}
	if !first.Before(p.to) {
		first = p.to.Add(-time.Nanosecond) // all hits are later: the answer is empty
	}
	p.from, _ = cal.window(unit, first)
	return true
}

// site finds the site in the path.
func (s *Stats) site(r *http.Request) (state.Site, error) { return SiteOf(r, s.sites) }

// SiteOf finds the site that the path of a request names, in any case and with or without "www.".
func SiteOf(r *http.Request, sites Sites) (state.Site, error) {
	name := chi.URLParam(r, "site")
	if unescaped, err := url.PathUnescape(name); err == nil {
		name = unescaped
	}
	site, ok := sites.State().SiteByName(name)
	if !ok {
		return state.Site{}, reply.NotFound("there is no site %.80q; add it with weir site add NAME, or on the dashboard", name)
	}
	return site, nil
}

func makeRow(r Row, series bool, loc *time.Location) row {
	out := row{Key: r.Key, Start: inZone(r.Start, loc), Visitors: r.Visitors, Pageviews: r.Pageviews, Hits: r.Hits, Humans: r.Humans,
		Bots: r.Bots, Events: r.Events, Clicks: r.Clicks}
	out.measures = measuresOf(r)
	if series && out.Start != nil {
		out.Key = out.Start.Format(time.RFC3339)
	}
	return out
}

// inZone returns t for the wire: in a zone, and nil instead of the year 1.
func inZone(t time.Time, loc *time.Location) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.In(loc).Truncate(time.Millisecond)
	return &t
}
