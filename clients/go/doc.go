// Package clients runs unmodified Kafka clients of other people against the built binary. It has a module of its own, so that none of them is
// a dependency of weir.
//
// The cases are written once, in cases_test.go, against a driver: Go clients implement it in this process (one file each), those of other
// languages in a program of theirs that reads one JSON request per line (remote_test.go). A member of a group is always a process of
// its own, so that it can be killed as clients are killed in life.
package clients
