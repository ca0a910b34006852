// Package hardstate keeps the term and vote of every raft group of a node in
// one file, durable before a call returns.
//
// A Group has the methods of raft's StableStore. It writes nothing when a value
// does not change, and it makes a vote durable as one record together with
// the term it belongs to: raft hands over the term of a vote and its candidate
// in two calls, and a crash between them must not leave a vote for the wrong
// candidate.
//
// Groups that write at the same time share one sync. The bytes are described in
// docs/formats/hardstate.md. Safe for concurrent use.
package hardstate
