// Package stats answers the questions about counts: totals, series, breakdowns, links, and how many are here now.
//
// It parses and checks parameters, asks the rollups, and shapes the answer. It counts nothing itself.
//
// What must hold:
//   - Days, hours and months are those of the site's zone. All steps go through rollup/zone, so that an answer is cut
//     where the counts are.
//   - Filling gaps with zeros never drops a row that the rollups gave.
//   - The number of rows of an answer is bounded before they are made.
//   - An error names the parameter and what is allowed.
//
// Start reading at params.go, then counts.go.
package stats
