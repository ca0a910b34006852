// Package zone cuts time into windows: minutes in UTC, hours, days and months on the clock of a time zone.
//
// Windows of one kind never overlap, leave no gap, and are numbered in order, so that a ring of buckets can be laid over them and the
// parts of any range add up to the whole. What a clock on the wall does to that:
//   - Half-hour and quarter-hour zones have hours that begin at :30 or :45 of UTC.
//   - When clocks go back, the hour that comes twice is two windows, told apart by their offset from UTC; the day has 25 hours.
//   - When clocks go forward, the hour that is left out has no window; the day has 23.
//   - Where clocks move by half an hour (Lord Howe Island), an hour of the wall is cut where the clock moves: windows of 30 minutes.
//   - A day begins at its first moment, which is not midnight where midnight is left out. A date that a zone skipped has no window.
//   - A day goes on until the next date has begun for the first time: where clocks go back across midnight, the minutes that are
//     yesterday's again belong to the day that had begun, so that days do not interleave.
//
// The package is pure and its values are immutable: safe for concurrent use. It carries its own copy of the time zone database, used
// where the machine has none.
//
// Start reading at zone.go.
package zone
