// Package api answers the requests of the Kafka protocol: one file per key, named and numbered as the protocol does.
//
// It holds no state of its own beside fetch sessions. What exists is in a View, an immutable snapshot that the broker
// hands out; records are behind Partition; groups are answered by broker/group, transactions by broker/txn. kmsg encodes and decodes, except for the answer of
// Fetch, whose records go to the socket without being copied (fetch_encode.go).
//
// Rules that all files keep:
//   - what is advertised works; keys.go is the whole list;
//   - throttle_time_ms belongs to quotas (quotas.go) and to nothing else;
//   - no answer names a leader or creates a topic before its partitions serve;
//   - "certainly not done" and "outcome unknown" stay apart (errors.go).
//
// Start reading at Handler.Serve and keys.go.
package api
