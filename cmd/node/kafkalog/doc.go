// Package kafkalog is the log of a node whose hits and counts lie in an existing Kafka cluster instead of the built-in log: it says how to
// reach the cluster (Options), makes or checks the topics of the pipeline (Log.Prepare), and appends hits (Log.Append).
//
// The cluster has to support record batches of version 2 and idempotent producers: Apache Kafka from 2.5, Redpanda.
package kafkalog
