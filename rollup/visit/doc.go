// Package visit makes visits out of hits. It is pure: what it says depends on the hits it was given and their order, not on a clock.
//
// A visit is a run of hits of one visitor of one site with no more than Gap between one and the next, by their own times. Hits may come in
// any order: one that comes late begins the visit earlier, fills it, or joins two visits to one. What was told before is then corrected, by
// differences that may be negative. Package-level limits say how long and how much is remembered; what comes later than that begins a
// visit of its own.
//
// What must hold:
//   - At any moment the sum of all that was told is what the visits are: one told visit for each, in the minute in which it begins, in the
//     rows of the hit that it begins with.
//   - The state after a hit is a function of the hits before it. It can be saved and loaded at any point, and goes on the same.
//   - Memory is bounded by MaxVisitors and MaxBytes, whatever comes.
//
// Start reading at visit.go, then visits.go; people.go is the memory.
package visit
