package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// batchBytes is the largest batch that ingest and counting write; topics have to take it.
const batchBytes = 1 << 20

// finalError is one that waiting does not mend: a cluster or a topic cannot be used as it is.
type finalError struct{ error }

func (f *finalError) Unwrap() error { return f.error }

// prepare makes or checks the topics, and returns the number of partitions of each.
func prepare(ctx context.Context, admin *kadm.Client, specs []state.TopicSpec, accept func(clusterID string) error) (map[string]int32, error) {
	names := make([]string, len(specs))
	for i, spec := range specs {
		names[i] = spec.Name
	}
	meta, err := admin.Metadata(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("ask for topics: %w", err)
	}
	if err := accept(meta.Cluster); err != nil {
		return nil, &finalError{err}
	}
	partitions := map[string]int32{}
	for _, spec := range specs {
		topic, known := meta.Topics[spec.Name]
		switch {
		case known && topic.Err == nil:
			partitions[spec.Name] = int32(len(topic.Partitions))
			if err := check(ctx, admin, spec); err != nil {
				return nil, err
			}
		case known && !errors.Is(topic.Err, kerr.UnknownTopicOrPartition):
			return nil, fmt.Errorf("topic %s: %w", spec.Name, topic.Err)
		default:
			if err := create(ctx, admin, spec); err != nil {
				return nil, err
			}
			partitions[spec.Name] = spec.Partitions
		}
	}
	return partitions, fits(specs, partitions)
}

// fits refuses pipeline topics with different numbers of partitions: partition n of each is made from partition n of the one before.
func fits(specs []state.TopicSpec, partitions map[string]int32) error {
	var first state.TopicSpec
	for _, spec := range specs {
		if spec.Partitions == 1 {
			continue // of the node, not of the pipeline
		}
		if first.Name == "" {
			first = spec
		}
		if partitions[spec.Name] != partitions[first.Name] {
			return &finalError{fmt.Errorf("topic %s has %d partitions and %s has %d; the numbers have to be equal: delete the one with the wrong number, and it is made anew",
				first.Name, partitions[first.Name], spec.Name, partitions[spec.Name])}
		}
	}
	return nil
}

// create makes a topic. Settings that only the built-in log knows are left out.
func create(ctx context.Context, admin *kadm.Client, spec state.TopicSpec) error {
	res, err := admin.CreateTopic(ctx, spec.Partitions, spec.ReplicationFactor, spec.Configs, spec.Name)
	if err == nil {
		err = res.Err
	}
	switch {
	case err == nil, errors.Is(err, kerr.TopicAlreadyExists):
		return nil
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed):
		return &finalError{fmt.Errorf("topic %s is missing, and this user may not make it: make it with %s, or allow Create on the cluster: %w",
			spec.Name, describe(spec), err)}
	case errors.Is(err, kerr.InvalidConfig), errors.Is(err, kerr.PolicyViolation), errors.Is(err, kerr.InvalidReplicationFactor), errors.Is(err, kerr.InvalidPartitions):
		return &finalError{fmt.Errorf("the cluster refuses to make topic %s (%s): %w: %s", spec.Name, describe(spec), err, res.ErrMessage)}
	}
	return fmt.Errorf("make topic %s: %w", spec.Name, err)
}

// check refuses a topic whose settings would lose counts or hits. How long hits are kept is for whoever runs the cluster to say.
func check(ctx context.Context, admin *kadm.Client, spec state.TopicSpec) error {
	described, err := admin.DescribeTopicConfigs(ctx, spec.Name)
	if err != nil {
		return fmt.Errorf("ask for the settings of topic %s: %w", spec.Name, err)
	}
	config, err := described.On(spec.Name, nil)
	if err == nil {
		err = config.Err
	}
	if errors.Is(err, kerr.TopicAuthorizationFailed) {
		return &finalError{fmt.Errorf("topic %s: this user may not read its settings: allow DescribeConfigs on it: %w", spec.Name, err)}
	}
	if err != nil {
		return fmt.Errorf("ask for the settings of topic %s: %w", spec.Name, err)
	}
	is := map[string]string{}
	for _, c := range config.Configs {
		is[c.Key] = c.MaybeValue()
	}
	for _, key := range []string{"cleanup.policy", "message.timestamp.type"} {
		want, set := spec.Configs[key]
		if set && is[key] != *want {
			return &finalError{fmt.Errorf("topic %s has %s=%s, it has to be %s: set it (kafka-configs --alter --topic %s --add-config %s=%s)",
				spec.Name, key, is[key], *want, spec.Name, key, *want)}
		}
	}
	if largest, err := strconv.Atoi(is["max.message.bytes"]); err == nil && largest < batchBytes {
		return &finalError{fmt.Errorf("topic %s has max.message.bytes=%d, it has to be %d at least", spec.Name, largest, batchBytes)}
	}
	return nil
}

// describe is a topic as somebody who makes it by hand wants it.
func describe(spec state.TopicSpec) string {
	words := []string{fmt.Sprintf("%d partitions", spec.Partitions)}
	for _, key := range slices.Sorted(maps.Keys(spec.Configs)) {
		words = append(words, key+"="+*spec.Configs[key])
	}
	return strings.Join(words, ", ")
}
