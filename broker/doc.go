// Package broker is the log as the outside sees it: topics and partitions that follow the cluster state, a Kafka listener over them,
// consumer groups, and a producer within the process.
//
// It does not replicate (broker/replica), store (broker/seglog), speak the protocol (broker/api, broker/wire) or coordinate groups
// (broker/group): it holds these together. The cluster state says which topics exist; the broker opens a replica for each of their
// partitions below topics/<topic id>/<partition> of one of the data directories and closes them when the topic goes.
//
// Invariants:
//   - what this node serves is one immutable api.View; it is replaced, never changed;
//   - a directory is removed only for a topic that was seen to exist and then to be gone. Directories that no topic claims are left
//     alone and named in the log: deleting them could only ever lose data;
//   - a failing disk stops the partitions that are on it and no others (dirs.go, datadir.go);
//   - one partition that fails to open does not stop the others;
//   - partitions of __consumer_offsets are opened when a group needs them, or at the start when they hold something.
//
// Start reading at Broker.Run, then reconcile.go and partition.go.
package broker
