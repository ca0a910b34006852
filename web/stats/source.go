package stats

import (
	"context"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// Rollup is what the counts come from. All methods may be called from several goroutines.
type Rollup interface {
	// Query answers one question. Rows of a series come in order of time, those of a breakdown by visitors, hits and key.
	Query(ctx context.Context, q Query) (Answer, error)
	// Now returns the counts of the last minutes of a site.
	Now(site state.SiteID) (NowCounts, error)
	// Bounds returns the start of the first minute with a hit and the end of the last one; ok is false when there is none.
	Bounds(site state.SiteID) (first, last time.Time, ok bool)
}

// Query is a question about the counts of one site.
type Query struct {
	Site  state.SiteID
	Link  string // "" is the whole site
	By    string // "" is one row for everything
	Every string // "" is the whole range; minute, hour, day, month
	From  time.Time
	To    time.Time // excluded
	Limit int       // 0 is all
}

// Row is one line of an answer.
type Row struct {
	Key                                                     string
	Start                                                   time.Time // of the bucket, zero without Every
	Hits, Humans, Bots, Visitors, Pageviews, Events, Clicks int64
}

// Answer is what a Query gives.
type Answer struct {
	From, To    time.Time
	Timezone    string
	CompleteTo  time.Time
	Rows        []Row
	VisitorsAre string // exact, union, sum of daily
}

// NowCounts are the counts of the last minutes.
type NowCounts struct {
	Visitors5m, Visitors30m, Hits1m, Hits30m int64
	CompleteTo                               time.Time
}

// Sites finds sites in the cluster state.
type Sites interface {
	// State returns an immutable snapshot.
	State() *state.State
}
