// Package sketch counts distinct visitors: exactly while they are few, by HyperLogLog when they are many.
//
// A Sketch takes 64-bit hashes that are already uniform (visitor ids are keyed hashes) and never asks for more memory than its Kind says.
// Sketches can be merged in any order and grouping with the same result, so a range is the union of its parts.
//
// Sizes and errors, by Kind:
//
//	Kind   exact up to   then registers   memory    standard error
//	Total  512           2^14             16 KiB    0.81 %
//	Row    128           2^12             4 KiB     1.63 %
//
// Invariants:
//   - Count is exact for as long as Exact says so, and Exact never lies: a sketch becomes inexact once and stays so.
//   - Append writes equal bytes for equal content, whatever the order of insertion.
//   - Parse accepts what Append writes and nothing else, and allocates no more than the sketch it returns needs.
//
// Start reading at sketch.go; the binary forms are in binary.go and docs/formats/cell.md.
package sketch
