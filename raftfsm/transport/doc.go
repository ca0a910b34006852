// Package transport is the link between the replicas of the raft groups of a
// node and their peers.
//
// A Network makes one Group per raft group; a Group is raft's Transport with
// what our replicas need on top. Local is the network of a node without peers:
// groups of one voter run on it unchanged, and any call to a peer fails.
//
// No Group pipelines: the library's pipeline can stop for ever after a refused
// append, and one request in flight is as fast when entries are large.
package transport
