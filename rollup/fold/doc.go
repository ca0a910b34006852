// Package fold adds deltas up to cells: the consumer groups "rollup-minute", "rollup-hour" and "rollup-day" read rollup.deltas, and each
// writes the windows of its length to its own compacted topic.
//
// A partition keeps the newest windows of each site in a ring and publishes the cells that changed. What is not at hand (older than the
// ring, pushed out to bound memory, or from before a restart) is loaded from the table of published cells and added to, never written over.
//
// What must hold:
//   - A cell at folded_to = N is a function of the deltas before offset N and of the site's zone. So it does not matter who publishes it,
//     or how often; of two records of a cell the one with the greater folded_to is right.
//   - Each shard of a cell says up to where it is folded, and a delta before that is not added to it again. The progress record of a
//     flush is the last of it in the log; after a start the deltas from there on are read again.
//   - Deltas of old minutes wait for what happens now (backlog.go), and then the progress record says where the first of them begins.
//   - Memory is bounded: windows that are published can be dropped at any time, those that are not are published when they grow.
//
// Start reading at fold.go, then cell.go (rows, shards, the rule about offsets), windows.go (ring and memory) and output.go (a flush in the
// making).
package fold
