package api

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// CreatePartitions (37): give a topic more partitions.
//
//	v2 tagged fields; v3 an error code of throttling
//
// Answered when the new partitions serve. Topics of the counting pipeline refuse: their output partition is their input partition, and
// a visitor's hits must stay together.
func (h *Handler) createPartitionsKey() key {
	return key{num: 37, min: 0, max: 3, serve: decoded(h, h.createPartitions)}
}

func (h *Handler) createPartitions(ctx context.Context, req *wire.Request, q *kmsg.CreatePartitionsRequest) *kmsg.CreatePartitionsResponse {
	ctx, cancel := context.WithTimeout(ctx, millis(q.TimeoutMillis))
	defer cancel()
	r := kmsg.NewPtrCreatePartitionsResponse()
	seen := make(map[string]bool)
	for _, t := range q.Topics {
		a := kmsg.NewCreatePartitionsResponseTopic()
		a.Topic = t.Topic
		err := h.authorize(req, acl.Topic, t.Topic, acl.Alter)
		if err == nil {
			err = h.checkPartitions(&t)
		}
		if seen[t.Topic] {
			err = refuse(kerr.InvalidRequest, "the topic is named more than once in this request")
		}
		seen[t.Topic] = true
		if err == nil && !q.ValidateOnly {
			err = h.addPartitions(ctx, &t)
		}
		a.ErrorCode, a.ErrorMessage = code(err), message(err)
		r.Topics = append(r.Topics, a)
	}
	return r
}

func (h *Handler) checkPartitions(t *kmsg.CreatePartitionsRequestTopic) error {
	v := h.backend.View()
	topic := v.ByName[t.Topic]
	switch {
	case topic == nil:
		return refuse(kerr.UnknownTopicOrPartition, "there is no such topic")
	case topic.Internal || h.cfg.FixedPartitions(t.Topic):
		return refuse(kerr.InvalidPartitions, "the number of partitions of "+t.Topic+" is fixed: the records of a key must stay in their partition")
	case int(t.Count) <= len(topic.Partitions):
		return refuse(kerr.InvalidPartitions, fmt.Sprintf("%d partitions, the topic has %d already", t.Count, len(topic.Partitions)))
	case t.Assignment != nil && len(t.Assignment) != int(t.Count)-len(topic.Partitions):
		return refuse(kerr.InvalidReplicaAssignment, "one assignment is needed for each partition that is added")
	}
	for _, a := range t.Assignment {
		if err := checkReplicas(v, a.Replicas, 1); err != nil {
			return err
		}
	}
	return nil
}

func (h *Handler) addPartitions(ctx context.Context, t *kmsg.CreatePartitionsRequestTopic) error {
	if err := h.backend.AddPartitions(ctx, t.Topic, t.Count); err != nil {
		return err
	}
	ready := h.await(ctx, millis(60_000), func(v *View) bool {
		topic := v.ByName[t.Topic]
		return topic == nil || len(topic.Partitions) >= int(t.Count) && serves(topic)
	})
	if !ready {
		return refuse(kerr.RequestTimedOut, "the partitions are made, they do not serve yet")
	}
	return nil
}
