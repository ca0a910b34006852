package stats

import (
	"context"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup"
)

// Rollup is what the counts come from. All methods may be called from several goroutines.
type Rollup interface {
	// Query answers one question. Rows of a series come in order of time, those of a breakdown by visitors, hits and key.
	Query(ctx context.Context, q Query) (Answer, error)
	// Now returns the counts of the last minutes of a site.
	Now(site state.SiteID) (NowCounts, error)
	// Bounds returns the start of the first minute with a hit and the end of the last one; ok is false when there is none.
	Bounds(site state.SiteID) (first, last time.Time, ok bool)
	// Refused returns how many hits of a site (0: of none that is known) were refused in a range, most frequent reason first, and from when on
	// that is whole; the zero time when nothing was ever refused.
	Refused(site state.SiteID, from, to time.Time) (counts []RefusedCount, since time.Time)
	// Audit recounts a site from the raw log. progress is called by the calling goroutine.
	Audit(ctx context.Context, q AuditQuery, progress func(done, all int64)) (AuditResult, error)
}

// What is asked and answered is the counting room's; these names save readers of this package the way there.
type (
	// Query is a question about the counts of one site.
	Query = rollup.Query
	// Answer is what a Query gives.
	Answer = rollup.Answer
	// Row is one line of an answer.
	Row = rollup.Row
	// NowCounts are the counts of the last minutes.
	NowCounts = rollup.NowCounts
	// RefusedCount is how many hits were refused for one reason.
	RefusedCount = rollup.RefusedCount
)

// Sites finds sites in the cluster state.
type Sites interface {
	// State returns an immutable snapshot.
	State() *state.State
}
