// Package command encodes what the controller group agrees on, one command per raft entry.
//
// A command carries everything its effect depends on: the time it was proposed, identifiers and random bytes drawn by the proposer. Applying
// it therefore gives the same state on every node and at every replay. The package only encodes and decodes; package state applies.
//
// Layout of an encoded command, integers big-endian:
//
//	+---------+---------------+----------------------------+----------------+
//	| version | kind (uint16) | proposed at (int64, Unix ms) | body (JSON) ...|
//	+---------+---------------+----------------------------+----------------+
//	    1            2                     8                 to the end
//
// The version is 1. A reader that meets another version, a kind it does not know or a field it does not know refuses the command: skipping
// any of them would let replicas differ. The body is JSON because these commands are rare and small, and because a person who reads the
// raft log in an emergency should be able to.
package command
