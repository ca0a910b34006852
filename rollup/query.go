package rollup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/refusals"
	"github.com/weir-analytics/weir/rollup/report"
	"github.com/weir-analytics/weir/rollup/sketch"
	"github.com/weir-analytics/weir/rollup/table"
	"github.com/weir-analytics/weir/rollup/zone"
)

// Query is a question about the counts of a site.
type Query struct {
	Site  state.SiteID
	Link  string    // one short link; empty: the whole site
	By    string    // report whose rows are wanted; empty: one row for everything
	Every string    // a word of zone.ParseUnit: one set of rows for each window; empty: one for the whole range
	From  time.Time // included; rounded down to a minute. Zero: the first hit
	To    time.Time // not included; rounded up to a minute. Zero: after the last hit
	Limit int       // of rows; 0: all
}

// Row is one row of an answer.
type Row struct {
	Key   string    // of the report
	Start time.Time // of the window, in the site's zone (UTC for minutes); zero without Every

	Hits, Humans, Bots, Visitors, Pageviews, Events, Clicks int64

	Visits, Bounces        int64 // that began in the range
	DurationMs             int64 // of the visits together
	EngagedMs              int64
	ScrollSum, ScrollViews int64 // percent; page views that told one
}

// What Visitors of an answer are.
const (
	VisitorsExact = "exact"        // counted one by one
	VisitorsUnion = "union"        // distinct by sketch, within about 1 % (2 % for rows of reports)
	VisitorsDaily = "sum of daily" // distinct within each day of the site's zone, and added up
)

// Answer answers a Query. Rows come by time, then by visitors, hits, visits (most first) and key. Windows and rows without anything have no row. Without By
// and Every there is one row, also when it is all zeros.
type Answer struct {
	From, To    time.Time // the range that was counted
	Timezone    string
	CompleteTo  time.Time // zero: not known
	Rows        []Row
	VisitorsAre string
}

// Query answers from the table. Errors: ErrNoSite, *InvalidError, and those of the local disk.
func (r *Rollup) Query(ctx context.Context, q Query) (Answer, error) {
	p, err := r.plan(q)
	if err != nil {
		return Answer{}, err
	}
	complete, err := r.completeTo(ctx, p.used())
	if err != nil {
		return Answer{}, err
	}
	if behind, known, empty := r.table.Behind(); behind > 0 || !known && empty {
		return Answer{}, ErrBehind
	}
	view := r.table.View()
	defer view.Close()
	if err := p.bound(view, q); err != nil {
		return Answer{}, err
	}
	c := newCollector(p)
	for _, run := range p.runs() {
		if err := ctx.Err(); err != nil {
			return Answer{}, err
		}
		c.unit = run.unit
		err := view.Walk(table.Range{Unit: run.unit, Site: uint32(q.Site), Generation: p.generation(run.unit), Report: p.report, Link: q.Link,
			From: run.from, To: run.to}, c.cell)
		if err != nil {
			return Answer{}, err
		}
	}
	rows, err := c.finish(q.Limit)
	if err != nil {
		return Answer{}, err
	}
	return Answer{From: p.time(p.from), To: p.time(p.to), Timezone: p.zone.Name(), CompleteTo: complete, Rows: rows, VisitorsAre: c.visitorsAre()}, nil
}

// Reports lists the reports that Query.By may name.
func Reports() []string { return report.Names() }

// LinkReports lists those that are kept for each short link too.
func LinkReports() []string {
	return slices.DeleteFunc(report.Names(), func(name string) bool { _, perLink := report.Known(name); return !perLink })
}

// plan is how a question is answered.
type plan struct {
	site    state.Site
	zone    *zone.Zone
	report  string
	every   zone.Unit // 0: the whole range
	from    int64     // seconds since 1970, on a minute
	to      int64
	minutes bool // hours and days of the site's zone are not made yet: only minutes can be used
	now     int64
}

func (r *Rollup) plan(q Query) (*plan, error) {
	site, ok := r.cfg.Sites.State().Sites[q.Site]
	if !ok {
		return nil, ErrNoSite
	}
	z, err := zone.Load(site.Timezone)
	if err != nil {
		return nil, err
	}
	p := &plan{site: site, zone: z, report: q.By, now: r.cfg.Now().Unix()}
	if q.By == "" {
		p.report = report.Total
	}
	known, perLink := report.Known(p.report)
	switch {
	case !known:
		return nil, &InvalidError{"by", fmt.Sprintf("there is no report %.50q", q.By)}
	case q.Link != "" && !perLink:
		return nil, &InvalidError{"by", fmt.Sprintf("report %s is not kept for single links", p.report)}
	}
	if q.Every != "" {
		if p.every, err = zone.ParseUnit(q.Every); err != nil {
			return nil, &InvalidError{"every", err.Error()}
		}
	}
	ready, err := r.zoneReady(site)
	p.minutes = !ready
	return p, err
}

// used returns the lengths of windows that the answer may be made of.
func (p *plan) used() map[zone.Unit]bool {
	used := map[zone.Unit]bool{zone.Minute: true}
	if p.every != zone.Minute && !p.minutes {
		used[zone.Hour] = true
		used[zone.Day] = p.every != zone.Hour
	}
	return used
}

