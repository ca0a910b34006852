package rollup

import (
	"context"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/report"
	"github.com/weir-analytics/weir/rollup/ring"
	"github.com/weir-analytics/weir/rollup/sketch"
	"github.com/weir-analytics/weir/rollup/table"
	"github.com/weir-analytics/weir/rollup/zone"
)

// NowCounts are the last minutes of a site. Each counts the minute that is running and so many whole ones before it, so it falls to zero
// by time alone.
type NowCounts struct {
	Visitors5m  int64
	Hits1m      int64
	Visitors30m int64
	Hits30m     int64
	CompleteTo  time.Time // zero: not known
}

// Now returns the last minutes of a site.
func (r *Rollup) Now(site state.SiteID) (NowCounts, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*sampleTimeout)
	defer cancel()
	complete, err := r.completeTo(ctx, map[zone.Unit]bool{zone.Minute: true})
	if err != nil {
		return NowCounts{}, err
	}
	view := r.table.View()
	defer view.Close()
	running := zone.UTC.Window(zone.Minute, r.cfg.Now().Unix())
	counts := NowCounts{CompleteTo: complete}
	var five, thirty sketch.Union
	five.Reset(sketch.Total)
	thirty.Reset(sketch.Total)
	// Hits may be dated a little ahead of our clock; they have happened all the same.
	rng := table.Range{Unit: zone.Minute, Site: uint32(site), Generation: 1, Report: report.Total, From: running.Start - 30*60,
		To: running.End + ring.MaxAheadMs/1000}
	err = view.Walk(rng, func(start int64, _ int32, rows *bucket.Rows) error {
		for rows.Next() {
			counts.Hits30m += rows.Row.Hits
			if start >= running.Start-60 {
				counts.Hits1m += rows.Row.Hits
			}
			if err := thirty.Add(rows.Row.Sketch); err != nil {
				return err
			}
			if start >= running.Start-5*60 {
				if err := five.Add(rows.Row.Sketch); err != nil {
					return err
				}
			}
		}
		return nil
	})
	counts.Visitors5m, counts.Visitors30m = five.Count(), thirty.Count()
	return counts, err
}
