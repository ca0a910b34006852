// Package cmd holds the command line: one file per command. serve puts a node together (package cmd/node) and runs it; the other commands
// are clients of a running node, through its HTTP API (the admin socket in the data directory, or WEIR_URL and WEIR_TOKEN) or its Kafka
// listener.
//
// Every flag of every command can also be set by an environment variable (--kafka-advertise by WEIR_KAFKA_ADVERTISE) and in a
// configuration file (see settings.go); this package binds all of them and is the only one that reads the environment.
//
// Start reading at root.go.
package cmd
