// Package tail follows a log file that grows and is rotated, and hands each line out once: in whole lines, in order, with a token of the
// caller's that goes with the file.
//
// What it copes with: a file that is renamed and made again (the old one is read on until it has been quiet for a while), one that is copied and cut
// off in place (what was written between the last look and the cut is in the copy), one that is replaced by a file of the same length or a
// longer one, files that were rotated, and compressed, while nobody followed, and a file that is not there for a while.
//
// Where rotation cannot tell which lines of a copy were handed out, the whole copy is: the receiver has to know lines again. Files are known by
// a hash of their first bytes, so that a state from before a restart, or from another machine, fits.
//
// Start reading at Follower.Look.
package tail
