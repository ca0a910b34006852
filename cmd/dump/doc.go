// Package dump takes the files of a node apart for people and programs that look at them: segments of the log, the files beside them, and votes.
//
// It only reads, takes no lock, and so works beside a running node. What is not as the node writes it becomes a line of its own with the byte at
// which it is; reading goes on behind it.
//
// Start reading at dump.go; segment.go has record batches, files.go everything else, decode.go the records of weir's own topics.
package dump
