// Package bench measures a node from outside, over HTTP, with the load generator on the same machine: hits a second one by one and in
// batches, each beside a bare handler that only reads (and for batches parses) the same bodies, and the time from a hit to its count.
//
// It also measures counting alone (counting.go): a log in this process, filled before, and the CPU time that it takes to count what lies in it.
//
// The generator writes requests that were built before the measurement and reads answers without net/http, so that it takes little of the
// cores that the server needs too.
package bench
