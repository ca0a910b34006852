// Package report says what each report shows: one file per report, all with the same few methods.
//
// A report maps a hit to the row it is counted in, or to none. It counts nothing itself and keeps nothing. The parts of a report add up
// to the whole that its file states, over any range: a hit is in exactly one row of a report that it belongs to.
//
// A new report is a new file here and a line in All. Its name is part of keys of cells and of the API and may not contain a bar or a dot.
//
// Start reading at report.go.
package report
