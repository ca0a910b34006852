package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-analytics/weir/ingest"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup"
	"github.com/weir-analytics/weir/web"
	"github.com/weir-analytics/weir/web/stats"
)

// counts lets web read the counts of this process. It implements web.Rollup.
type counts struct{ rollup *rollup.Rollup }

func (c counts) Query(ctx context.Context, q stats.Query) (stats.Answer, error) {
	a, err := c.rollup.Query(ctx, rollup.Query{Site: q.Site, Link: q.Link, By: q.By, Every: q.Every, From: q.From, To: q.To, Limit: q.Limit})
	var invalid *rollup.InvalidError
	switch {
	case errors.As(err, &invalid):
		return stats.Answer{}, state.ErrInvalid{Field: invalid.Field, Reason: invalid.Reason}
	case errors.Is(err, rollup.ErrNoSite):
		return stats.Answer{}, fmt.Errorf("%w: %w", state.ErrNotFound, err)
	case err != nil:
		return stats.Answer{}, err
	}
	answer := stats.Answer{From: a.From, To: a.To, Timezone: a.Timezone, CompleteTo: a.CompleteTo, VisitorsAre: a.VisitorsAre}
	answer.Rows = make([]stats.Row, len(a.Rows))
	for i, r := range a.Rows {
		answer.Rows[i] = stats.Row(r)
	}
	return answer, nil
}

func (c counts) Now(site state.SiteID) (stats.NowCounts, error) {
	now, err := c.rollup.Now(site)
	return stats.NowCounts{Visitors5m: now.Visitors5m, Visitors30m: now.Visitors30m, Hits1m: now.Hits1m, Hits30m: now.Hits30m, CompleteTo: now.CompleteTo}, err
}

func (c counts) Bounds(site state.SiteID) (first, last time.Time, ok bool) {
	return c.rollup.Bounds(site)
}

func (c counts) Watch(site state.SiteID) (<-chan struct{}, func()) { return c.rollup.Watch(site) }

func (c counts) WaitFor(ctx context.Context, offsets map[int32]int64) error {
	return c.rollup.WaitFor(ctx, offsets)
}

// importer lets web hand log files to ingest. It implements web.Importer.
type importer struct{ ingest *ingest.Ingest }

func (i importer) Import(ctx context.Context, in web.ImportRequest, progress func(web.ImportCounts)) (web.ImportResult, error) {
	r, err := i.ingest.Import(ctx, ingest.ImportRequest{Site: in.Site, Body: in.Body}, func(c ingest.ImportCounts) { progress(web.ImportCounts(c)) })
	result := web.ImportResult{ImportCounts: web.ImportCounts(r.ImportCounts), Humans: r.Humans, Bots: r.Bots, Reasons: r.Reasons, Offsets: r.Offsets}
	for _, e := range r.Examples {
		result.Examples = append(result.Examples, web.ImportExample(e))
	}
	return result, err
}
