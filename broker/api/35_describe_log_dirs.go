package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// DescribeLogDirs (35): the size of partitions on disk.
//
//	v2 tagged fields; v3 an error of the whole answer; v4 size of the volume
//
// Left out on purpose: the volume's size (-1, unknown), v5 (cordoned directories).
func (h *Handler) describeLogDirsKey() key {
	return key{num: 35, min: 0, max: 4, serve: decoded(h, h.describeLogDirs)}
}

func (h *Handler) describeLogDirs(_ context.Context, req *wire.Request, q *kmsg.DescribeLogDirsRequest) *kmsg.DescribeLogDirsResponse {
	if err := h.authorizeCluster(req, acl.Describe); err != nil {
		r := kmsg.NewPtrDescribeLogDirsResponse()
		r.ErrorCode = code(err)
		return r
	}
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = h.backend.LogDir()
	for _, topic := range h.backend.View().Topics {
		t := kmsg.NewDescribeLogDirsResponseDirTopic()
		t.Topic = topic.Name
		for n, p := range topic.Partitions {
			if p.Phase() != Serving || !logDirWanted(q, topic.Name, int32(n)) {
				continue
			}
			a := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
			a.Partition, a.Size = int32(n), p.SizeBytes()
			t.Partitions = append(t.Partitions, a)
		}
		if len(t.Partitions) > 0 {
			dir.Topics = append(dir.Topics, t)
		}
	}
	r := kmsg.NewPtrDescribeLogDirsResponse()
	r.Dirs = append(r.Dirs, dir)
	return r
}

func logDirWanted(q *kmsg.DescribeLogDirsRequest, topic string, partition int32) bool {
	if q.Topics == nil {
		return true
	}
	for i := range q.Topics {
		if q.Topics[i].Topic == topic && slices.Contains(q.Topics[i].Partitions, partition) {
			return true
		}
	}
	return false
}
