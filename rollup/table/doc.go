// Package table is the on-disk copy of the topics rollup.minute, rollup.hour and rollup.day, and of what tally knows about identities.
//
// It is a cache: everything in it can be read from the log again, so writes are not synced, and a table that does not fit the log (another
// schema, a topic made anew) is emptied and filled again. Memory is bounded by the block cache and the memtables, whatever is in it.
//
// What must hold:
//   - Records of a partition are taken in order, and only up to a progress record: what readers see of a partition and window length is
//     the state at the end of a flush, where the parts of every report add up to the whole. Settle makes an exception for a fold that
//     starts after a crash in the middle of a flush.
//   - Of two records of a cell the one with the greater folded_to stays, whichever came first.
//   - The position in the log and the records up to it are in one batch.
//
// Start reading at table.go; keys.go is the layout, apply.go takes records in, feed.go what folds hand over, identities.go is tally's part.
package table
