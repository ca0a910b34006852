package group

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/weir-analytics/weir/internal/testkit"
)

// side is one of the two brokers that are asked the same.
type side struct {
	t       *testing.T
	request func(req kmsg.Request) kmsg.Response
	another func(req kmsg.Request) kmsg.Response // request over another connection
	ids     map[string]string                    // alias -> member id
	parked  map[string]<-chan string
}

// step is one request; it returns what is to be compared. Member ids differ between the brokers and go by alias.
type step struct {
	name string
	do   func(s *side) string
}

func (s *side) id(alias string) string {
	if id, ok := s.ids[alias]; ok {
		return id
	}
	return alias
}

func (s *side) alias(id string) string {
	for alias, known := range s.ids {
		if known == id {
			return alias
		}
	}
	if id == "" {
		return "nobody"
	}
	return "somebody"
}

// join sends a JoinGroup as the alias; a new id is remembered under it.
func (s *side) join(alias string, change ...func(*kmsg.JoinGroupRequest)) string {
	req := joinReq(s.ids[alias])
	for _, fn := range change {
		fn(req)
	}
	resp := s.request(req).(*kmsg.JoinGroupResponse)
	if resp.MemberID != s.ids[alias] && (resp.ErrorCode == codeNone || resp.ErrorCode == codeMemberIDRequired) {
		s.ids[alias] = resp.MemberID
	}
	return fmt.Sprintf("code %d generation %d leader %s skip %v members %d", resp.ErrorCode, resp.Generation, s.alias(resp.LeaderID), resp.SkipAssignment, len(resp.Members))
}

func (s *side) sync(alias string, generation int32, change ...func(*kmsg.SyncGroupRequest)) string {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = testGroup, s.id(alias), generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	for a, id := range s.ids {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: []byte("for " + a)})
	}
	for _, fn := range change {
		fn(req)
	}
	resp := s.request(req).(*kmsg.SyncGroupResponse)
	return fmt.Sprintf("code %d assignment %q", resp.ErrorCode, resp.MemberAssignment)
}

func (s *side) beat(alias string, generation int32, instance *string) string {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation, req.InstanceID = testGroup, s.id(alias), generation, instance
	return fmt.Sprint("code ", s.request(req).(*kmsg.HeartbeatResponse).ErrorCode)
}

func (s *side) leave(alias string, instance *string) string {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = testGroup
	req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: s.id(alias), InstanceID: instance}}
	resp := s.request(req).(*kmsg.LeaveGroupResponse)
	out := fmt.Sprint("code ", resp.ErrorCode)
	for _, m := range resp.Members {
		out += fmt.Sprint(" member ", m.ErrorCode)
	}
	return out
}

func (s *side) commit(alias string, generation int32, change ...func(*kmsg.OffsetCommitRequest)) string {
	req := commitReq(s.id(alias), generation, "hits", 0, 42)
	for _, fn := range change {
		fn(req)
	}
	return fmt.Sprint("code ", s.request(req).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}

func (s *side) fetch(group string) string {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	g.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "hits", Partitions: []int32{0, 1}}}
	req.Groups = []kmsg.OffsetFetchRequestGroup{g}
	rg := s.request(req).(*kmsg.OffsetFetchResponse).Groups[0]
	out := fmt.Sprint("code ", rg.ErrorCode)
	for _, t := range rg.Topics {
		for _, p := range t.Partitions {
			out += fmt.Sprint(" ", p.Partition, "=", p.Offset, " code ", p.ErrorCode)
		}
	}
	return out
}

func (s *side) describe(group string) string {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	g := s.request(req).(*kmsg.DescribeGroupsResponse).Groups[0]
	return fmt.Sprintf("code %d state %s type %q protocol %q members %d", g.ErrorCode, g.State, g.ProtocolType, g.Protocol, len(g.Members))
}

