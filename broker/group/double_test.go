package group

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/led/ledtest"
	"github.com/weir-analytics/weir/broker/record"
)

// memPartition is a partition in memory, with the rules of transactions as far as the coordinator relies on them: epochs, and who has one
// open.
type memPartition struct {
	*ledtest.Partition
	epochs map[int64]int16
	open   map[int64]bool
	marked map[int64]int64 // offset of the newest marker
}

func newMemPartition() *memPartition {
	return &memPartition{
		Partition: ledtest.New(),
		epochs:    map[int64]int16{}, open: map[int64]bool{}, marked: map[int64]int64{},
	}
}

func (p *memPartition) AppendInTxn(ctx context.Context, in Transaction, recs []record.Record) (int64, error) {
	var refused error
	p.Set(func() {
		switch at, ended := p.marked[in.ProducerID]; {
		case in.ProducerEpoch < p.epochs[in.ProducerID]:
			refused = ErrProducerFenced
		case !p.open[in.ProducerID] && ended && at >= in.Since:
			refused = ErrTxnEnded
		}
	})
	if refused != nil {
		return 0, fmt.Errorf("%w: %w", led.ErrNotWritten, refused)
	}
	return p.Write(ctx, func() int64 {
		p.epochs[in.ProducerID], p.open[in.ProducerID] = in.ProducerEpoch, true
		return p.AddMarked(recs, func(b *record.Builder) {
			b.SetProducer(in.ProducerID, in.ProducerEpoch, 0)
			b.SetTransactional()
		})
	})
}

func (p *memPartition) AppendMarker(ctx context.Context, m record.Marker) error {
	var known int16
	var open bool
	p.Set(func() { known, open = p.epochs[m.ProducerID], p.open[m.ProducerID] })
	switch {
	case m.ProducerEpoch < known:
		return fmt.Errorf("%w: %w", led.ErrNotWritten, ErrProducerFenced)
	case !open && m.ProducerEpoch == known:
		return nil
	}
	_, err := p.Write(ctx, func() int64 {
		at := p.AddBatch(m.Build(0), 1)
		p.epochs[m.ProducerID], p.open[m.ProducerID], p.marked[m.ProducerID] = m.ProducerEpoch, false, at
		return at
	})
	return err
}

// memTopic is the offsets topic in memory.
type memTopic struct {
	mu    sync.Mutex
	parts []*memPartition
}

func newMemTopic(n int) *memTopic {
	mt := &memTopic{}
	for range n {
		mt.parts = append(mt.parts, newMemPartition())
	}
	return mt
}

func (mt *memTopic) Count() int32 {
	mt.mu.Lock()
	defer mt.mu.Unlock()
	return int32(len(mt.parts))
}

func (mt *memTopic) OffsetsPartition(p int32) (Partition, error) {
	mt.mu.Lock()
	defer mt.mu.Unlock()
	if int(p) >= len(mt.parts) {
		return nil, errors.New("no such partition")
	}
	return mt.parts[p], nil
}

// memTopics says which topics exist.
type memTopics map[string]int32

func (mt memTopics) TopicByName(name string) ([16]byte, int32, bool) {
	n, ok := mt[name]
	return topicID(name), n, ok
}

func (mt memTopics) TopicByID(id [16]byte) (string, bool) {
	for name := range mt {
		if topicID(name) == id {
			return name, true
		}
	}
	return "", false
}

func topicID(name string) (id [16]byte) {
	copy(id[:], name)
	return id
}

// node is a coordinator that runs, over a log in memory with one partition, so that every group is in it.
type node struct {
	*Coordinator
	t    *testing.T
	part *memPartition
	stop func()
}

func testConfig(mt *memTopic) Config {
	cfg := Default()
	cfg.NodeID, cfg.Partitions = ledtest.Node, mt
	cfg.InitialRebalanceDelay = 3 * time.Second
	n := 0
	cfg.NewID = func() string { n++; return fmt.Sprintf("id%d", n) }
	return cfg
}

// start runs a coordinator over the topic until the test ends or stop is called. Call it inside a synctest bubble.
func start(t *testing.T, mt *memTopic, change ...func(*Config)) *node {
	t.Helper()
	cfg := testConfig(mt)
	for _, fn := range change {
		fn(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Coordinator: c, t: t, part: mt.parts[0], stop: ledtest.Run(t, c.Run)}
	synctest.Wait()
	return n
}

func bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, fn)
}

const testGroup = "readers"

// joinReq is a JoinGroup of the newest version with sensible values.
func joinReq(memberID string, protocols ...string) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = 9, testGroup, memberID, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10_000, 60_000
	if len(protocols) == 0 {
		protocols = []string{"range"}
	}
	for _, name := range protocols {
		req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: subscription("hits")})
	}
	return req
}

func subscription(topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 1, topics
	return m.AppendTo(nil)
}

// static makes a JoinGroup that of a static member.
func static(req *kmsg.JoinGroupRequest, instance string) *kmsg.JoinGroupRequest {
	req.InstanceID = &instance
	return req
}

