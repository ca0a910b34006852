// Package feed runs one member of a consumer group that counts: it reads partitions of a topic, hands the records to a Worker for each
// partition, and publishes what the workers make of them.
//
// A feed promises its workers:
//   - Records come in the order of their offsets, beginning at the offset that the worker asked for, not at the one committed.
//   - Only one goroutine calls a worker at a time, and none after its partition was taken away.
//   - What Flush returns is sent as one record batch per partition where its size allows, in order, with an idempotent producer and
//     acks=all; as two when the client is still ending the flush before. Flushed is called when all of it is committed to the log.
//   - On any error everything in memory is dropped: the feed starts over with new workers, which find out from the log where they were.
//
// Group offsets are committed for the sake of those who watch the lag; nothing depends on them.
//
// Start reading at feed.go (what a worker is), then session.go.
package feed
