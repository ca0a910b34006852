// Package record reads, checks and builds Kafka record batches of magic 2.
//
// It deals in bytes only: no files, no clock, no offsets of its own. Everything
// that comes from a network or a disk passes through Check or Validate before
// another package looks inside it.
//
// A batch is a 61-byte header followed by the records, which may be compressed
// as one block. All integers are big endian; the CRC-32C covers everything from
// the attributes to the end, so the base offset and the leader epoch can be
// filled in by the log without touching the checksum:
//
//	 0        8       12       16 17     21  23       27          35
//	 +--------+-------+--------+--+------+---+--------+-----------+--
//	 | base   | batch | leader |2 | crc  |att| last   | first     |
//	 | offset | length| epoch  |  | 32C  |rib| delta  | timestamp |
//	 +--------+-------+--------+--+------+---+--------+-----------+--
//	35          43         51      53        57       61
//	 +-----------+----------+-------+---------+--------+---------
//	 | max       | producer | prod. | first   | record | records
//	 | timestamp | id       | epoch | sequence| count  | ...
//	 +-----------+----------+-------+---------+--------+---------
//
// "Batch length" counts the bytes after itself (total size minus 12).
//
// Inflating is always bounded: a small batch that unpacks to more than the
// caller's bound is refused with ErrTooLarge instead of filling the memory.
//
// Start reading at Parse (batch.go), then ForEach (iterate.go), Builder (build.go)
// and Marker (marker.go). All functions are safe for concurrent use; a Builder is
// not.
package record
