// Package led keeps one shard for each partition of an internal topic that this node leads: what a coordinator has of it in memory.
//
// A shard lives for one epoch of leadership. It is made when the node begins to lead the partition, serves once it has read the log, and
// is dropped for ever when the epoch ends or when it gives itself up; then another one takes its place. What a shard holds and how it is
// read and written is its owner's business (broker/group, broker/txn).
//
// Queue and Alarm are the parts of a shard that do not depend on what it holds: what it has yet to write, and when it must look at what is due.
//
// Start reading at Set.Run, then Set.At, which every request goes through.
package led
