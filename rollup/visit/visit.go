package visit

import (
	"time"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/delta"
)

// Gap is the longest time without a hit within a visit.
const Gap = 30 * time.Minute

// Memory is how long a visitor is remembered after the last hit was received. Hits that come later begin visits of their own. It is Gap,
// and as much again for hits that are late.
const Memory = time.Hour

// Bounds of what is remembered in one partition of events. Beyond, the visitors whose last hits were taken the longest ago are forgotten:
// their visits stay as they were told. 200 to 500 bytes for each visitor is typical.
const (
	MaxVisitors = 1 << 16
	MaxBytes    = 16 << 20

	maxVisits = 4 // of one visitor that hits can still join: the latest that hits came to
	maxPages  = 8 // of one visitor whose scroll depth is remembered: the latest
)

// Visit is one visit. It is valid until the call that was given it returns.
type Visit struct {
	Site      uint32
	FirstMs   int64 // time of the first hit, Unix milliseconds
	LastMs    int64 // of the last hit or engagement
	Pageviews int64
	Actions   int64  // events and clicks that the visitor made, not those that happen by themselves
	Entry     []byte // the hit it begins with, encoded, with what reports look at: see hit.Borrow. It is not written to
	Exit      string // path of the last page that a page view or an event was of; empty: there was none
	exitMs    int64

	// Rows and Stamp are the Teller's, to remember where it counts the visit. Stamp falls back to 0 when Entry or the minute changes.
	Rows  []int32
	Stamp uint64
}

// Minute returns the minute in which the visit begins, since 1970.
func (v *Visit) Minute() int64 { return floorDiv(v.FirstMs, 60_000) }

// Counts returns what the visit adds to each row that it is in.
func (v *Visit) Counts() delta.Counts {
	c := delta.Counts{Visits: 1, DurationMs: v.LastMs - v.FirstMs}
	if v.Pageviews <= 1 && v.Actions == 0 {
		c.Bounces = 1
	}
	return c
}

// Teller is told what is to be added to counts. Nothing that it is given may be kept.
type Teller interface {
	// Entry adds to the rows of the hit that a visit begins with, in the minute of the visit.
	Entry(v *Visit, c delta.Counts)
	// Exit adds to the row of the page that a visit ends with, in the minute of the visit.
	Exit(v *Visit, c delta.Counts)
	// Engaged adds to the rows of an engagement, in a minute that may be one before its own. v is the visit that it is in, nil for none.
	Engaged(h *hit.Hit, v *Visit, minute int64, c delta.Counts)
}

// Makes says whether a hit is one that visits are made of.
func Makes(h *hit.Hit) bool {
	return !h.Bot && h.Visitor != 0 && (h.Kind == hit.Pageview || h.Kind == hit.Event || h.Kind == hit.Click)
}

// pageOf returns the page that a hit is of, empty for a click.
func pageOf(h *hit.Hit) string {
	switch {
	case h.Kind == hit.Click:
		return ""
	case h.Path == "":
		return "/"
	default:
		return h.Path
	}
}

func (v *Visit) has(timeMs int64) bool {
	return timeMs >= v.FirstMs-Gap.Milliseconds() && timeMs <= v.LastMs+Gap.Milliseconds()
}

// take adds a hit to the visit.
func (v *Visit) take(h *hit.Hit, s *Visits) {
	switch {
	case h.Kind == hit.Pageview:
		v.Pageviews++
	case h.Kind == hit.Click || !h.NonInteractive:
		v.Actions++
	}
	if v.Entry == nil || h.TimeMs < v.FirstMs {
		v.Entry, v.Stamp = s.encode(h), 0
	}
	if page := pageOf(h); page != "" && (v.Exit == "" || h.TimeMs >= v.exitMs) {
		if page != v.Exit {
			v.Exit = string([]byte(page)) // it may point into a record
		}
		v.exitMs = h.TimeMs
	}
	v.FirstMs, v.LastMs = min(v.FirstMs, h.TimeMs), max(v.LastMs, h.TimeMs)
}

// join makes one visit of two.
func (v *Visit) join(w *Visit) {
	v.Pageviews += w.Pageviews
	v.Actions += w.Actions
	if w.FirstMs < v.FirstMs {
		v.FirstMs, v.Entry, v.Stamp = w.FirstMs, w.Entry, 0
	}
	v.LastMs = max(v.LastMs, w.LastMs)
	if w.Exit != "" && (v.Exit == "" || w.exitMs > v.exitMs) {
		v.Exit, v.exitMs = w.Exit, w.exitMs
	}
}

func negative(c delta.Counts) delta.Counts {
	return delta.Counts{Visits: -c.Visits, Bounces: -c.Bounces, DurationMs: -c.DurationMs}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
