package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// DescribeLogDirs (35): the data directories, and the size of the partitions in each. Partitions that have stopped are listed too; a
// directory that can't be used has an error, and those that are known to be there.
//
//	v2 tagged fields; v3 an error of the whole answer; v4 size of the volume, -1 when it can't be asked
//
// Left out on purpose: v5 (cordoned directories).
func (h *Handler) describeLogDirsKey() key {
	return key{num: 35, min: 0, max: 4, serve: decoded(h, h.describeLogDirs)}
}

func (h *Handler) describeLogDirs(_ context.Context, req *wire.Request, q *kmsg.DescribeLogDirsRequest) *kmsg.DescribeLogDirsResponse {
	if err := h.authorizeCluster(req, acl.Describe); err != nil {
		r := kmsg.NewPtrDescribeLogDirsResponse()
		r.ErrorCode = code(err)
		return r
	}
	r := kmsg.NewPtrDescribeLogDirsResponse()
	for _, d := range h.backend.LogDirs() {
		r.Dirs = append(r.Dirs, describeLogDir(d, q))
	}
	return r
}

func describeLogDir(d LogDir, q *kmsg.DescribeLogDirsRequest) kmsg.DescribeLogDirsResponseDir {
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir, dir.TotalBytes, dir.UsableBytes = d.Path, d.TotalBytes, d.UsableBytes
	if d.Err != nil {
		dir.ErrorCode = kerr.KafkaStorageError.Code
	}
	for _, p := range d.Replicas {
		if !logDirWanted(q, p.Topic, p.Partition) {
			continue
		}
		if n := len(dir.Topics); n == 0 || dir.Topics[n-1].Topic != p.Topic {
			t := kmsg.NewDescribeLogDirsResponseDirTopic()
			t.Topic = p.Topic
			dir.Topics = append(dir.Topics, t)
		}
		t := &dir.Topics[len(dir.Topics)-1]
		a := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		a.Partition, a.Size = p.Partition, p.SizeBytes
		t.Partitions = append(t.Partitions, a)
	}
	return dir
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
