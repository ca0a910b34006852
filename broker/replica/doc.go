// Package replica is one partition of a topic: a raft group whose log store is
// the partition's segmented log.
//
// The way of a batch: Append checks it and puts it in a bounded queue; the
// appender (appender.go) compares its sequence number with what its producer
// sent before and hands it to raft; raft stores it through logStore
// (logstore.go), where it gets its offset and is synced; once the group has
// committed it, ApplyBatch (apply.go) moves the high watermark and the
// producers' state, and the Pending is answered.
//
// What it promises:
//
//   - A Pending without an error means that the batch survives any minority of
//     the replicas, at the offset given. ErrOutcomeUnknown means that it may or
//     may not be there; every other error that it is not.
//   - One raft entry is exactly one record batch. Entries of raft itself and
//     our own commands take no offset.
//   - A leader serves only after its Barrier, so that high watermark and
//     producer state are those of its predecessor.
//   - Nothing at or above the high watermark is ever read.
//   - Every transaction below the last stable offset has ended, and those of
//     them that were aborted are known to whoever reads (marker.go).
//   - A failed write or damaged bytes stop the partition, with an event and an
//     error, and delete nothing.
//
// DESIGN.md says how the library underneath is fenced in. Start reading at Open
// (open.go) and Append (appender.go).
package replica
