// Package javahash finds partitions of internal topics as the Java clients and tools of Apache Kafka do.
package javahash

import "unicode/utf16"

// Partition returns the partition, of count, that a group or a transactional id belongs to: the hash that Java gives to the
// string, made positive, modulo count, which is more than 0.
func Partition(name string, count int32) int32 {
	var hash int32
	for _, unit := range utf16.Encode([]rune(name)) {
		hash = 31*hash + int32(unit)
	}
	// The smallest int32 has no absolute value.
	if hash == -1<<31 {
		hash = 0
	}
	return max(hash, -hash) % count
}
