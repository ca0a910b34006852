// Package group is the coordinator of classic consumer groups and the keeper of committed offsets.
//
// Everything it must remember is in the partitions of `__consumer_offsets`, in the record layouts of Apache Kafka, so that
// Kafka's own tools can read them. A group belongs to the partition that PartitionOf names; the node that leads that
// partition coordinates the group. What a client is told was first committed to that partition:
//
//	request -> shard (one lock per partition) -> group (state machine, time is an argument)
//	                                              |  records to remember
//	                                              v
//	                             writer: joins them into batches, one Append at a time
//	                                              |  committed, or not
//	                                              v
//	                             group again (apply, answer the parked requests)
//
// It does not know Raft, segments or connections: it declares what it needs of a partition (Partition) and of the topics
// (Topics), and takes and gives the messages of franz-go's kmsg. The newer group protocol (KIP-848) and share groups
// are not here, nor is the coordinator of transactions, which tells it when one ends (WriteMarker).
//
// Invariants:
//   - Offsets become visible to OffsetFetch only after their record is committed, in the order of the log.
//   - A reply is given only while this node still leads the partition in the epoch in which the reply was made.
//   - Groups change only under their shard's lock; no lock is held while the log is written or read.
//   - A shard whose memory may differ from the log (outcome of a write unknown, foreign records in between) is thrown away
//     and loaded again.
//
// Start reading at Coordinator (coordinator.go), then shard.go, group.go and rebalance.go. DESIGN.md has the reasons.
package group
