package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// DeleteTopics (20): remove topics with their records.
//
//	v4 tagged fields; v5 error text; v6 topics by name or id
//
// Answered when the topic is gone from what this node serves; its files are removed after that. Topics of the broker itself can't be
// deleted. Groups forget the offsets they committed for the topic.
func (h *Handler) deleteTopicsKey() key {
	return key{num: 20, min: 0, max: 6, serve: decoded(h, h.deleteTopics)}
}

func (h *Handler) deleteTopics(ctx context.Context, req *wire.Request, q *kmsg.DeleteTopicsRequest) *kmsg.DeleteTopicsResponse {
	ctx, cancel := context.WithTimeout(ctx, millis(q.TimeoutMillis))
	defer cancel()
	topics := q.Topics
	for _, name := range q.TopicNames {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		topics = append(topics, t)
	}
	r := kmsg.NewPtrDeleteTopicsResponse()
	for _, t := range topics {
		a := kmsg.NewDeleteTopicsResponseTopic()
		a.Topic, a.TopicID = t.Topic, t.TopicID
		topic, err := h.deletable(req, &t)
		if topic != nil && h.may(req, acl.Topic, topic.Name, acl.Describe) {
			a.Topic, a.TopicID = kmsg.StringPtr(topic.Name), topic.ID
		}
		if err == nil {
			err = h.deleteTopic(ctx, topic)
		}
		a.ErrorCode, a.ErrorMessage = code(err), message(err)
		r.Topics = append(r.Topics, a)
	}
	return r
}

func (h *Handler) deletable(req *wire.Request, t *kmsg.DeleteTopicsRequestTopic) (*Topic, error) {
	v := h.backend.View()
	topic := v.ByID[t.TopicID]
	switch {
	case t.Topic != nil && t.TopicID != [16]byte{}:
		return nil, refuse(kerr.InvalidRequest, "a topic is deleted by its name or by its id, both are given")
	case t.Topic != nil:
		if err := h.authorize(req, acl.Topic, *t.Topic, acl.Delete); err != nil {
			return nil, err
		}
		if topic = v.ByName[*t.Topic]; topic == nil {
			return nil, refuse(kerr.UnknownTopicOrPartition, "there is no such topic")
		}
	case topic == nil:
		return nil, refuse(kerr.UnknownTopicID, "there is no topic with this id")
	}
	if err := h.authorize(req, acl.Topic, topic.Name, acl.Delete); err != nil {
		return topic, err
	}
	if topic.Internal {
		return topic, refuse(kerr.InvalidTopicException, topic.Name+" belongs to the broker and can't be deleted")
	}
	return topic, nil
}

func (h *Handler) deleteTopic(ctx context.Context, topic *Topic) error {
	if err := h.backend.DeleteTopic(ctx, topic.Name); err != nil {
		return err
	}
	if !h.await(ctx, metadataWait, func(v *View) bool { return v.ByID[topic.ID] == nil }) {
		return refuse(kerr.RequestTimedOut, "the topic is deleted, this node still serves it")
	}
	h.groups.TopicDeleted(ctx, topic.Name)
	return nil
}