var caller = Caller{ClientID: "test", ClientHost: "/127.0.0.1"}

// later runs fn in a goroutine and hands its result over.
func later[T any](fn func() T) <-chan T {
	ch := make(chan T, 1)
	go func() { ch <- fn() }()
	return ch
}

// arrived says whether there is a result, after everything that can go on without time passing has done so.
func arrived[T any](ch <-chan T) bool {
	synctest.Wait()
	return len(ch) > 0
}

func (n *node) joinLater(req *kmsg.JoinGroupRequest) <-chan *kmsg.JoinGroupResponse {
	return later(func() *kmsg.JoinGroupResponse { return n.JoinGroup(n.t.Context(), caller, req) })
}

// newID does the first half of the handshake of a dynamic member.
func (n *node) newID() string {
	n.t.Helper()
	resp := n.JoinGroup(n.t.Context(), caller, joinReq(""))
	if resp.ErrorCode != codeMemberIDRequired || resp.MemberID == "" {
		n.t.Fatalf("first JoinGroup: code %d, member %q, want MEMBER_ID_REQUIRED and an id", resp.ErrorCode, resp.MemberID)
	}
	return resp.MemberID
}

func (n *node) syncLater(memberID string, generation int32, assignments map[string]string) <-chan *kmsg.SyncGroupResponse {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 5, testGroup, memberID, generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	for id, a := range assignments {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: []byte(a)})
	}
	return later(func() *kmsg.SyncGroupResponse { return n.SyncGroup(n.t.Context(), req) })
}

func (n *node) beat(memberID string, generation int32) int16 {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 4, testGroup, memberID, generation
	return n.Heartbeat(n.t.Context(), req).ErrorCode
}

func (n *node) leave(memberIDs ...string) *kmsg.LeaveGroupResponse {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group = 5, testGroup
	for _, id := range memberIDs {
		req.Members = append(req.Members, kmsg.LeaveGroupRequestMember{MemberID: id})
	}
	return n.LeaveGroup(n.t.Context(), req)
}

func commitReq(memberID string, generation int32, topic string, partition int32, at int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.MemberID, req.Generation = 9, testGroup, memberID, generation
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = partition, at, 3
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	return req
}

func (n *node) commit(memberID string, generation int32, topic string, partition int32, at int64) int16 {
	return n.send(commitReq(memberID, generation, topic, partition, at))
}

func (n *node) send(req *kmsg.OffsetCommitRequest) int16 {
	return n.OffsetCommit(n.t.Context(), req).Topics[0].Partitions[0].ErrorCode
}

// fetch returns the committed offset, -1 for none.
func (n *node) fetch(topic string, partition int32) int64 {
	n.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group = 5, testGroup
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: []int32{partition}}}
	resp := n.OffsetFetch(n.t.Context(), req)
	if resp.ErrorCode != codeNone {
		n.t.Fatalf("OffsetFetch: code %d", resp.ErrorCode)
	}
	return resp.Topics[0].Partitions[0].Offset
}

func (n *node) describe() kmsg.DescribeGroupsResponseGroup {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = 5, []string{testGroup}
	return n.DescribeGroups(n.t.Context(), req).Groups[0]
}

func (n *node) wantState(want phase) {
	n.t.Helper()
	if got := n.describe().State; got != want.String() {
		n.t.Fatalf("group is %s, want %s", got, want)
	}
}

// stable brings the members into one stable generation; the first is the leader. Each gets "for ID" assigned.
func (n *node) stable(reqs ...*kmsg.JoinGroupRequest) (ids []string, generation int32) {
	n.t.Helper()
	var joins []<-chan *kmsg.JoinGroupResponse
	for _, req := range reqs {
		if req.MemberID == "" && req.InstanceID == nil {
			req.MemberID = n.newID()
		}
		joins = append(joins, n.joinLater(req))
		synctest.Wait()
	}
	assignments := map[string]string{}
	leader := ""
	for _, ch := range joins {
		resp := <-ch
		if resp.ErrorCode != codeNone {
			n.t.Fatalf("JoinGroup: code %d", resp.ErrorCode)
		}
		ids, generation, leader = append(ids, resp.MemberID), resp.Generation, resp.LeaderID
		assignments[resp.MemberID] = "for " + resp.MemberID
	}
	n.syncAll(ids, generation, leader, assignments)
	return ids, generation
}

func (n *node) syncAll(ids []string, generation int32, leader string, assignments map[string]string) {
	n.t.Helper()
	var syncs []<-chan *kmsg.SyncGroupResponse
	for _, id := range ids {
		var a map[string]string
		if id == leader {
			a = assignments
		}
		syncs = append(syncs, n.syncLater(id, generation, a))
	}
	for i, ch := range syncs {
		resp := <-ch
		if resp.ErrorCode != codeNone || string(resp.MemberAssignment) != assignments[ids[i]] {
			n.t.Fatalf("SyncGroup of %s: code %d, assignment %q, want %q", ids[i], resp.ErrorCode, resp.MemberAssignment, assignments[ids[i]])
		}
	}
}
