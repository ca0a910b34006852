package group

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led/ledtest"
	"github.com/weir-analytics/weir/internal/testkit"
)

// clientStage is a fake cluster for topics and records whose group requests are answered by a Coordinator, so that an unmodified
// client meets it.
type clientStage struct {
	t       *testing.T
	cluster *kfake.Cluster
	mt      *memTopic

	mu    sync.Mutex
	coord *Coordinator
	stop  func()
}

func newStage(t *testing.T, partitions int32) *clientStage {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "hits"))
	if err != nil {
		t.Fatal(err)
	}
	s := &clientStage{t: t, cluster: cluster, mt: newMemTopic(3)}
	s.start()
	t.Cleanup(func() { s.stop(); cluster.Close() })
	control(s, kmsg.JoinGroup, func(c *Coordinator, r *kmsg.JoinGroupRequest) kmsg.Response {
		return c.JoinGroup(t.Context(), caller, r)
	})
	control(s, kmsg.SyncGroup, func(c *Coordinator, r *kmsg.SyncGroupRequest) kmsg.Response { return c.SyncGroup(t.Context(), r) })
	control(s, kmsg.Heartbeat, func(c *Coordinator, r *kmsg.HeartbeatRequest) kmsg.Response { return c.Heartbeat(t.Context(), r) })
	control(s, kmsg.LeaveGroup, func(c *Coordinator, r *kmsg.LeaveGroupRequest) kmsg.Response { return c.LeaveGroup(t.Context(), r) })
	control(s, kmsg.OffsetCommit, func(c *Coordinator, r *kmsg.OffsetCommitRequest) kmsg.Response { return c.OffsetCommit(t.Context(), r) })
	control(s, kmsg.OffsetFetch, func(c *Coordinator, r *kmsg.OffsetFetchRequest) kmsg.Response { return c.OffsetFetch(t.Context(), r) })
	control(s, kmsg.DescribeGroups, func(c *Coordinator, r *kmsg.DescribeGroupsRequest) kmsg.Response {
		return c.DescribeGroups(t.Context(), r)
	})
	control(s, kmsg.ListGroups, func(c *Coordinator, r *kmsg.ListGroupsRequest) kmsg.Response { return c.ListGroups(t.Context(), r) })
	control(s, kmsg.DeleteGroups, func(c *Coordinator, r *kmsg.DeleteGroupsRequest) kmsg.Response { return c.DeleteGroups(t.Context(), r) })
	control(s, kmsg.OffsetDelete, func(c *Coordinator, r *kmsg.OffsetDeleteRequest) kmsg.Response { return c.OffsetDelete(t.Context(), r) })
	return s
}

// control answers one kind of request by the coordinator, without holding up the cluster while it is parked.
func control[R kmsg.Request](s *clientStage, key kmsg.Key, answer func(*Coordinator, R) kmsg.Response) {
	s.cluster.ControlKey(key.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.cluster.KeepControl()
		s.mu.Lock()
		coord := s.coord
		s.mu.Unlock()
		var resp kmsg.Response
		s.cluster.SleepControl(func() { resp = answer(coord, r.(R)) })
		return resp, nil, true
	})
}

// start runs another coordinator over the same log.
func (s *clientStage) start() {
	s.t.Helper()
	cfg := Default()
	cfg.NodeID, cfg.Partitions, cfg.MinSession = ledtest.Node, s.mt, 100*time.Millisecond
	cfg.InitialRebalanceDelay = 50 * time.Millisecond
	info := s.cluster.TopicInfo("hits")
	cfg.Topics = hitsOnly(info.TopicID)
	coord, err := New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = coord.Run(ctx)
	}()
	s.mu.Lock()
	s.coord, s.stop = coord, func() { cancel(); <-done }
	s.mu.Unlock()
}

type hitsOnly [16]byte

func (h hitsOnly) TopicByName(name string) ([16]byte, int32, bool) { return h, 100, name == "hits" }
func (h hitsOnly) TopicByID(id [16]byte) (string, bool)            { return "hits", id == h }

func (s *clientStage) client(opts ...kgo.Opt) *kgo.Client {
	s.t.Helper()
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(s.cluster.ListenAddrs()...), kgo.ConsumerGroup("readers"), kgo.ConsumeTopics("hits"),
		kgo.SessionTimeout(time.Second), kgo.HeartbeatInterval(100 * time.Millisecond), kgo.RebalanceTimeout(5 * time.Second),
		kgo.FetchMaxWait(100 * time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(),
	}, opts...)
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(cl.Close)
	return cl
}

func (s *clientStage) admin() *kadm.Client {
	s.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.cluster.ListenAddrs()...))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(cl.Close)
	return kadm.NewClient(cl)
}

func (s *clientStage) produce(n int) {
	s.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.cluster.ListenAddrs()...), kgo.DefaultProduceTopic("hits"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		s.t.Fatal(err)
	}
	defer cl.Close()
	for i := range n {
		cl.Produce(s.t.Context(), kgo.StringRecord(fmt.Sprint(i)), nil)
	}
	if err := cl.Flush(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// consume polls and commits until enough says so of what came, by partition.
func (s *clientStage) consume(cl *kgo.Client, enough func(perPartition map[int32]int) bool) map[int32]int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	got := map[int32]int{}
	for !enough(got) {
		fs := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			s.t.Fatalf("got %v, gave up", got)
		}
		fs.EachRecord(func(r *kgo.Record) { got[r.Partition]++ })
		if err := cl.CommitUncommittedOffsets(ctx); err != nil {
			s.t.Logf("commit: %v", err) // a rebalance may have come in between
		}
	}
	return got
}

