// Package meter keeps the log of the log: how many records and bytes each
// partition has taken in each minute, as records of the topic broker.received
// (docs/formats/received.md).
//
// What is counted are ranges of offsets, not events: the partition's state
// machine adds up records and bytes as it commits (two additions, under the
// lock it holds anyway), and once a minute the leader's meter takes the sum and
// the high watermark and writes the range since the last one. So nothing is
// counted twice or left out without being seen: the ranges of a partition join
// up. After a restart, or on another leader, the meter goes on where the last
// range that was written ends, and counts what came since in the log.
//
// The topic does not count itself.
//
// Start reading at Meter.Run; Audit says whether ranges join up.
package meter
