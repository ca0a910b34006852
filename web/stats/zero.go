package stats

import (
	"slices"
	"time"

	"github.com/weir-analytics/weir/rollup/zone"
	"github.com/weir-analytics/weir/web/reply"
)

// checkSize refuses a series of too many windows: with zeros each of them is a row, without them each has to be looked at.
func checkSize(p params) error {
	most := time.Duration(maxWindows)
	if p.zero {
		most = maxRows
	}
	if p.to.Sub(p.from)/typical(p.every) <= most {
		return nil
	}
	return reply.Invalid("every", "the range from %s to %s has more than %d windows by %s; give a shorter range with from and to, or a longer every",
		p.from.Format(time.RFC3339), p.to.Format(time.RFC3339), most, p.every)
}

// fillZeros returns rows with one row for every window from from to to. Rows that are there already are kept, whatever their start.
func fillZeros(rows []Row, cal calendar, unit zone.Unit, from, to time.Time) []Row {
	filled := slices.Clone(rows)
	for at := from; at.Before(to); {
		start, end := cal.window(unit, at)
		filled = append(filled, Row{Start: start})
		at = end
	}
	// Stable: where both exist, the row with counts comes first and the zero is dropped.
	slices.SortStableFunc(filled, func(a, b Row) int { return a.Start.Compare(b.Start) })
	return slices.CompactFunc(filled, func(a, b Row) bool { return a.Start.Equal(b.Start) })
}
