// Command bench measures weir beside other logs on one machine, with one load generator, one run: an in-memory kfake, Apache Kafka and
// NATS JetStream. `make bench-broker` builds it, fetches what it needs and runs it; docs/benchmarks.md has the results.
//
// All servers run at once and are measured in turn, round by round, so that each meets the same neighbours. Load generator and servers share
// the cores. The first round warms up and is thrown away; of the others the median counts.
//
// Start reading at main. A module of its own, so that the peers are no dependencies of weir.
package main
