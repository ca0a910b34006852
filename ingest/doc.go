// Package ingest takes hits in: from trackers and servers over HTTP, and from log files. It cleans and enriches them, writes them to the
// topic "events", and answers when they are written.
//
// A request is bounded in size, taken apart by a dialect (ingest/dialect), and becomes hits (ingest/hit). The address of the visitor ends
// here: it is turned into a visitor id, a partition and a place, and is neither stored nor logged. Every hit is encoded into the batch that
// its partition is filling. While one batch of a partition is being committed the next one fills, and few partitions write at a time
// (turns.go), so batches grow with the load; whoever comes alone is written at once.
//
// Invariants:
//   - An answer of 202 means that the hit is committed. An error says whether it is certainly not written or whether that is unknown.
//   - A hit has its identity before the first attempt to write it, and keeps it through retries.
//   - Per partition one batch is under way at a time, and when it fails, the ones behind it fail too: sequences are written in order, or
//     not at all. Whoever counts may rely on it to drop repeats by the highest sequence seen.
//   - Memory is bounded: bodies, lines, queues and caches have limits, and what does not fit is refused with 503 and counted.
//   - No refusal is silent: each has a reason from drop.go, a metric, and an answer that says what to do.
//
// Start reading at Ingest in ingest.go; handler.go lists the paths.
package ingest
