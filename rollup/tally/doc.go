// Package tally turns hits into deltas: the consumer group "tally" reads the topic events and writes rollup.deltas.
//
// It sees each hit once, drops repeats, sets apart what cannot be counted, and adds the rest to increments of the minute that the hit
// belongs to. A flush publishes the increments of a range of offsets as one run of records that says which range it was.
//
// What must hold:
//   - The output of a partition is a function of its input up to an offset: no clock, no map order, no other partition. Only the cut
//     into flushes differs from run to run.
//   - The next flush begins where the last one in the log that counts ended (package delta says which count). So a hit is counted once,
//     however often the process dies.
//   - What is known of identities (package-private dedup) and of visits (package visit) at an offset depends only on the events before it.
//     The copy on disk is a cache of that, of both at one offset; where it is behind, the events in between are read again, where it is missing, all of them.
//
// Start reading at tally.go (one partition), then increments.go, visits.go and dedup.go; open.go finds the position after a start.
package tally
