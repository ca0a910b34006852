package group_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker"
	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/internal/testkit"
	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// A whole broker on a disk: real listener, real log, real controller.
type realNode struct {
	t    testing.TB
	b    *broker.Broker
	stop func()
}

func startReal(t testing.TB, dir string) *realNode {
	t.Helper()
	rc := raftfsm.Default(dir)
	rc.NodeID = 1
	ctl, err := raftfsm.Open(rc)
	if err != nil {
		t.Fatal(err)
	}
	cfg := broker.Default()
	cfg.DataDir, cfg.Listeners, cfg.ServerID = dir, []broker.Listener{broker.Plaintext("127.0.0.1:0")}, ctl.ServerID()
	cfg.Group.MinSession = 100 * time.Millisecond
	b, err := broker.Open(cfg, ctl)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ctlCtx, cancelCtl := context.WithCancel(context.Background())
	var runs, ctlRuns sync.WaitGroup
	ctlRuns.Go(func() {
		if err := ctl.Run(ctlCtx); err != nil {
			t.Errorf("controller: %v", err)
		}
	})
	runs.Go(func() {
		if err := b.Run(ctx); err != nil {
			t.Errorf("broker: %v", err)
		}
	})
	n := &realNode{t: t, b: b, stop: sync.OnceFunc(func() {
		cancel()
		runs.Wait()
		if err := b.Close(); err != nil {
			t.Errorf("close broker: %v", err)
		}
		cancelCtl()
		ctlRuns.Wait()
		if err := ctl.Close(); err != nil {
			t.Errorf("close controller: %v", err)
		}
	})}
	t.Cleanup(n.stop)
	addr := b.Addr().(*net.TCPAddr)
	if err := ctl.RegisterBroker(t.Context(), state.Broker{ID: 1, ServerID: ctl.ServerID(), Host: "127.0.0.1", Port: int32(addr.Port)}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-b.Ready():
	case <-time.After(20 * time.Second):
		t.Fatal("broker is not ready after 20 s")
	}
	return n
}

func (n *realNode) client(opts ...kgo.Opt) *kgo.Client {
	n.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(n.b.Addr().String())}, opts...)...)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(cl.Close)
	return cl
}

func (n *realNode) consumer(opts ...kgo.Opt) *kgo.Client {
	return n.client(append([]kgo.Opt{
		kgo.ConsumerGroup("readers"), kgo.ConsumeTopics("hits"), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(30 * time.Second), kgo.HeartbeatInterval(100 * time.Millisecond), kgo.FetchMaxWait(100 * time.Millisecond),
	}, opts...)...)
}

func (n *realNode) produce(count int) {
	n.t.Helper()
	cl := n.client(kgo.DefaultProduceTopic("hits"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	for i := range count {
		cl.Produce(n.t.Context(), kgo.StringRecord(fmt.Sprint(i)), nil)
	}
	if err := cl.Flush(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
	cl.Close()
}

// read polls so many records and commits them.
func (n *realNode) read(cl *kgo.Client, count int) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 20*time.Second)
	defer cancel()
	got := 0
	for got < count {
		fs := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			n.t.Fatalf("got %d records of %d", got, count)
		}
		got += fs.NumRecords()
	}
	if got > count {
		n.t.Errorf("got %d records, want %d: some came twice", got, count)
	}
	if err := cl.CommitUncommittedOffsets(ctx); err != nil {
		n.t.Fatalf("commit: %v", err)
	}
}

func (n *realNode) describe(adm *kadm.Client) kadm.DescribedGroup {
	n.t.Helper()
	groups, err := adm.DescribeGroups(n.t.Context(), "readers")
	if err != nil {
		n.t.Fatal(err)
	}
	return groups["readers"]
}

func TestGroupOnARealNodeSurvivesItsRestart(t *testing.T) {
	dir := t.TempDir()
	n := startReal(t, dir)
	adm := kadm.NewClient(n.client())
	if _, err := adm.CreateTopic(t.Context(), 4, -1, nil, "hits"); err != nil {
		t.Fatal(err)
	}
	n.produce(400)
	cl := n.consumer(kgo.InstanceID("one"))
	n.read(cl, 400)
	before := n.describe(adm)
	if before.State != "Stable" || len(before.Members) != 1 {
		t.Fatalf("group before the restart: %+v", before)
	}
	cl.Close() // a static member does not leave: like a process that dies
	n.stop()

	n = startReal(t, dir)
	adm = kadm.NewClient(n.client())
	n.produce(40)
	began := time.Now()
	n.read(n.consumer(kgo.InstanceID("one")), 40)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the restarted member waited %v, want no wait for the session of its former self", took)
	}
	after := n.describe(adm)
	if after.State != "Stable" || len(after.Members) != 1 || *after.Members[0].InstanceID != "one" || after.Members[0].MemberID == before.Members[0].MemberID {
		t.Errorf("group after the restart: %+v", after)
	}

	checkOffsetsTopic(t, n)

	// A topic of the same name does not inherit the offsets of its predecessor.
	if _, err := adm.DeleteTopics(t.Context(), "hits"); err != nil {
		t.Fatal(err)
	}
	testkit.Wait(t, "the offsets of a deleted topic to go", 60*time.Second, func() bool {
		offsets, err := adm.FetchOffsets(t.Context(), "readers")
		return err == nil && len(offsets) == 0
	})
}

// checkOffsetsTopic reads __consumer_offsets as any client can and looks for the group and its offsets in Kafka's layouts.
func checkOffsetsTopic(t *testing.T, n *realNode) {
	t.Helper()
	p := group.PartitionOf("readers", group.DefaultPartitions)
	cl := n.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{group.OffsetsTopic: {p: kgo.NewOffset().AtStart()}}))
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	sum, generation := map[int32]int64{}, int32(-1)
	for (sum[0]+sum[1]+sum[2]+sum[3] < 440 || generation < 0) && ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			switch key := string(r.Key); {
			case strings.HasPrefix(key, "\x00\x01"):
				var k kmsg.OffsetCommitKey
				var v kmsg.OffsetCommitValue
				if k.ReadFrom(r.Key) == nil && v.ReadFrom(r.Value) == nil && k.Group == "readers" && k.Topic == "hits" {
					sum[k.Partition] = v.Offset
				}
			case strings.HasPrefix(key, "\x00\x02"):
				v := kmsg.NewGroupMetadataValue()
				if v.ReadFrom(r.Value) == nil && len(v.Members) == 1 && v.ProtocolType == "consumer" {
					generation = v.Generation
				}
			}
		})
	}
	if sum[0]+sum[1]+sum[2]+sum[3] != 440 || generation < 1 {
		t.Errorf("in the topic: offsets %v, generation %d, want 440 in all and a generation", sum, generation)
	}
}

// Commits of one partition from 16 connections at once, each answered when it is on the disk.
func BenchmarkCommitOnARealNode(b *testing.B) {
	n := startReal(b, b.TempDir())
	adm := kadm.NewClient(n.client())
	if _, err := adm.CreateTopic(b.Context(), 16, -1, nil, "hits"); err != nil {
		b.Fatal(err)
	}
	var clients []*kadm.Client
	for range 16 {
		clients = append(clients, kadm.NewClient(n.client()))
	}
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, cl := range clients {
		wg.Go(func() {
			for j := i; j < b.N; j += len(clients) {
				var offsets kadm.Offsets
				offsets.AddOffset("hits", int32(i), int64(j), -1)
				if _, err := cl.CommitOffsets(b.Context(), "readers", offsets); err != nil {
					b.Errorf("commit: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
}
