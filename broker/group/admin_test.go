package group

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
)

func TestDescribeShowsMembersWhenSettled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, _ := n.stable(static(joinReq(""), "a"))
		got := n.describe()
		if got.State != "Stable" || got.Protocol != "range" || got.ProtocolType != "consumer" || len(got.Members) != 1 {
			t.Fatalf("DescribeGroups: %+v", got)
		}
		m := got.Members[0]
		if m.MemberID != ids[0] || *m.InstanceID != "a" || m.ClientID != "test" || m.ClientHost != "/127.0.0.1" ||
			string(m.MemberAssignment) != "for "+ids[0] || string(m.ProtocolMetadata) != string(subscription("hits")) {
			t.Errorf("member: %+v", m)
		}
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{"nobody"}
		for version, want := range map[int16]int16{5: codeNone, 6: codeGroupIDNotFound} {
			req.Version = version
			got := n.DescribeGroups(t.Context(), req).Groups[0]
			if got.State != "Dead" || got.ErrorCode != want || (got.ErrorMessage != nil) != (version >= 6) {
				t.Errorf("v%d of a group that is not there: %+v, want Dead and code %d", version, got, want)
			}
		}
	})
}

func TestListFiltersByStateAndType(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(3)) // over several partitions
		n.stable(joinReq(""))
		for _, id := range []string{"z", "y", "x"} {
			req := commitReq("", -1, "hits", 0, 1)
			req.Group = id
			n.send(req)
		}
		for _, tc := range []struct {
			states, types []string
			want          string
		}{
			{nil, nil, "[readers x y z]"},
			{[]string{"Stable"}, nil, "[readers]"},
			{[]string{"empty", "dead"}, nil, "[x y z]"},
			{nil, []string{"Classic"}, "[readers x y z]"},
			{nil, []string{"consumer"}, "[]"},
		} {
			req := kmsg.NewPtrListGroupsRequest()
			req.Version, req.StatesFilter, req.TypesFilter = 5, tc.states, tc.types
			got := []string{}
			for _, g := range n.ListGroups(t.Context(), req).Groups {
				got = append(got, g.Group)
				if g.GroupType != "classic" {
					t.Errorf("type of %s is %q", g.Group, g.GroupType)
				}
			}
			if fmt.Sprint(got) != tc.want {
				t.Errorf("states %v, types %v: %v, want %s", tc.states, tc.types, got, tc.want)
			}
		}
	})
}

func (n *node) deleteGroup(id string) int16 {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Version, req.Groups = 2, []string{id}
	return n.DeleteGroups(n.t.Context(), req).Groups[0].ErrorCode
}

func TestDeletedGroupIsGoneForGood(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt)
		ids, gen := n.stable(joinReq(""))
		for i := range 2500 { // more than one write of tombstones
			n.commit(ids[0], gen, "hits", int32(i), 1)
		}
		if code := n.deleteGroup(testGroup); code != codeNonEmptyGroup {
			t.Errorf("with a member: code %d, want NON_EMPTY_GROUP", code)
		}
		n.leave(ids[0])
		if code := n.deleteGroup(testGroup); code != codeNone {
			t.Fatalf("code %d", code)
		}
		if code := n.deleteGroup(testGroup); code != codeGroupIDNotFound {
			t.Errorf("again: code %d, want GROUP_ID_NOT_FOUND", code)
		}
		n.stop()
		n = start(t, mt)
		n.wantState(dead)
		if got := n.fetch("hits", 17); got != -1 {
			t.Errorf("offset %d, want -1", got)
		}
	})
}

func TestGroupThatCanNotBeDeletedStays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		n.commit("", -1, "hits", 0, 5)
		n.part.Set(func() { n.part.AppendErr = led.ErrNotWritten })
		if code := n.deleteGroup(testGroup); code != codeCoordinatorNotAvailable {
			t.Errorf("code %d, want COORDINATOR_NOT_AVAILABLE", code)
		}
		n.part.Set(func() { n.part.AppendErr = nil })
		n.wantState(empty)
		if got := n.fetch("hits", 0); got != 5 {
			t.Errorf("offset %d, want 5", got)
		}
	})
}

func TestDeleteAlsoTakesACommitUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt)
		gate := make(chan struct{})
		n.part.Set(func() { n.part.AppendGo = gate })
		commit := later(func() int16 { return n.commit("", -1, "hits", 0, 5) })
		synctest.Wait()
		del := later(func() int16 { return n.deleteGroup(testGroup) })
		synctest.Wait()
		// While its tombstone is on the way, nobody can use the group.
		if code := n.commit("", -1, "hits", 0, 6); code != codeCoordinatorNotAvailable {
			t.Errorf("OffsetCommit: code %d, want COORDINATOR_NOT_AVAILABLE", code)
		}
		if got := n.JoinGroup(t.Context(), caller, joinReq("")); got.ErrorCode != codeCoordinatorNotAvailable {
			t.Errorf("JoinGroup: code %d, want COORDINATOR_NOT_AVAILABLE", got.ErrorCode)
		}
		close(gate)
		if a, b := <-commit, <-del; a != codeNone || b != codeNone {
			t.Errorf("codes %d and %d, want none", a, b)
		}
		n.stop()
		n = start(t, mt)
		n.wantState(dead)
	})
}

func offsetDelete(n *node, topic string, partitions ...int32) *kmsg.OffsetDeleteResponse {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = testGroup
	req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: topic}}
	for _, p := range partitions {
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p})
	}
	return n.OffsetDelete(n.t.Context(), req)
}

func TestOffsetDeleteSparesWhatMembersRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt, func(c *Config) { c.Topics = memTopics{"hits": 1, "other": 2} })
		if got := offsetDelete(n, "hits", 0); got.ErrorCode != codeGroupIDNotFound {
			t.Errorf("no group: code %d, want GROUP_ID_NOT_FOUND", got.ErrorCode)
		}
		ids, gen := n.stable(joinReq("")) // reads "hits"
		for _, topic := range []string{"hits", "other"} {
			n.commit(ids[0], gen, topic, 0, 5)
		}
		for _, tc := range []struct {
			topic     string
			partition int32
			want      int16
		}{
			{"hits", 0, codeGroupSubscribedToTopic},
			{"other", 0, codeNone},
			{"other", 1, codeNone}, // nothing there to delete
			{"other", 2, codeUnknownTopicOrPartition},
			{"nothing", 0, codeUnknownTopicOrPartition},
		} {
			got := offsetDelete(n, tc.topic, tc.partition)
			if code := got.Topics[0].Partitions[0].ErrorCode; got.ErrorCode != codeNone || code != tc.want {
				t.Errorf("%s/%d: code %d, want %d", tc.topic, tc.partition, code, tc.want)
			}
		}
		n.stop()
		n = start(t, mt)
		if a, b := n.fetch("hits", 0), n.fetch("other", 0); a != 5 || b != -1 {
			t.Errorf("offsets %d and %d, want 5 and -1", a, b)
		}
	})
}

func TestOffsetDeleteRefusesLivingGroupsOfOtherTypes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		req := joinReq(n.newID())
		req.ProtocolType = "connect"
		<-n.joinLater(req)
		if got := offsetDelete(n, "hits", 0); got.ErrorCode != codeNonEmptyGroup {
			t.Errorf("code %d, want NON_EMPTY_GROUP", got.ErrorCode)
		}
	})
}

func TestDeletedTopicLosesItsOffsets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(2)
		n := start(t, mt)
		for _, topic := range []string{"hits", "other"} {
			n.commit("", -1, topic, 0, 5)
		}
		if err := n.TopicDeleted(t.Context(), "hits"); err != nil {
			t.Fatal(err)
		}
		if a, b := n.fetch("hits", 0), n.fetch("other", 0); a != -1 || b != 5 {
			t.Errorf("offsets %d and %d, want -1 and 5", a, b)
		}
		mt.parts[PartitionOf(testGroup, 2)].Set(func() { mt.parts[PartitionOf(testGroup, 2)].AppendErr = led.ErrNotWritten })
		if err := n.TopicDeleted(t.Context(), "other"); !errors.Is(err, led.ErrNotWritten) {
			t.Errorf("TopicDeleted: %v, want that it was not written", err)
		}
		if got := n.fetch("other", 0); got != 5 {
			t.Errorf("offset %d, want 5", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = n.TopicDeleted(ctx, "nothing")
	})
}
