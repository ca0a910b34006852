package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// DescribeCluster (60): the brokers and the cluster's id.
//
//	v1 brokers or controllers; v2 fenced brokers too
//
// Left out on purpose: the controllers' endpoints, which clients have no use for here.
func (h *Handler) describeClusterKey() key {
	return key{num: 60, min: 0, max: 2, serve: decoded(h, h.describeCluster)}
}

func (h *Handler) describeCluster(_ context.Context, req *wire.Request, q *kmsg.DescribeClusterRequest) *kmsg.DescribeClusterResponse {
	const brokers = 1
	r := kmsg.NewPtrDescribeClusterResponse()
	r.EndpointType = q.EndpointType
	if q.Version >= 1 && q.EndpointType != brokers {
		err := refuse(kerr.MismatchedEndpointType, "this is a listener of brokers")
		r.ErrorCode, r.ErrorMessage = code(err), message(err)
		return r
	}
	v := h.backend.View()
	r.ClusterID, r.ControllerID = v.ClusterID, h.backend.Controller()
	for _, b := range v.Brokers {
		rb := kmsg.NewDescribeClusterResponseBroker()
		rb.NodeID = b.ID
		rb.Host, rb.Port = b.Address(req.Client.Listener)
		r.Brokers = append(r.Brokers, rb)
	}
	if q.IncludeClusterAuthorizedOperations {
		r.ClusterAuthorizedOperations = h.operations(req, acl.Cluster, state.ClusterResource, clusterOperations)
	}
	return r
}
