// Package testkit is what tests of several rooms share: the corpus, waiting for a condition, and a node as a process of its own.
//
// It knows no room: nodes are started from the built binary and talked to through their listeners, as a stranger would.
package testkit
