// Package raftfsm is the controller: the one Raft group that agrees on who is in the cluster and which topics, sites, users, tokens and
// salts there are. Other rooms read its State and call its methods; it knows none of them.
//
// What is agreed on is decided by package state, a pure state machine over the commands of package command. This package proposes them,
// keeps the log (raft-boltdb, synced before anything is answered) and the snapshots, and runs the duties of the leader: the first command
// of a new cluster, and the salts of coming days.
//
// On disk, below the data directory:
//
//	identity.json           who this node is; written before anything else, see identity.go
//	controller/raft.db      log, term and vote
//	controller/snapshots/   the newest snapshot of the state
//	peer/                   keys, and where the other nodes are
//
// With Config.Peers there may be several nodes: package peer connects them, a token lets one join (joining.go), the first three vote and the
// others follow (members.go). Any node reads; a change goes to the leader, and what came of it is what the proposer's own replica says
// (forward.go).
//
// Invariants:
//   - A cluster is formed only in a directory that is empty. A directory that was a member and lost its raft.db refuses to start: a node
//     that lost data never votes under its old identity.
//   - A node that joined never forms a cluster, and a number or address that is known is refused to other data.
//   - Each method that changes something returns after the change is committed and visible in State, or says whether it was not done
//     (ErrUnavailable, or a refusal of package state) or may have been done (ErrOutcomeUnknown).
//   - A salt that was erased is in none of our files soon after: the snapshot is written anew, the log is cut
//     and raft.db is rewritten.
//
// Start reading at controller.go.
package raftfsm
