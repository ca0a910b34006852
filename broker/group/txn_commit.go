package group

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
)

// Verify says whether the offsets partition takes part in the transaction of a request, as a code of the protocol. With add it may
// make it take part, after the producer's transaction before has ended.
type Verify func(topic string, partition int32, add bool) int16

// TxnOffsetCommit stores offsets that count once the producer's transaction is committed, and answers when they are stored. All
// partitions of a request share one fate, except those refused on their own.
//
// Version 2 brings leader epochs, from 3 on members are fenced, from 6 on topics go by id and a group that is not there is
// answered GROUP_ID_NOT_FOUND.
func (c *Coordinator) TxnOffsetCommit(ctx context.Context, req *kmsg.TxnOffsetCommitRequest, verify Verify) *kmsg.TxnOffsetCommitResponse {
	plain := asOffsetCommit(req)
	checked := plain.ResponseKind().(*kmsg.OffsetCommitResponse)
	items, open := c.checkOffsets(plain, checked)
	if len(items) > 0 {
		code := c.commitInTxn(ctx, req, items, verify)
		for _, p := range open {
			p.ErrorCode = code
		}
		c.countCommit(code)
	}
	resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	for _, t := range checked.Topics {
		rt := kmsg.TxnOffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: p.ErrorCode})
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// asOffsetCommit is the same commit outside of a transaction, in a version that names topics in the same way.
func asOffsetCommit(req *kmsg.TxnOffsetCommitRequest) *kmsg.OffsetCommitRequest {
	plain := kmsg.NewPtrOffsetCommitRequest()
	plain.Version, plain.Group = firstTopicIDVersion-1, req.Group
	if req.Version >= 6 {
		plain.Version = firstTopicIDVersion
	}
	for _, t := range req.Topics {
		pt := kmsg.OffsetCommitRequestTopic{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			pp := kmsg.NewOffsetCommitRequestTopicPartition()
			pp.Partition, pp.Offset, pp.Metadata = p.Partition, p.Offset, p.Metadata
			if req.Version >= 2 {
				pp.LeaderEpoch = p.LeaderEpoch
			}
			pt.Partitions = append(pt.Partitions, pp)
		}
		plain.Topics = append(plain.Topics, pt)
	}
	return plain
}

func (c *Coordinator) commitInTxn(ctx context.Context, req *kmsg.TxnOffsetCommitRequest, items []commitItem, verify Verify) int16 {
	s, code := c.shardOf(ctx, req.Group)
	if code != codeNone {
		return code
	}
	if code := verify(OffsetsTopic, s.partition, true); code != codeNone {
		return code
	}
	// A marker after this high watermark ends this transaction, not the one before.
	in := Transaction{ProducerID: req.ProducerID, ProducerEpoch: req.ProducerEpoch, Since: s.part.HighWatermark()}
	if code := verify(OffsetsTopic, s.partition, false); code != codeNone {
		return code
	}
	w := led.NewWaiter[int16]()
	ok := s.do(func(now time.Time) {
		if s.crowded() {
			w.Answer(codeCoordinatorNotAvailable)
			return
		}
		g := s.group(req.Group)
		if g == nil {
			if req.Version >= 3 && req.Generation >= 0 {
				w.Answer(noSuchGroup(req.Version + 3)) // version 6 is as 9 of OffsetCommit
				return
			}
			g = s.ensure(strings.Clone(req.Group), now)
		}
		var m *member
		code := codeNone
		if req.Version >= 3 {
			m, code = g.checkTxnCommit(req.MemberID, req.InstanceID, req.Generation)
		} else if g.state == dead {
			code = codeCoordinatorNotAvailable
		}
		if code != codeNone {
			w.Answer(code)
			s.settle(g)
			return
		}
		g.commitInTxn(now, m, in, items, func(err error) { w.Answer(txnCommitCode(err)) })
	})
	code, answered := w.Await(ctx, ok)
	if !answered || !s.Current() {
		return codeNotCoordinator
	}
	return code
}

// WriteMarker ends a producer's transaction in a partition of the offsets topic and returns once that is committed and the
// offsets in it count, or never will. led.ErrNotWritten and led.ErrNotLeader mean that the marker is certainly not written; trying again
// is right after any other error too.
func (c *Coordinator) WriteMarker(ctx context.Context, partition int32, m record.Marker) error {
	s, code := c.shards.At(ctx, partition)
	switch code {
	case codeNone:
	case codeNotCoordinator:
		return fmt.Errorf("marker for partition %d of %s: %w", partition, OffsetsTopic, led.ErrNotLeader)
	default:
		return fmt.Errorf("marker for partition %d of %s, which is not loaded: %w", partition, OffsetsTopic, led.ErrNotWritten)
	}
	w := led.NewWaiter[error]()
	ok := s.do(func(time.Time) { s.writeMarker(m, w.Answer) })
	err, answered := w.Await(ctx, ok)
	switch {
	case !ok:
		return errors.Join(led.ErrNotLeader, led.ErrUnloaded)
	case !answered:
		return context.Cause(ctx)
	}
	return err
}
