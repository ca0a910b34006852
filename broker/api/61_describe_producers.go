package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/broker/wire"
)

// DescribeProducers (61): the producers that partitions know, and since which offset each has a transaction open. It is how an operator
// finds the transaction that holds readers of committed records.
//
// Who asks must be allowed to read the topic. Answered by the leader of each partition, in order of producer id. Silent producers are forgotten after a day, as with Kafka.
func (h *Handler) describeProducersKey() key {
	return key{num: 61, min: 0, max: 0, serve: decoded(h, h.describeProducers)}
}

func (h *Handler) describeProducers(_ context.Context, req *wire.Request, q *kmsg.DescribeProducersRequest) *kmsg.DescribeProducersResponse {
	v := h.backend.View()
	r := kmsg.NewPtrDescribeProducersResponse()
	for _, qt := range q.Topics {
		t := kmsg.NewDescribeProducersResponseTopic()
		t.Topic = qt.Topic
		denied := h.authorize(req, acl.Topic, qt.Topic, acl.Read)
		for _, n := range qt.Partitions {
			a := kmsg.NewDescribeProducersResponseTopicPartition()
			a.Partition = n
			p, ok := v.ByName[qt.Topic].Partition(n)
			err := denied
			if err == nil && !ok {
				err = kerr.UnknownTopicOrPartition
			}
			if err == nil && p.Phase() != Closed { // nobody has written to one that was never opened
				_, err = checkEpoch(p, -1)
			}
			if err == nil {
				a.ActiveProducers = activeProducers(p.Producers())
			}
			a.ErrorCode, a.ErrorMessage = code(err), message(err)
			t.Partitions = append(t.Partitions, a)
		}
		r.Topics = append(r.Topics, t)
	}
	return r
}

func activeProducers(list []replica.ProducerInfo) []kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
	slices.SortFunc(list, func(a, b replica.ProducerInfo) int { return cmp.Compare(a.ID, b.ID) })
	out := make([]kmsg.DescribeProducersResponseTopicPartitionActiveProducer, 0, len(list))
	for _, p := range list {
		a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		a.ProducerID, a.ProducerEpoch, a.LastSequence = p.ID, int32(p.Epoch), p.LastSequence
		a.LastTimestamp, a.CoordinatorEpoch, a.CurrentTxnStartOffset = p.LastTimestampMs, p.CoordinatorEpoch, p.TxnStartOffset
		out = append(out, a)
	}
	return out
}
