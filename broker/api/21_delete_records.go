package api

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/broker/wire"
)

// DeleteRecords (21): forget the records before an offset; -1 is the high watermark.
//
//	v2 tagged fields
//
// Answered once the new log start is committed. Topics that are only compacted refuse: their old records are their state.
func (h *Handler) deleteRecordsKey() key {
	return key{num: 21, min: 0, max: 2, serve: decoded(h, h.deleteRecords)}
}

func (h *Handler) deleteRecords(ctx context.Context, req *wire.Request, q *kmsg.DeleteRecordsRequest) *kmsg.DeleteRecordsResponse {
	ctx, cancel := context.WithTimeout(wire.Outlive(ctx), millis(q.TimeoutMillis))
	defer cancel()
	v := h.backend.View()
	r := kmsg.NewPtrDeleteRecordsResponse()
	for _, qt := range q.Topics {
		t := kmsg.NewDeleteRecordsResponseTopic()
		t.Topic = qt.Topic
		denied := h.authorize(req, acl.Topic, qt.Topic, acl.Delete)
		for _, qp := range qt.Partitions {
			a := kmsg.NewDeleteRecordsResponseTopicPartition()
			a.Partition, a.LowWatermark = qp.Partition, -1
			low, err := int64(-1), denied
			if denied == nil {
				low, err = deleteBefore(ctx, v.ByName[qt.Topic], qp.Partition, qp.Offset)
			}
			if a.ErrorCode = code(err); err == nil {
				a.LowWatermark = low
			}
			t.Partitions = append(t.Partitions, a)
		}
		r.Topics = append(r.Topics, t)
	}
	return r
}

func deleteBefore(ctx context.Context, topic *Topic, number int32, offset int64) (int64, error) {
	p, ok := topic.Partition(number)
	switch {
	case !ok:
		return 0, kerr.UnknownTopicOrPartition
	case topic.Internal || !topic.Config.Delete:
		return 0, kerr.PolicyViolation
	}
	if _, err := checkEpoch(p, -1); err != nil {
		return 0, err
	}
	high := p.HighWatermark()
	switch {
	case offset == -1:
		offset = high
	case offset < 0 || offset > high:
		return 0, fmt.Errorf("%w: %d, the high watermark is %d", replica.ErrOffsetOutOfRange, offset, high)
	}
	if start := p.LogStart(); offset <= start {
		return start, nil
	}
	return p.SetLogStart(ctx, offset)
}
