// Package peer is the link between the nodes of a cluster: one port, mutual
// TLS, and on it the messages of all raft groups, calls from node to node, and
// streams.
//
// Node is the real one. Memory is its twin without sockets, whose messages can
// be lost, delayed and cut: simulations run on it. Both speak through the same
// encoding (message.go) and the same groups (group.go).
//
// What it promises:
//
//   - A message reaches the peer whole or not at all, once, and only from a
//     node that showed a certificate of the cluster.
//   - transport.ErrNotSent means that a call certainly did not reach the peer.
//   - Heartbeats of all groups to a peer travel together; a request to append
//     is cut to appendBytes, and batches are not copied to be sent.
//   - Nothing a peer sends makes this node hold more than inboundBytes for it,
//     or one message if that is larger.
//
// DESIGN.md says why it is like this. The bytes are described in
// docs/formats/peer.md. Start reading at Node (node.go) and group (group.go).
package peer
