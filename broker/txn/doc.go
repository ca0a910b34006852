// Package txn is the coordinator of transactions.
//
// Everything it must remember is in the partitions of `__transaction_state`, in the record layout of Apache Kafka, so that
// Kafka's own tools can read it. A transactional id belongs to the partition that PartitionOf names; the node that leads that
// partition coordinates its transactions. What a client is told was first committed to that partition:
//
//	request -> shard (one lock per partition) -> txn (state machine, time is an argument)
//	                                              |  the record to remember
//	                                              v
//	                             writer: joins them into batches, one Append at a time
//	                                              |  committed, or not
//	                                              v
//	                             txn again (apply, answer) -> markers into the partitions -> complete
//
// It does not know Raft, segments, groups or connections: it declares what it needs of a partition (Partition), of the topics
// (Topics) and of those who write markers (Markers), and takes and gives the messages of franz-go's kmsg.
//
// Invariants:
//   - The outcome of a transaction is committed before the first marker is written and before the client is told.
//   - A transactional id has one change under way at a time, decided on what is committed.
//   - An outcome that was decided is carried through, whoever crashes: loading goes on with prepared transactions.
//   - A reply is given only while this node still leads the partition in the epoch in which the reply was made.
//   - No lock is held while the log is written or read, or an id is asked for.
//
// Start reading at Coordinator (coordinator.go), then txn.go, begin.go, end.go and finish.go. DESIGN.md has the reasons.
package txn