func (s *side) deleteGroup(group string) string {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{group}
	return fmt.Sprint("code ", s.request(req).(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode)
}

func (s *side) offsetDelete(group string) string {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "hits", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
	resp := s.request(req).(*kmsg.OffsetDeleteResponse)
	out := fmt.Sprint("code ", resp.ErrorCode)
	for _, t := range resp.Topics {
		out += fmt.Sprint(" partition ", t.Partitions[0].ErrorCode)
	}
	return out
}

// park starts a request that is answered later, over another connection: answers on one come in order.
func (s *side) park(name string, fn func(s *side) string) string {
	other := *s
	other.request = s.another
	s.parked[name] = later(func() string { return fn(&other) })
	return "parked"
}

// until asks until the answer is the wanted one, for what the other requests need some time to bring about.
func (s *side) until(want string, fn func() string) string {
	s.t.Helper()
	testkit.Wait(s.t, want, 30*time.Second, func() bool { return fn() == want })
	return want
}

func differSteps() []step {
	one, two := "one", "two"
	asStatic := func(instance string) func(*kmsg.JoinGroupRequest) {
		return func(r *kmsg.JoinGroupRequest) { r.InstanceID = &instance }
	}
	return []step{
		{"describe a group that is not there", func(s *side) string { return s.describe(testGroup) }},
		{"fetch from it", func(s *side) string { return s.fetch(testGroup) }},
		{"delete it", func(s *side) string { return s.deleteGroup(testGroup) }},
		{"delete its offsets", func(s *side) string { return s.offsetDelete(testGroup) }},
		{"heartbeat to it", func(s *side) string { return s.beat("a", 1, nil) }},
		{"sync with it", func(s *side) string { return s.sync("a", 1) }},
		{"commit to it with a generation", func(s *side) string { return s.commit("a", 1) }},
		{"commit to it from outside", func(s *side) string { return s.commit("", -1) }},
		{"it is there now", func(s *side) string { return s.describe(testGroup) }},
		{"and has the offset", func(s *side) string { return s.fetch(testGroup) }},
		{"join without group id", func(s *side) string { return s.join("x", func(r *kmsg.JoinGroupRequest) { r.Group = "" }) }},
		{"join with a short session", func(s *side) string {
			return s.join("x", func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 1 })
		}},
		{"join without protocols", func(s *side) string { return s.join("x", func(r *kmsg.JoinGroupRequest) { r.Protocols = nil }) }},
		{"join as a stranger", func(s *side) string { return s.join("x", func(r *kmsg.JoinGroupRequest) { r.MemberID = "stranger" }) }},
		{"first half of the handshake", func(s *side) string { return s.join("a") }},
		{"second half", func(s *side) string { return s.join("a") }},
		{"commit before sync", func(s *side) string { return s.commit("a", 1) }},
		{"describe before sync", func(s *side) string { return s.describe(testGroup) }},
		{"sync with the wrong generation", func(s *side) string { return s.sync("a", 9) }},
		{"sync with the wrong protocol", func(s *side) string {
			return s.sync("a", 1, func(r *kmsg.SyncGroupRequest) { r.Protocol = kmsg.StringPtr("other") })
		}},
		{"sync", func(s *side) string { return s.sync("a", 1) }},
		{"sync again", func(s *side) string { return s.sync("a", 1) }},
		{"describe", func(s *side) string { return s.describe(testGroup) }},
		{"heartbeat", func(s *side) string { return s.beat("a", 1, nil) }},
		{"heartbeat of an old generation", func(s *side) string { return s.beat("a", 0, nil) }},
		{"heartbeat of a stranger", func(s *side) string { return s.beat("stranger", 1, nil) }},
		{"heartbeat with an unknown instance", func(s *side) string { return s.beat("a", 1, &one) }},
		{"commit", func(s *side) string { return s.commit("a", 1) }},
		{"commit of an old generation", func(s *side) string { return s.commit("a", 0) }},
		{"commit of a stranger", func(s *side) string { return s.commit("stranger", 1) }},
		{"commit from outside", func(s *side) string { return s.commit("", -1) }},
		{"delete with a member", func(s *side) string { return s.deleteGroup(testGroup) }},
		{"delete offsets of a topic that is read", func(s *side) string { return s.offsetDelete(testGroup) }},
		{"a second type of group", func(s *side) string {
			return s.join("x", func(r *kmsg.JoinGroupRequest) { r.ProtocolType = "connect" })
		}},
		{"a protocol that nobody else has", func(s *side) string {
			return s.join("x", func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Name = "other" })
		}},
		{"second member, first half", func(s *side) string { return s.join("b") }},
		{"second member waits", func(s *side) string { return s.park("b", func(s *side) string { return s.join("b") }) }},
		{"first is told", func(s *side) string { return s.until("code 27", func() string { return s.beat("a", 1, nil) }) }},
		{"sync meanwhile", func(s *side) string { return s.sync("a", 1) }},
		{"commit meanwhile", func(s *side) string { return s.commit("a", 1) }},
		{"describe meanwhile", func(s *side) string { return s.describe(testGroup) }},
		{"first joins again", func(s *side) string { return s.join("a") }},
		{"second is answered", func(s *side) string { return <-s.parked["b"] }},
		{"second waits for the assignment", func(s *side) string { return s.park("b", func(s *side) string { return s.sync("b", 2) }) }},
		{"leader assigns", func(s *side) string { return s.sync("a", 2) }},
		{"second has it", func(s *side) string { return <-s.parked["b"] }},
		{"follower joins again unchanged", func(s *side) string { return s.join("b") }},
		{"follower leaves", func(s *side) string { return s.leave("b", nil) }},
		{"and again", func(s *side) string { return s.leave("b", nil) }},
		{"leader is told", func(s *side) string { return s.beat("a", 2, nil) }},
		{"leader leaves", func(s *side) string { return s.leave("a", nil) }},
		{"group is empty", func(s *side) string { return s.describe(testGroup) }},
		{"heartbeat to the empty group", func(s *side) string { return s.beat("a", 3, nil) }},
		{"static member joins", func(s *side) string { return s.join("one", asStatic("one")) }},
		{"and syncs", func(s *side) string {
			return s.sync("one", 4, func(r *kmsg.SyncGroupRequest) { r.InstanceID = &one })
		}},
		{"it comes back", func(s *side) string { delete(s.ids, "one"); return s.join("one", asStatic("one")) }},
		{"its former self is fenced", func(s *side) string { return s.beat("former", 4, &one) }},
		{"it has its assignment", func(s *side) string { return s.sync("one", 4) }},
		{"leaving under another instance", func(s *side) string { return s.leave("one", &two) }},
		{"removed by its instance", func(s *side) string { return s.leave("", &one) }},
		{"group is empty again", func(s *side) string { return s.describe(testGroup) }},
		{"delete offsets", func(s *side) string { return s.offsetDelete(testGroup) }},
		{"they are gone", func(s *side) string { return s.fetch(testGroup) }},
		{"delete the group", func(s *side) string { return s.deleteGroup(testGroup) }},
		{"it is gone", func(s *side) string { return s.describe(testGroup) }},
	}
}

