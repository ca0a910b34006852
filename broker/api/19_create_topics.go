package api

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// CreateTopics (19): make topics, or say whether they could be made.
//
//	v1 validate only, error text; v4 -1 asks for the default number of partitions and replicas; v5 the answer says what was made;
//	v7 topic id
//
// Answered when all partitions of the topics serve, or with REQUEST_TIMED_OUT when that takes longer than the caller allowed: the
// topic exists then. A replica assignment is taken when it names brokers that exist, one per partition and copy; on one node it can
// only say how many partitions there are.
func (h *Handler) createTopicsKey() key {
	return key{num: 19, min: 0, max: 7, serve: decoded(h, h.createTopics)}
}

func (h *Handler) createTopics(ctx context.Context, req *wire.Request, q *kmsg.CreateTopicsRequest) *kmsg.CreateTopicsResponse {
	limit := millis(q.TimeoutMillis)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	named := make(map[string]int)
	for _, t := range q.Topics {
		named[t.Topic]++
	}
	r := kmsg.NewPtrCreateTopicsResponse()
	for _, t := range q.Topics {
		a := kmsg.NewCreateTopicsResponseTopic()
		a.Topic = t.Topic
		var spec state.TopicSpec
		err := h.authorizeCreate(req, t.Topic)
		if err == nil {
			spec, err = h.topicSpec(&t)
		}
		switch {
		case named[t.Topic] == 0:
			continue // answered before
		case named[t.Topic] > 1:
			err = refuse(kerr.InvalidRequest, "the topic is named more than once in this request")
			named[t.Topic] = 0
		case err == nil && h.backend.View().ByName[t.Topic] != nil:
			err = fmt.Errorf("topic %q %w", t.Topic, state.ErrExists)
		}
		var made state.Topic
		if err == nil && !q.ValidateOnly {
			made, err = h.backend.CreateTopic(ctx, spec)
		}
		a.ErrorCode, a.ErrorMessage = code(err), message(err)
		if err == nil {
			a.TopicID, a.NumPartitions, a.ReplicationFactor = made.ID, spec.Partitions, 1
			if denied := h.authorize(req, acl.Topic, t.Topic, acl.DescribeConfigs); denied != nil {
				a.ConfigErrorCode = code(denied)
				a.NumPartitions, a.ReplicationFactor = -1, -1
			} else {
				a.Configs = createdConfigs(spec.Configs)
			}
		}
		r.Topics = append(r.Topics, a)
	}
	if !q.ValidateOnly {
		h.awaitCreated(ctx, limit, r)
	}
	return r
}

// authorizeCreate lets who may make topics in the cluster make any, and others those that they may.
func (h *Handler) authorizeCreate(req *wire.Request, topic string) error {
	if h.may(req, acl.Cluster, state.ClusterResource, acl.Create) {
		return nil
	}
	return h.authorize(req, acl.Topic, topic, acl.Create)
}

// awaitCreated holds the answer until what was made can be used.
func (h *Handler) awaitCreated(ctx context.Context, limit time.Duration, r *kmsg.CreateTopicsResponse) {
	for i := range r.Topics {
		t := &r.Topics[i]
		if t.ErrorCode != 0 {
			continue
		}
		ready := h.await(ctx, limit, func(v *View) bool { topic := v.ByID[t.TopicID]; return topic != nil && serves(topic) })
		if !ready {
			t.ErrorCode = kerr.RequestTimedOut.Code
			t.ErrorMessage = kmsg.StringPtr("the topic is made, its partitions do not serve yet")
		}
	}
}

// topicSpec checks one topic of the request.
func (h *Handler) topicSpec(t *kmsg.CreateTopicsRequestTopic) (state.TopicSpec, error) {
	spec := state.TopicSpec{Name: t.Topic, Partitions: t.NumPartitions, ReplicationFactor: t.ReplicationFactor, Configs: make(map[string]*string)}
	if err := checkTopicName(t.Topic); err != nil {
		return spec, err
	}
	if reserved(t.Topic) {
		return spec, refuse(kerr.InvalidTopicException, t.Topic+" belongs to the broker")
	}
	if len(t.ReplicaAssignment) > 0 {
		if err := h.checkAssignment(t); err != nil {
			return spec, err
		}
		spec.Partitions, spec.ReplicationFactor = int32(len(t.ReplicaAssignment)), int16(len(t.ReplicaAssignment[0].Replicas))
	}
	if spec.Partitions == -1 {
		spec.Partitions = h.cfg.DefaultPartitions
	}
	brokers := len(h.backend.View().Brokers)
	switch {
	case spec.Partitions < 1:
		return spec, refuse(kerr.InvalidPartitions, fmt.Sprintf("%d partitions, must be at least 1", spec.Partitions))
	case spec.ReplicationFactor == 0 || spec.ReplicationFactor < -1 || int(spec.ReplicationFactor) > brokers:
		return spec, refuse(kerr.InvalidReplicationFactor,
			fmt.Sprintf("replication factor %d, must be -1 or from 1 to the number of brokers, %d", spec.ReplicationFactor, brokers))
	}
	return spec, setConfigs(&spec, t.Configs)
}

func setConfigs(spec *state.TopicSpec, configs []kmsg.CreateTopicsRequestTopicConfig) error {
	given := make(map[string]string)
	for _, c := range configs {
		if c.Value == nil {
			return refuse(kerr.InvalidConfig, fmt.Sprintf("setting %.100q has no value", c.Name))
		}
		given[c.Name], spec.Configs[c.Name] = *c.Value, c.Value
	}
	if err := CheckTopicConfig(given); err != nil {
		return refuse(kerr.InvalidConfig, err.Error())
	}
	return nil
}

func (h *Handler) checkAssignment(t *kmsg.CreateTopicsRequestTopic) error {
	if t.NumPartitions != -1 || t.ReplicationFactor != -1 {
		return refuse(kerr.InvalidRequest, "with a replica assignment, partitions and replication factor must be -1")
	}
	v, seen := h.backend.View(), make(map[int32]bool)
	for _, a := range t.ReplicaAssignment {
		if a.Partition < 0 || int(a.Partition) >= len(t.ReplicaAssignment) || seen[a.Partition] {
			return refuse(kerr.InvalidReplicaAssignment, "partitions must be numbered from 0 without gaps")
		}
		seen[a.Partition] = true
		if err := checkReplicas(v, a.Replicas, len(t.ReplicaAssignment[0].Replicas)); err != nil {
			return err
		}
	}
	return nil
}

func checkReplicas(v *View, replicas []int32, want int) error {
	if len(replicas) == 0 || len(replicas) != want {
		return refuse(kerr.InvalidReplicaAssignment, "all partitions must have the same number of replicas, at least 1")
	}
	seen := make(map[int32]bool)
	for _, id := range replicas {
		if _, ok := v.Broker(id); !ok || seen[id] {
			return refuse(kerr.InvalidReplicaAssignment, fmt.Sprintf("broker %d does not exist or is named twice", id))
		}
		seen[id] = true
	}
	return nil
}

func createdConfigs(set map[string]*string) []kmsg.CreateTopicsResponseTopicConfig {
	var list []kmsg.CreateTopicsResponseTopicConfig
	for _, k := range topicKeys {
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.Source = k.name, kmsg.StringPtr(k.value), int8(kmsg.ConfigSourceDefaultConfig)
		if v := set[k.name]; v != nil {
			c.Value, c.Source = v, int8(kmsg.ConfigSourceDynamicTopicConfig)
		}
		list = append(list, c)
	}
	return list
}
