package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// WriteTxnMarkers (27): end transactions in single partitions. Coordinators do so between brokers; an administrator does when a
// transaction hangs that no coordinator knows (kafka-transactions.sh abort).
//
//	v1 tagged fields; v2 the version of the transactions, which is not looked at
func (h *Handler) writeTxnMarkersKey() key {
	return key{num: 27, min: 0, max: 2, serve: decoded(h, h.writeTxnMarkers)}
}

func (h *Handler) writeTxnMarkers(ctx context.Context, req *wire.Request, q *kmsg.WriteTxnMarkersRequest) *kmsg.WriteTxnMarkersResponse {
	r := kmsg.NewPtrWriteTxnMarkersResponse()
	var denied error
	if !h.may(req, acl.Cluster, state.ClusterResource, acl.Alter) { // an administrator may
		denied = h.authorizeCluster(req, acl.ClusterAction)
	}
	for _, qm := range q.Markers {
		m := record.Marker{
			ProducerID: qm.ProducerID, ProducerEpoch: qm.ProducerEpoch, Commit: qm.Committed, CoordinatorEpoch: qm.CoordinatorEpoch,
		}
		rm := kmsg.WriteTxnMarkersResponseMarker{ProducerID: qm.ProducerID}
		for _, qt := range qm.Topics {
			rt := kmsg.WriteTxnMarkersResponseMarkerTopic{Topic: qt.Topic}
			for _, n := range qt.Partitions {
				err := denied
				if err == nil {
					err = h.backend.WriteMarker(ctx, qt.Topic, n, m)
				}
				rt.Partitions = append(rt.Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{Partition: n, ErrorCode: code(err)})
			}
			rm.Topics = append(rm.Topics, rt)
		}
		r.Markers = append(r.Markers, rm)
	}
	return r
}
