// Package state is the cluster state that every node agrees on: brokers, topics, sites, users, tokens, salts, and the
// credentials, ACLs and quotas of Kafka clients.
//
// A *State is an immutable snapshot. The controller applies commands to a copy and publishes the result, so readers never lock and
// never see half a change. The package is pure: it knows no clock, no disk and no random source; times and random bytes arrive inside
// the commands, so that replicas that apply the same commands hold equal states.
//
// Start reading at types.go.
package state
