// Package ring keeps the newest N windows of time in a ring of buckets, and says what to do with times that do not fit.
//
// It is pure: it knows no clock, no zone and no counter. A window is an index on an absolute edge (the 29,366,400th minute since 1970, the
// n-th hour of a zone), so where a bucket begins never depends on when the program was started or on what came before.
//
// Invariants:
//   - A bucket that is handed out belongs to the index that was asked for. Whatever step the ring makes forward, one or a million, each
//     bucket it passes is forgotten before it can be used again.
//   - An index behind the ring is late: the ring says so and changes nothing. Newer buckets are never touched by an older time.
//   - Memory follows the buckets in use, not the size of the ring: slots are allocated in blocks when first touched.
//
// Start reading at ring.go; the rules for late and future times are in judge.go.
package ring
