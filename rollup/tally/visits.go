package tally

import (
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/delta"
	"github.com/weir-analytics/weir/rollup/report"
	"github.com/weir-analytics/weir/rollup/visit"
)

// increments are told of visits. Where a visit is counted is looked up once for each flush: most visits are told of more than once, and
// the rows stay the same.
var _ visit.Teller = (*increments)(nil)

// Entry implements visit.Teller.
func (a *increments) Entry(v *visit.Visit, c delta.Counts) {
	if v.Stamp != a.flush {
		a.placeVisit(v)
	}
	for _, at := range v.Rows {
		a.countVisits(at, &c)
	}
}

// placeVisit finds the rows of a visit.
func (a *increments) placeVisit(v *visit.Visit) {
	v.Rows, v.Stamp = v.Rows[:0], a.flush
	h := a.entryOf(v)
	m, name := a.minuteOf(v.Site, v.Minute()), cut(h.Link)
	for i, r := range a.reports {
		if key, ok := report.VisitRow(r, h); ok {
			v.Rows = append(v.Rows, a.rowOf(a.wholeCell(m, i), key))
			if name != "" && r.PerLink() {
				v.Rows = append(v.Rows, a.rowOf(a.linkCell(m, i, name), key))
			}
		}
	}
}

// entryOf reads the hit that a visit begins with. The next call uses the memory again; text points into v.Entry.
func (a *increments) entryOf(v *visit.Visit) *hit.Hit {
	if err := hit.Borrow(v.Entry, &a.entry); err != nil {
		panic("BUG: the first hit of a visit cannot be read: " + err.Error())
	}
	return &a.entry
}

// Exit implements visit.Teller.
func (a *increments) Exit(v *visit.Visit, c delta.Counts) {
	if a.exit >= 0 {
		a.countVisits(a.rowOf(a.wholeCell(a.minuteOf(v.Site, v.Minute()), a.exit), v.Exit), &c)
	}
}

// Engaged implements visit.Teller.
func (a *increments) Engaged(h *hit.Hit, v *visit.Visit, minute int64, c delta.Counts) {
	m, entry := a.minuteOf(h.SiteID, minute), h
	if v != nil {
		entry = a.entryOf(v)
	}
	name := cut(entry.Link)
	for i, r := range a.reports {
		key, ok := report.EngagedRow(r, h, entry)
		if !ok {
			continue
		}
		a.countVisits(a.rowOf(a.wholeCell(m, i), key), &c)
		if name != "" && r.PerLink() {
			a.countVisits(a.rowOf(a.linkCell(m, i, name), key), &c)
		}
	}
}

func (a *increments) countVisits(at int32, c *delta.Counts) {
	r := &a.rows[at]
	if !r.visits {
		r.visits = true
		a.sizeBound += delta.VisitCountsBytes
	}
	r.counts.Add(c)
}

// nobody is told of visits that are told already.
type nobody struct{}

func (nobody) Entry(*visit.Visit, delta.Counts)                    {}
func (nobody) Exit(*visit.Visit, delta.Counts)                     {}
func (nobody) Engaged(*hit.Hit, *visit.Visit, int64, delta.Counts) {}
