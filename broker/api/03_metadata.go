package api

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// Metadata (3): brokers, topics, partitions and who leads them.
//
//	v1 null asks for all topics, controller, internal flag; v2 cluster id; v4 automatic creation is asked for; v5 offline replicas;
//	v7 leader epochs; v8 authorized operations; v9 tagged fields; v10 topic ids; v11 cluster operations leave; v12 topics asked for by id;
//	v13 an error of the whole answer
//
// Only registered brokers are named. A partition that is about to serve is waited for, so that what follows the answer works; one
// that cannot be used is answered with LEADER_NOT_AVAILABLE.
// Left out on purpose: rack ids (no rack is configured yet).
func (h *Handler) metadataKey() key {
	return key{num: 3, min: 0, max: 13, serve: decoded(h, h.metadata)}
}

const (
	// metadataWait is how long Metadata waits for partitions that are being opened. Clients try again themselves after about 100 ms; this
	// saves them the first error after a start or a creation.
	metadataWait = 2 * time.Second
)

func (h *Handler) metadata(ctx context.Context, req *wire.Request, q *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	create := h.cfg.AutoCreateTopics && (q.Version < 4 || q.AllowAutoTopicCreation)
	failed := h.createMissing(ctx, req, q, create)
	h.await(ctx, metadataWait, func(v *View) bool {
		for _, t := range asked(v, q) {
			if t.topic != nil && !serves(t.topic) {
				return false
			}
		}
		return true
	})
	v := h.backend.View()
	r := kmsg.NewPtrMetadataResponse()
	for _, b := range v.Brokers {
		rb := kmsg.NewMetadataResponseBroker()
		rb.NodeID = b.ID
		rb.Host, rb.Port = b.Address(req.Client.Listener)
		r.Brokers = append(r.Brokers, rb)
	}
	r.ClusterID = kmsg.StringPtr(v.ClusterID)
	r.ControllerID = h.backend.Controller()
	if q.IncludeClusterAuthorizedOperations {
		r.AuthorizedOperations = h.operations(req, acl.Cluster, state.ClusterResource, clusterOperations)
	}
	all := q.Topics == nil || q.Version == 0 && len(q.Topics) == 0
	for _, a := range asked(v, q) {
		if err := h.deniedMetadata(req, a, all); err != nil {
			if !all {
				r.Topics = append(r.Topics, a.deny(err, q.Version))
			}
			continue
		}
		t := a.answer(q.Version)
		if err, ok := failed[a.name]; ok && a.topic == nil {
			t.ErrorCode = code(err)
		}
		if q.IncludeTopicAuthorizedOperations && a.topic != nil {
			t.AuthorizedOperations = h.operations(req, acl.Topic, a.topic.Name, topicOperations)
		}
		r.Topics = append(r.Topics, t)
	}
	return r
}

// deniedMetadata returns why a topic is not shown. One of a list of all is only left out.
func (h *Handler) deniedMetadata(req *wire.Request, a wanted, all bool) error {
	name := a.name
	switch {
	case a.topic != nil:
		name = a.topic.Name
	case a.byID:
		return nil // that there is no such id may be known
	}
	if all && !h.may(req, acl.Topic, name, acl.Describe) {
		return kerr.TopicAuthorizationFailed
	}
	return h.authorize(req, acl.Topic, name, acl.Describe)
}

// deny is the answer for a topic that is not shown: only what the client said itself.
func (w wanted) deny(err error, version int16) kmsg.MetadataResponseTopic {
	r := kmsg.NewMetadataResponseTopic()
	r.ErrorCode, r.TopicID = code(err), w.id
	if !w.byID || version < 12 {
		r.Topic = kmsg.StringPtr(w.name)
	}
	return r
}

// createMissing creates the topics that were asked for by name and do not exist, and returns the errors by name.
func (h *Handler) createMissing(ctx context.Context, req *wire.Request, q *kmsg.MetadataRequest, allowed bool) map[string]error {
	failed := make(map[string]error)
	v := h.backend.View()
	for _, a := range asked(v, q) {
		if a.topic != nil || a.name == "" {
			continue
		}
		if err := checkTopicName(a.name); err != nil {
			failed[a.name] = err
			continue
		}
		if !allowed || reserved(a.name) || !h.may(req, acl.Topic, a.name, acl.Describe) {
			continue
		}
		if err := h.authorizeCreate(req, a.name); err != nil {
			failed[a.name] = err
			continue
		}
		_, err := h.backend.CreateTopic(ctx, state.TopicSpec{Name: a.name, Partitions: h.cfg.DefaultPartitions, ReplicationFactor: -1})
		if err == nil {
			h.await(ctx, metadataWait, func(v *View) bool { return v.ByName[a.name] != nil })
		} else if code(err) != kerr.TopicAlreadyExists.Code {
			failed[a.name] = err
		}
	}
	return failed
}

// wanted is one topic of a Metadata request; topic is nil when there is no such topic.
type wanted struct {
	name  string
	id    [16]byte
	byID  bool
	topic *Topic
}

func asked(v *View, q *kmsg.MetadataRequest) []wanted {
	if q.Topics == nil || q.Version == 0 && len(q.Topics) == 0 {
		all := make([]wanted, 0, len(v.Topics))
		for _, t := range v.Topics {
			all = append(all, wanted{name: t.Name, topic: t})
		}
		return all
	}
	some := make([]wanted, 0, len(q.Topics))
	for _, t := range q.Topics {
		if t.Topic != nil {
			some = append(some, wanted{name: *t.Topic, topic: v.ByName[*t.Topic]})
		} else {
			some = append(some, wanted{id: t.TopicID, byID: true, topic: v.ByID[t.TopicID]})
		}
	}
	return some
}

func (w wanted) answer(version int16) kmsg.MetadataResponseTopic {
	r := kmsg.NewMetadataResponseTopic()
	if w.topic == nil {
		r.ErrorCode, r.TopicID = kerr.UnknownTopicOrPartition.Code, w.id
		if w.byID {
			r.ErrorCode = kerr.UnknownTopicID.Code
		}
		if !w.byID || version < 12 {
			r.Topic = kmsg.StringPtr(w.name)
		}
		return r
	}
	r.Topic, r.TopicID, r.IsInternal = kmsg.StringPtr(w.topic.Name), w.topic.ID, w.topic.Internal
	for n, p := range w.topic.Partitions {
		r.Partitions = append(r.Partitions, describePartition(int32(n), p))
	}
	return r
}

func describePartition(n int32, p Partition) kmsg.MetadataResponseTopicPartition {
	r := kmsg.NewMetadataResponseTopicPartition()
	r.Partition = n
	leader, epoch, serving := p.Leader()
	r.Leader, r.LeaderEpoch = leader, epoch
	r.Replicas, r.ISR = p.Replicas()
	if phase := p.Phase(); !serving && phase != Closed && phase != Following {
		r.ErrorCode = kerr.LeaderNotAvailable.Code
		r.Leader, r.ISR, r.OfflineReplicas = -1, nil, r.Replicas
	}
	return r
}
