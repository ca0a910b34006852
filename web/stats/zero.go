package stats

import (
	"slices"
	"time"

	"github.com/weir-analytics/weir/rollup/zone"
	"github.com/weir-analytics/weir/web/reply"
)

// checkSize refuses a series that would have too many rows.
func checkSize(unit zone.Unit, from, to time.Time) error {
	if to.Sub(from)/typical(unit) <= maxRows {
		return nil
	}
	return reply.Invalid("every", "the range from %s to %s has more than %d rows by %s; give a shorter range with from and to, or a longer every",
		from.Format(time.RFC3339), to.Format(time.RFC3339), maxRows, unit)
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
