// Package seglog keeps the log of one partition: raft entries in order, of
// which those that are record batches form the Kafka log with dense offsets.
//
// It knows nothing of raft: an entry has an index, a term and a kind. What it
// promises:
//
//   - When Append returns nil, its entries are durable (one fdatasync for all
//     of them); when it returns an error that is not ErrFailed, none is there.
//   - .log files hold record batches and nothing else, at dense offsets from 0,
//     so that any Kafka tool can read them.
//   - Entries without a batch take no offset.
//   - After a crash everything that was acknowledged is there or Open fails with
//     ErrCorrupt. Damage is reported and never repaired by deleting.
//   - All batches of a segment have the same term.
//
// Start reading at Log (log.go), then append.go and recover.go; DESIGN.md says
// why it is so and docs/formats/segment.md has the bytes.
//
// One goroutine at a time appends; any number may read meanwhile.
package seglog
