// Package delta is the record that tally writes to the topic rollup.deltas and that the folds (and anybody else) read: what one flush of
// tally adds to one minute of one site.
//
// A flush is everything tally counted from one range of offsets of one partition of events. It is written as a run of records at
// neighbouring offsets, normally one record batch. Each record says how many there are, which one it is, the range [From, To) that the
// flush covers, and the offset At at which the flush was meant to begin. A reader takes a flush only when it is whole and begins at At:
// that is what makes each hit count once without transactions. The rule is written out in docs/formats/delta.md; Reader applies it.
//
// The value is a protobuf message; Schema returns its definition. Readers skip fields they do not know. The package is pure and the
// codec is written by hand on protowire.
//
// Start reading at delta.go; append.go and parse.go are the halves of the codec, reader.go is the rule about whole flushes.
package delta
