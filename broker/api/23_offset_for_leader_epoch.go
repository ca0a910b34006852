package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// OffsetForLeaderEpoch (23): where the records of a leader epoch end, by which a consumer notices that a log it read was cut.
//
//	v1 the epoch that was found; v2 the leader epoch the client believes in; v3 replica id; v4 tagged fields
//
// librdkafka sends v2 and nothing else. An epoch without records is answered with the largest one before it (KIP-279); an unknown one
// with -1 and -1.
func (h *Handler) offsetForLeaderEpochKey() key {
	return key{num: 23, min: 0, max: 4, serve: decoded(h, h.offsetForLeaderEpoch)}
}

func (h *Handler) offsetForLeaderEpoch(_ context.Context, req *wire.Request, q *kmsg.OffsetForLeaderEpochRequest) *kmsg.OffsetForLeaderEpochResponse {
	v := h.backend.View()
	r := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for _, qt := range q.Topics {
		t := kmsg.NewOffsetForLeaderEpochResponseTopic()
		t.Topic = qt.Topic
		denied := h.authorize(req, acl.Topic, qt.Topic, acl.Describe)
		for _, qp := range qt.Partitions {
			a := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			a.Partition = qp.Partition
			p, ok := v.ByName[qt.Topic].Partition(qp.Partition)
			if denied != nil {
				a.ErrorCode = code(denied)
			} else if !ok {
				a.ErrorCode = kerr.UnknownTopicOrPartition.Code
			} else if _, err := checkEpoch(p, qp.CurrentLeaderEpoch); err != nil {
				a.ErrorCode = code(err)
			} else {
				a.LeaderEpoch, a.EndOffset = p.EpochEnd(qp.LeaderEpoch)
			}
			t.Partitions = append(t.Partitions, a)
		}
		r.Topics = append(r.Topics, t)
	}
	return r
}