// bound sets the range, from the first to the last hit where the question leaves it open.
func (p *plan) bound(view table.View, q Query) error {
	if !q.From.IsZero() && !q.To.IsZero() && q.To.Before(q.From) {
		return &InvalidError{"to", "it lies before from"}
	}
	first, last, any, err := view.Bounds(zone.Minute, uint32(q.Site), p.generation(zone.Minute), report.Total)
	if err != nil {
		return err
	}
	p.from, p.to = q.From.Unix(), q.To.Unix()
	if q.To.Nanosecond() > 0 {
		p.to++
	}
	if q.To.IsZero() {
		if p.to = last + 60; !any {
			p.to = p.from
		}
	}
	if q.From.IsZero() {
		if p.from = first; !any {
			p.from = p.to
		}
	}
	p.from -= floorMod(p.from, 60)
	p.to += floorMod(-p.to, 60)
	p.to = max(p.to, p.from)
	return nil
}

func (p *plan) generation(unit zone.Unit) uint32 {
	if unit == zone.Minute {
		return 1 // minutes are UTC: a change of zone leaves them as they are
	}
	return p.site.Generation
}

func (p *plan) time(unix int64) time.Time {
	if p.every == zone.Minute {
		return time.Unix(unix, 0).UTC()
	}
	return time.Unix(unix, 0).In(p.zone.Location())
}

// run is a stretch of the range that is read from windows of one length.
type run struct {
	unit     zone.Unit
	from, to int64
}

// runs cuts the range into stretches: days in the middle, and hours and minutes towards the ends. The hour that is running is read from
// minutes, and the day that is running from hours, because minutes are published first.
func (p *plan) runs() []run {
	coarsest := zone.Day
	switch {
	case p.minutes || p.every == zone.Minute:
		coarsest = zone.Minute
	case p.every == zone.Hour:
		coarsest = zone.Hour
	}
	return p.cut(coarsest, p.from, p.to)
}

func (p *plan) cut(unit zone.Unit, from, to int64) []run {
	if from >= to {
		return nil
	}
	if unit == zone.Minute {
		return []run{{unit, from, to}}
	}
	begin, end := from, to // the whole windows of the unit that are over
	if w := p.zone.Window(unit, from); w.Start < from {
		begin = w.End
	}
	if w := p.zone.Window(unit, to); w.Start < to {
		end = w.Start
	}
	end = min(end, p.zone.Window(unit, p.now).Start)
	if begin >= end {
		return p.cut(unit-1, from, to)
	}
	runs := append(p.cut(unit-1, from, begin), run{unit, begin, end})
	return append(runs, p.cut(unit-1, end, to)...)
}

// kind returns how large the sketches of the report are.
func (p *plan) kind() sketch.Kind {
	if p.report == report.Total {
		return sketch.Total
	}
	return sketch.Row
}

// Bounds returns the start of the first minute with a hit and the end of the last one, and false for a site without hits.
func (r *Rollup) Bounds(site state.SiteID) (first, last time.Time, ok bool) {
	view := r.table.View()
	defer view.Close()
	from, to, ok, err := view.Bounds(zone.Minute, uint32(site), 1, report.Total)
	if err != nil {
		r.log.Logger.Error("look up the first and last hit of a site", "site", site, "err", err)
		return time.Time{}, time.Time{}, false
	}
	if !ok {
		return time.Time{}, time.Time{}, false
	}
	return time.Unix(from, 0).UTC(), time.Unix(to+60, 0).UTC(), true
}

// zoneReady says whether hours and days of a site are there in its present zone. After a change of the zone they are being made for a
// while, and minutes answer everything.
func (r *Rollup) zoneReady(site state.Site) (bool, error) {
	if site.Generation <= 1 {
		return true, nil
	}
	for partition := range r.partitions.Load() {
		for _, unit := range []zone.Unit{zone.Hour, zone.Day} {
			made, _, err := r.table.Generation(unit, partition, site.ID)
			if err != nil || made != site.Generation {
				return false, err
			}
		}
	}
	return true, nil
}

func rowOf(key string, c bucket.Counts, visitors int64) Row {
	return Row{Key: key, Hits: c.Hits, Humans: c.Humans(), Bots: c.Bots, Visitors: visitors, Pageviews: c.Pageviews, Events: c.Events, Clicks: c.Clicks,
		Visits: c.Visits, Bounces: c.Bounces, DurationMs: c.DurationMs, EngagedMs: c.EngagedMs, ScrollSum: c.ScrollSum, ScrollViews: c.ScrollViews}
}

func floorMod(a, b int64) int64 {
	m := a % b
	if m < 0 {
		m += b
	}
	return m
}

// RefusedCount is how many hits were refused for one reason.
type RefusedCount = refusals.Count

// Refused returns how many hits of a site were refused from one moment to before another, most frequent reason first, and from when on the
// answer is whole: the zero time when nothing was ever refused. Site 0 is for hits whose site is not known. See package refusals for which
// moments are exact.
func (r *Rollup) Refused(site state.SiteID, from, to time.Time) (counts []RefusedCount, since time.Time) {
	return r.refused.Sum(uint32(site), from, to)
}
