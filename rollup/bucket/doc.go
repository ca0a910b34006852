// Package bucket is the cell of a report: what was counted for one report of one site (or of one of its short links) in one window of
// time, from one partition of events. Folds write cells to the topics rollup.minute, rollup.hour and rollup.day; everybody may read them.
//
// A cell travels as a record of a compacted topic: Key is text, AppendJSON and ParseJSON are the value. The last record of a key holds
// the whole cell, so whoever sums the last value of each key over the partitions has the truth. In tables on disk the rows have a
// shorter binary form: AppendRows and Rows.
//
// A large cell is cut into shards of at most MaxRows rows, each a record with its own key; a row never moves from one shard to another.
//
// Beside cells the topics carry one progress record per partition: see Progress.
//
// The package is pure. docs/formats/cell.md describes the formats. Start reading at bucket.go.
package bucket