func total(n int) func(map[int32]int) bool {
	return func(m map[int32]int) bool {
		sum := 0
		for _, c := range m {
			sum += c
		}
		return sum >= n
	}
}

// waitDescribed waits until the group looks as wanted.
func (s *clientStage) waitDescribed(what string, ok func(kadm.DescribedGroup) bool) {
	s.t.Helper()
	adm := s.admin()
	testkit.Wait(s.t, what, 60*time.Second, func() bool {
		groups, err := adm.DescribeGroups(s.t.Context(), "readers")
		return err == nil && ok(groups["readers"])
	})
}

func stableWith(members int) func(kadm.DescribedGroup) bool {
	return func(g kadm.DescribedGroup) bool { return g.State == "Stable" && len(g.Members) == members }
}

func TestFranzGoMembersSplitAndTakeOver(t *testing.T) {
	for name, balancer := range map[string]kgo.GroupBalancer{"cooperative-sticky": kgo.CooperativeStickyBalancer(), "range": kgo.RangeBalancer()} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 6)
			s.produce(600)
			first := s.client(kgo.Balancers(balancer))
			s.consume(first, total(600))
			second := s.client(kgo.Balancers(balancer))
			stop := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() { // the first goes on polling, so that it takes part in the rebalance
				for {
					select {
					case <-stop:
						return
					default:
						ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
						first.PollFetches(ctx)
						cancel()
					}
				}
			})
			ctx, cancel := context.WithCancel(t.Context())
			polled := make(chan struct{})
			go func() { defer close(polled); second.PollFetches(ctx) }()
			s.waitDescribed("three partitions each", func(g kadm.DescribedGroup) bool {
				return stableWith(2)(g) && assigned(g, 0) == 3 && assigned(g, 1) == 3
			})
			cancel()
			<-polled
			close(stop)
			wg.Wait()
			first.Close()
			s.produce(600)
			got := s.consume(second, total(600))
			if len(got) != 6 || !total(600)(got) || total(601)(got) {
				t.Errorf("after the first has left, the second read %v, want 600 records of 6 partitions: nothing twice", got)
			}
		})
	}
}

func assigned(g kadm.DescribedGroup, member int) int {
	a, ok := g.Members[member].Assigned.AsConsumer()
	if !ok {
		return -1
	}
	n := 0
	for _, topic := range a.Topics {
		n += len(topic.Partitions)
	}
	return n
}

func TestFranzGoResumesAfterARestartOfTheCoordinator(t *testing.T) {
	s := newStage(t, 3)
	s.produce(300)
	cl := s.client(kgo.InstanceID("one"))
	s.consume(cl, total(300))
	s.stop()
	s.start()
	s.produce(300)
	got := s.consume(cl, total(300))
	if total(301)(got) {
		t.Errorf("read %v, want 300 records: nothing twice", got)
	}
	s.waitDescribed("the member", stableWith(1))
	// The same instance in another process: no rebalance, goes on where the first one was.
	again := s.client(kgo.InstanceID("one"))
	s.produce(30)
	if got := s.consume(again, total(30)); total(31)(got) {
		t.Errorf("read %v, want 30 records", got)
	}
	s.waitDescribed("one member", stableWith(1))
}

func TestAdminClientManagesGroups(t *testing.T) {
	s := newStage(t, 3)
	s.produce(30)
	cl := s.client()
	s.consume(cl, total(30))
	adm := s.admin()
	lags, err := adm.Lag(t.Context(), "readers")
	if err != nil || lags["readers"].Lag.Total() != 0 || len(lags["readers"].Lag["hits"]) != 3 {
		t.Errorf("Lag: %+v, %v, want 0 for 3 partitions", lags, err)
	}
	listed, err := adm.ListGroups(t.Context())
	if err != nil || listed["readers"].State != "Stable" || listed["readers"].ProtocolType != "consumer" {
		t.Errorf("ListGroups: %+v, %v", listed, err)
	}
	if _, err := adm.DeleteGroup(t.Context(), "readers"); err == nil {
		t.Error("a group with a member was deleted")
	}
	cl.Close()
	s.waitDescribed("nobody", func(g kadm.DescribedGroup) bool { return g.State == "Empty" })
	var offsets kadm.Offsets
	offsets.AddOffset("hits", 1, 5, -1)
	if resp, err := adm.CommitOffsets(t.Context(), "readers", offsets); err != nil || resp.Error() != nil {
		t.Errorf("CommitOffsets: %v, %v", err, resp.Error())
	}
	if got, err := adm.FetchOffsets(t.Context(), "readers"); err != nil || got["hits"][1].At != 5 || got["hits"][0].At != 10 {
		t.Errorf("FetchOffsets: %+v, %v, want 10 and 5", got, err)
	}
	set := kadm.TopicsSet{}
	set.Add("hits", 0)
	if resp, err := adm.DeleteOffsets(t.Context(), "readers", set); err != nil || resp.Error() != nil {
		t.Errorf("DeleteOffsets: %v, %v", err, resp.Error())
	}
	if resp, err := adm.DeleteGroup(t.Context(), "readers"); err != nil || resp.Err != nil {
		t.Errorf("DeleteGroup: %v, %v", err, resp.Err)
	}
	if got, err := adm.FetchOffsets(t.Context(), "readers"); err != nil || len(got) != 0 {
		t.Errorf("FetchOffsets of a deleted group: %+v, %v, want none", got, err)
	}
}
