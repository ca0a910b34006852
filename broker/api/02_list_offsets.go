package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/wire"
)

// ListOffsets (2): offsets by position or by time.
//
//	v1 one offset with its timestamp; v2 isolation level; v4 leader epochs; v6 tagged fields; v7 -3 is the record with the latest
//	timestamp; v8 -4 is the earliest on the local disk; v9 -5 is the latest in remote storage; v10 a timeout for remote storage
//
// -1 is the high watermark, for read_committed the last stable offset, beyond which times find nothing either; -2 is the log start. A time beyond the last record answers offset -1 without an error, as does -5: there is
// no remote storage. v0 (several offsets per partition) is not offered.
func (h *Handler) listOffsetsKey() key {
	return key{num: 2, min: 1, max: 10, serve: decoded(h, h.listOffsets)}
}

const (
	latest         = -1
	earliest       = -2
	latestTime     = -3
	earliestLocal  = -4
	latestRemote   = -5
	firstTimestamp = 0
)

func (h *Handler) listOffsets(_ context.Context, req *wire.Request, q *kmsg.ListOffsetsRequest) *kmsg.ListOffsetsResponse {
	v := h.backend.View()
	r := kmsg.NewPtrListOffsetsResponse()
	for _, qt := range q.Topics {
		t := kmsg.NewListOffsetsResponseTopic()
		t.Topic = qt.Topic
		denied := h.authorize(req, acl.Topic, qt.Topic, acl.Describe)
		for _, qp := range qt.Partitions {
			if denied != nil {
				a := kmsg.NewListOffsetsResponseTopicPartition()
				a.Partition, a.ErrorCode = qp.Partition, code(denied)
				t.Partitions = append(t.Partitions, a)
				continue
			}
			t.Partitions = append(t.Partitions, offsetAt(v.ByName[qt.Topic], qp, q))
		}
		r.Topics = append(r.Topics, t)
	}
	return r
}

func offsetAt(topic *Topic, q kmsg.ListOffsetsRequestTopicPartition, all *kmsg.ListOffsetsRequest) kmsg.ListOffsetsResponseTopicPartition {
	r := kmsg.NewListOffsetsResponseTopicPartition()
	r.Partition = q.Partition
	p, ok := topic.Partition(q.Partition)
	if !ok {
		r.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return r
	}
	epoch, err := checkEpoch(p, q.CurrentLeaderEpoch)
	if err == nil {
		r.Offset, r.Timestamp, err = find(p, q.Timestamp, all.Version, all.IsolationLevel == readCommitted)
	}
	if err != nil {
		r.ErrorCode = code(err)
		return r
	}
	if r.Offset >= 0 && all.Version >= 4 {
		r.LeaderEpoch = epochAt(p, r.Offset, epoch)
	}
	return r
}

func find(p Partition, timestamp int64, version int16, committed bool) (offset, timestampMs int64, err error) {
	found := false
	limit := p.HighWatermark()
	if committed {
		limit = p.LastStableOffset()
	}
	switch {
	case timestamp == latest:
		return limit, -1, nil
	case timestamp == earliest, timestamp == earliestLocal && version >= 8:
		return p.LogStart(), -1, nil
	case timestamp == latestRemote && version >= 9:
		return -1, -1, nil
	case timestamp == latestTime && version >= 7:
		offset, timestampMs, found, err = p.MaxTimestamp()
	case timestamp < firstTimestamp:
		return -1, -1, kerr.UnsupportedVersion
	default:
		offset, timestampMs, found, err = p.OffsetForTime(timestamp)
	}
	if err != nil || !found || committed && offset >= limit {
		return -1, -1, err
	}
	return offset, timestampMs, nil
}

// epochAt is the leader epoch of the record at offset; at the end of the log it is that of the leader, who will give it to the next.
func epochAt(p Partition, offset int64, current int32) int32 {
	b, err := p.Read(offset, 1)
	if err != nil || len(b) == 0 {
		return current
	}
	batch, err := record.ParseHeader(b)
	if err != nil {
		return current
	}
	return batch.LeaderEpoch
}
