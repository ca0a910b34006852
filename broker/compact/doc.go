// Package compact is the cleaner of topics whose cleanup.policy has compact: of
// each key the newest record stays.
//
// Clean makes one round over a log. It reads what is dirty, the sealed segments
// that no round has seen, into a map from key to newest offset, and then
// rewrites all sealed segments from the log start up to there: a record stays
// if no newer one of its key is in the map. Tombstones, records without a value,
// and the markers of transactions go in two steps, as in Kafka (KIP-534): the
// first round that has nothing left to remove for them writes the time into the
// batch at which they may go, a later one removes them.
//
// What it promises:
//
//   - Offsets never change. A reader that begins anywhere sees the newest record
//     of each key, in the order of offsets.
//   - It touches only what is below the end it is given, which is at most the
//     last stable offset; the segment that is appended to stays as it is.
//   - Of each producer that is known its last batch stays, emptied if need be,
//     and the last batch of the log as well.
//   - Memory is bounded: see Config.MapBytes.
//
// seglog.Rewrite makes the replacement of files safe. Start at Clean (clean.go).
package compact