// knownDifferences are the steps where the two differ, with the reason why ours is meant. Apache Kafka's coordinator
// (GroupMetadataManager, OffsetMetadataManager) answers as we do.
var knownDifferences = map[string]string{
	"fetch from it":                  "Kafka answers -1 for a group that is not there",
	"heartbeat to it":                "Kafka answers UNKNOWN_MEMBER_ID",
	"sync with it":                   "Kafka answers UNKNOWN_MEMBER_ID",
	"commit to it with a generation": "Kafka answers GROUP_ID_NOT_FOUND from version 9 on",
}

// The same requests get the same answers as from franz-go's fake cluster, which follows Kafka's own tests.
func TestAnswersAreThoseOfTheFakeCluster(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "hits"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	fake := &side{t: t, ids: map[string]string{}, parked: map[string]<-chan string{}, request: fakeClient(t, cluster), another: fakeClient(t, cluster)}
	ours := &side{t: t, ids: map[string]string{}, parked: map[string]<-chan string{}, request: ourCoordinator(t)}
	ours.another = ours.request
	for _, st := range differSteps() {
		got, want := st.do(ours), st.do(fake)
		reason, known := knownDifferences[st.name]
		switch {
		case got != want && !known:
			t.Errorf("%s: we answer %q, the fake cluster %q", st.name, got, want)
		case got == want && known:
			t.Errorf("%s: no longer different (%s)", st.name, reason)
		}
	}
}

func fakeClient(t *testing.T, cluster *kfake.Cluster) func(kmsg.Request) kmsg.Response {
	t.Helper()
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(kmsg.OffsetCommit.Int16(), namedTopics)
	versions.SetMaxKeyVersion(kmsg.OffsetFetch.Int16(), namedTopics)
	cl, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.MaxVersions(versions))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return func(req kmsg.Request) kmsg.Response {
		resp, err := cl.SeedBrokers()[0].Request(t.Context(), pin(req))
		if err != nil {
			t.Errorf("fake cluster: %v", err)
			return req.ResponseKind()
		}
		return resp
	}
}

// namedTopics is the newest version of OffsetCommit and OffsetFetch in which topics have names.
const namedTopics = 9

// pin sets the version that both brokers are asked in.
func pin(req kmsg.Request) kmsg.Request {
	v := req.MaxVersion()
	switch req.(type) {
	case *kmsg.OffsetCommitRequest, *kmsg.OffsetFetchRequest:
		v = namedTopics
	}
	req.SetVersion(v)
	return req
}

func ourCoordinator(t *testing.T) func(kmsg.Request) kmsg.Response {
	t.Helper()
	cfg := testConfig(newMemTopic(1))
	cfg.InitialRebalanceDelay, cfg.Topics = 0, memTopics{"hits": 2}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return func(req kmsg.Request) kmsg.Response {
		switch r := pin(req).(type) {
		case *kmsg.JoinGroupRequest:
			return c.JoinGroup(ctx, caller, r)
		case *kmsg.SyncGroupRequest:
			return c.SyncGroup(ctx, r)
		case *kmsg.HeartbeatRequest:
			return c.Heartbeat(ctx, r)
		case *kmsg.LeaveGroupRequest:
			return c.LeaveGroup(ctx, r)
		case *kmsg.OffsetCommitRequest:
			return c.OffsetCommit(ctx, r)
		case *kmsg.OffsetFetchRequest:
			return c.OffsetFetch(ctx, r)
		case *kmsg.DescribeGroupsRequest:
			return c.DescribeGroups(ctx, r)
		case *kmsg.DeleteGroupsRequest:
			return c.DeleteGroups(ctx, r)
		case *kmsg.OffsetDeleteRequest:
			return c.OffsetDelete(ctx, r)
		default:
			t.Fatalf("no such request: %T", r)
			return nil
		}
	}
}
