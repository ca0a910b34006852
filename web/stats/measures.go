package stats

import (
	"math"
	"time"
)

// measures are what is known of visits and engagements: sums, which add up over rows and ranges, and what they mean for one row, which does
// not. What is 0, or has nothing to be an average of, is left out.
type measures struct {
	Visits      int64 `json:"visits,omitempty"`
	Bounces     int64 `json:"bounces,omitempty"`
	DurationMs  int64 `json:"duration_ms,omitempty"`
	EngagedMs   int64 `json:"engaged_ms,omitempty"`
	ScrollSum   int64 `json:"scroll_sum,omitempty"`
	ScrollViews int64 `json:"scroll_views,omitempty"`

	BounceRate    *float64 `json:"bounce_rate,omitempty"`     // of 1
	ViewsPerVisit *float64 `json:"views_per_visit,omitempty"` // page views
	VisitSeconds  *float64 `json:"visit_seconds,omitempty"`
	ScrollDepth   *float64 `json:"scroll_depth,omitempty"` // percent
}

func measuresOf(r Row) measures {
	return measures{Visits: r.Visits, Bounces: r.Bounces, DurationMs: r.DurationMs, EngagedMs: r.EngagedMs, ScrollSum: r.ScrollSum, ScrollViews: r.ScrollViews,
		BounceRate: over(r.Bounces, r.Visits, 1), ViewsPerVisit: over(r.Pageviews, r.Visits, 1),
		VisitSeconds: over(r.DurationMs, r.Visits, time.Second.Milliseconds()), ScrollDepth: over(r.ScrollSum, r.ScrollViews, 1)}
}

// over returns a sum over a number of things, in a unit, to four digits after the point.
func over(sum, n, unit int64) *float64 {
	if n <= 0 {
		return nil
	}
	mean := math.Round(float64(sum)/float64(n)/float64(unit)*1e4) / 1e4
	return &mean
}
