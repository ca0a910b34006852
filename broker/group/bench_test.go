package group

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
)

// running starts a coordinator outside a bubble.
func running(b *testing.B) (*Coordinator, *memPartition) {
	b.Helper()
	mt := newMemTopic(1)
	cfg := testConfig(mt)
	c, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-done })
	return c, mt.parts[0]
}

// Ten partitions per commit, from many connections at once, against a log in memory: the cost of the coordinator alone.
func BenchmarkOffsetCommit(b *testing.B) {
	c, part := running(b)
	req := commitReq("", -1, "hits", 0, 1)
	for p := range int32(9) {
		more := req.Topics[0].Partitions[0]
		more.Partition = p + 1
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, more)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if resp := c.OffsetCommit(context.Background(), req); resp.Topics[0].Partitions[0].ErrorCode != codeNone {
				b.Error("commit failed")
			}
		}
	})
	b.ReportMetric(float64(part.Appends)/float64(b.N), "batches/op")
}

// One group with a thousand members, each heartbeat from another one.
func BenchmarkHeartbeat(b *testing.B) {
	c, _ := running(b)
	ids := make([]string, 1000)
	s, code := c.shardOf(context.Background(), testGroup)
	if code != codeNone {
		b.Fatalf("code %d", code)
	}
	s.do(func(now time.Time) {
		g := s.ensure(testGroup, now)
		for i := range ids {
			ids[i] = c.env.cfg.NewID()
			m := &member{id: ids[i], sessionTimeout: time.Hour, rebalanceTimeout: time.Hour, protocols: []protocol{{name: "range"}}}
			m.touch(now)
			g.add(m)
		}
		g.protocolType, g.protocol, g.state = "consumer", "range", stable
		s.settle(g)
	})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		req := kmsg.HeartbeatRequest{Version: 4, Group: testGroup, MemberID: ids[i%len(ids)]}
		if resp := c.Heartbeat(context.Background(), &req); resp.ErrorCode != codeNone {
			b.Fatalf("code %d", resp.ErrorCode)
		}
		i++
	}
}

// How long a partition of 100 000 offsets in 100 groups keeps its clients waiting.
func BenchmarkLoad(b *testing.B) {
	part := newMemPartition()
	now := time.Now()
	for i := 0; i < 100_000; {
		var batch []record.Record
		for range 20 {
			batch = append(batch, offsetRecord(fmt.Sprint("group", i%100), "hits", int32(i), &offset{at: int64(i), expiresMs: noExpiry}, now))
			i++
		}
		part.Add(batch)
	}
	b.ReportAllocs()
	for b.Loop() {
		img := newImage()
		_, err := led.ReadLog(b.Context(), part, img.apply)
		if err != nil || len(img.groups) != 100 {
			b.Fatal(err)
		}
	}
}
