// Package node puts one node together from its rooms: the controller (raftfsm), the log (broker), ingest, rollup and web. It is the only
// place that sees all of them; the adapters between them are in adapt.go.
//
// Open builds the parts from the bottom to the top, so that whatever is wrong (a data directory that cannot be used, a port that is
// taken, a damaged country database) is said before anything is answered. Run runs them and stops them from the top to the bottom: no more
// hits come in, those that came are committed, what is counted is written, then the log closes. Close releases what Open took.
//
// Tests start one node, or three, with this package.
package node
