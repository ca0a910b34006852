package group

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
)

func TestConsumerOutsideTheGroupProtocolCommits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		if got := n.fetch("hits", 0); got != -1 {
			t.Fatalf("offset before any commit: %d, want -1", got)
		}
		for version := int16(0); version <= 9; version++ {
			req := commitReq("", -1, "hits", 0, 100+int64(version))
			req.Version = version
			if code := n.send(req); code != codeNone {
				t.Fatalf("OffsetCommit v%d: code %d", version, code)
			}
			if got := n.fetch("hits", 0); got != 100+int64(version) {
				t.Errorf("after v%d: offset %d, want %d", version, got, 100+version)
			}
		}
		n.wantState(empty)
	})
}

func TestWhoMayCommit(t *testing.T) {
	instance := "x"
	for _, tc := range []struct {
		name   string
		change func(r *kmsg.OffsetCommitRequest)
		want   int16
	}{
		{"member", func(r *kmsg.OffsetCommitRequest) {}, codeNone},
		{"old generation", func(r *kmsg.OffsetCommitRequest) { r.Generation-- }, codeIllegalGeneration},
		{"future generation", func(r *kmsg.OffsetCommitRequest) { r.Generation++ }, codeIllegalGeneration},
		{"member without generation", func(r *kmsg.OffsetCommitRequest) { r.Generation = -1 }, codeIllegalGeneration},
		{"unknown member", func(r *kmsg.OffsetCommitRequest) { r.MemberID = "stranger" }, codeUnknownMemberID},
		{"unknown instance", func(r *kmsg.OffsetCommitRequest) { r.InstanceID = &instance }, codeUnknownMemberID},
		{"outsider while there are members", func(r *kmsg.OffsetCommitRequest) { r.MemberID, r.Generation = "", -1 }, codeUnknownMemberID},
		{"generation of a group that is not there", func(r *kmsg.OffsetCommitRequest) { r.Group = "other" }, codeGroupIDNotFound},
		{"the same, older version", func(r *kmsg.OffsetCommitRequest) { r.Group, r.Version = "other", 8 }, codeIllegalGeneration},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := start(t, newMemTopic(1))
				ids, gen := n.stable(joinReq(""))
				req := commitReq(ids[0], gen, "hits", 0, 42)
				tc.change(req)
				if code := n.send(req); code != tc.want {
					t.Errorf("code %d, want %d", code, tc.want)
				}
				want := int64(-1)
				if tc.want == codeNone {
					want = 42
				}
				if got := n.fetch("hits", 0); got != want {
					t.Errorf("offset %d, want %d", got, want)
				}
			})
		})
	}
}

func TestCommitIsAnsweredAndVisibleOnlyWhenStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		n.commit("", -1, "hits", 0, 1)
		gate := make(chan struct{})
		n.part.Set(func() { n.part.AppendGo = gate })
		ch := later(func() int16 { return n.commit("", -1, "hits", 0, 2) })
		if arrived(ch) {
			t.Fatal("answered before it was stored")
		}
		if got := n.fetch("hits", 0); got != 1 {
			t.Errorf("offset while the write is under way: %d, want 1", got)
		}
		close(gate)
		if code := <-ch; code != codeNone {
			t.Errorf("code %d", code)
		}
		if got := n.fetch("hits", 0); got != 2 {
			t.Errorf("offset %d, want 2", got)
		}
	})
}

func TestRefusedWriteIsAnsweredAsNotCommitted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		n.commit("", -1, "hits", 0, 1)
		for err, want := range map[error]int16{
			led.ErrNotWritten:                 codeCoordinatorNotAvailable,
			fmt.Errorf("%w", led.ErrTooLarge): codeInvalidCommitOffsetSize,
		} {
			n.part.Set(func() { n.part.AppendErr = err })
			if code := n.commit("", -1, "hits", 0, 2); code != want {
				t.Errorf("after %q: code %d, want %d", err, code, want)
			}
			if got := n.fetch("hits", 0); got != 1 {
				t.Errorf("after %q: offset %d, want 1", err, got)
			}
		}
		n.part.Set(func() { n.part.AppendErr = nil })
		if code := n.commit("", -1, "hits", 0, 3); code != codeNone {
			t.Errorf("next commit: code %d, want none", code)
		}
	})
}

func TestCommitsOfOneMomentShareABatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		gate := make(chan struct{})
		n.part.Set(func() { n.part.AppendGo = gate })
		var chs []<-chan int16
		for i := range 100 {
			chs = append(chs, later(func() int16 { return n.commit("", -1, "hits", int32(i), int64(i)) }))
		}
		synctest.Wait()
		close(gate)
		for _, ch := range chs {
			if code := <-ch; code != codeNone {
				t.Fatalf("code %d", code)
			}
		}
		if n.part.Appends > 2 {
			t.Errorf("%d batches, want 2: the one under way and the rest", n.part.Appends)
		}
		for i := range 100 {
			if got := n.fetch("hits", int32(i)); got != int64(i) {
				t.Errorf("partition %d: offset %d", i, got)
			}
		}
	})
}

func TestFullQueueRefusesCommits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1), func(c *Config) { c.QueueBytes = 300 })
		gate := make(chan struct{})
		n.part.Set(func() { n.part.AppendGo = gate })
		var chs []<-chan int16
		for i := range 20 {
			chs = append(chs, later(func() int16 { return n.commit("", -1, "hits", int32(i), int64(i)) }))
			synctest.Wait()
		}
		close(gate)
		stored, refused := 0, 0
		for _, ch := range chs {
			switch <-ch {
			case codeNone:
				stored++
			case codeCoordinatorNotAvailable:
				refused++
			}
		}
		if stored == 0 || refused == 0 || stored+refused != 20 {
			t.Errorf("%d stored, %d refused, want some of both and 20 in all", stored, refused)
		}
	})
}

func TestCommitChecksEachPartition(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1), func(c *Config) { c.Topics = memTopics{"hits": 2} })
		long := strings.Repeat("x", 4097)
		req := commitReq("", -1, "hits", 1, 5)
		req.Topics[0].Partitions = append(req.Topics[0].Partitions,
			kmsg.OffsetCommitRequestTopicPartition{Partition: 2},
			kmsg.OffsetCommitRequestTopicPartition{Partition: -1},
			kmsg.OffsetCommitRequestTopicPartition{Partition: 0, Metadata: &long})
		req.Topics = append(req.Topics, kmsg.OffsetCommitRequestTopic{Topic: "nothing", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{}}})
		resp := n.OffsetCommit(t.Context(), req)
		var got []int16
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				got = append(got, p.ErrorCode)
			}
		}
		want := []int16{codeNone, codeUnknownTopicOrPartition, codeUnknownTopicOrPartition, codeOffsetMetadataTooLarge, codeUnknownTopicOrPartition}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("codes %v, want %v", got, want)
		}
		if got := n.fetch("hits", 1); got != 5 {
			t.Errorf("offset %d, want 5", got)
		}
	})
}

func TestCommitAndFetchByTopicID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1), func(c *Config) { c.Topics = memTopics{"hits": 2} })
		req := commitReq("", -1, "", 1, 5)
		req.Version = 10
		req.Topics[0].TopicID = topicID("hits")
		req.Topics = append(req.Topics, kmsg.OffsetCommitRequestTopic{TopicID: topicID("gone"), Partitions: []kmsg.OffsetCommitRequestTopicPartition{{}}})
		resp := n.OffsetCommit(t.Context(), req)
		if resp.Topics[0].Partitions[0].ErrorCode != codeNone || resp.Topics[1].Partitions[0].ErrorCode != codeUnknownTopicID || resp.Topics[1].TopicID != topicID("gone") {
			t.Fatalf("OffsetCommit: %+v", resp.Topics)
		}
		fetch := kmsg.NewPtrOffsetFetchRequest()
		fetch.Version = 10
		fetch.Groups = []kmsg.OffsetFetchRequestGroup{
			{Group: testGroup}, // all topics
			{Group: testGroup, Topics: []kmsg.OffsetFetchRequestGroupTopic{
				{TopicID: topicID("hits"), Partitions: []int32{1}}, {TopicID: topicID("gone"), Partitions: []int32{0}},
			}},
		}
		got := n.OffsetFetch(t.Context(), fetch)
		all, some := got.Groups[0].Topics, got.Groups[1].Topics
		if len(all) != 1 || all[0].TopicID != topicID("hits") || all[0].Partitions[0].Offset != 5 {
			t.Errorf("all topics: %+v, want hits at 5", all)
		}
		if some[0].Partitions[0].Offset != 5 || some[1].Partitions[0].ErrorCode != codeUnknownTopicID || some[1].Partitions[0].Offset != -1 {
			t.Errorf("by id: %+v, want 5 and UNKNOWN_TOPIC_ID", some)
		}
	})
}

func TestFetchOfSeveralGroupsAndAllTopics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		meta := "note"
		for i, topic := range []string{"b", "a"} {
			req := commitReq("", -1, topic, int32(i), int64(10+i))
			req.Topics[0].Partitions[0].Metadata = &meta
			n.send(req)
		}
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Version = 9
		req.Groups = []kmsg.OffsetFetchRequestGroup{
			{Group: testGroup},
			{Group: "nobody"},
			{Group: "nobody", Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: "a", Partitions: []int32{1}}}},
			{Group: testGroup, Topics: []kmsg.OffsetFetchRequestGroupTopic{}},
		}
		got := n.OffsetFetch(t.Context(), req).Groups
		if len(got) != 4 || len(got[0].Topics) != 2 || got[0].Topics[0].Topic != "a" || got[0].Topics[1].Topic != "b" {
			t.Fatalf("OffsetFetch: %+v, want a and b", got)
		}
		if p := got[0].Topics[0].Partitions[0]; p.Partition != 1 || p.Offset != 11 || *p.Metadata != "note" || p.LeaderEpoch != 3 {
			t.Errorf("a: %+v, want partition 1 at 11, epoch 3", p)
		}
		if len(got[1].Topics) != 0 || got[1].ErrorCode != codeNone {
			t.Errorf("group that is not there: %+v, want nothing and no error", got[1])
		}
		if p := got[2].Topics[0].Partitions[0]; p.Offset != -1 || p.ErrorCode != codeNone || p.LeaderEpoch != -1 {
			t.Errorf("group that is not there: %+v, want -1 and no error", p)
		}
		if len(got[3].Topics) != 0 {
			t.Errorf("no topics asked: %+v, want none", got[3])
		}
	})
}

func TestFetchErrorsSitWhereTheVersionHasThem(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		n.part.Set(func() { n.part.Lead = 2 })
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Version, req.Group = 1, testGroup
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "hits", Partitions: []int32{0}}}
		req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: testGroup}}
		if got := n.OffsetFetch(t.Context(), req); got.Topics[0].Partitions[0].ErrorCode != codeNotCoordinator {
			t.Errorf("v1: %+v, want the code with the partition", got)
		}
		req.Version = 2
		if got := n.OffsetFetch(t.Context(), req); got.ErrorCode != codeNotCoordinator {
			t.Errorf("v2: %+v, want the code at the top", got)
		}
		req.Version = 8
		if got := n.OffsetFetch(t.Context(), req); got.Groups[0].ErrorCode != codeNotCoordinator {
			t.Errorf("v8: %+v, want the code with the group", got)
		}
	})
}

func TestOffsetsOutliveARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt)
		for i := range 300 {
			n.commit("", -1, "hits", int32(i%3), int64(i))
		}
		n.stop()
		n = start(t, mt)
		for p := range 3 {
			if got := n.fetch("hits", int32(p)); got != int64(297+p) {
				t.Errorf("partition %d: offset %d, want %d", p, got, 297+p)
			}
		}
	})
}

func TestRetentionOfAGroupThatKeepsOnlyOffsets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1), func(c *Config) { c.OffsetsRetention = 7 * time.Hour })
		n.commit("", -1, "hits", 0, 1)
		time.Sleep(6 * time.Hour)
		n.commit("", -1, "hits", 1, 1)
		time.Sleep(71 * time.Minute)
		if a, b := n.fetch("hits", 0), n.fetch("hits", 1); a != -1 || b != 1 {
			t.Errorf("after 7 hours and a bit: offsets %d and %d, want -1 and 1", a, b)
		}
		time.Sleep(7 * time.Hour)
		n.wantState(dead)
	})
}

func TestRetentionRunsFromTheEndOfTheLastMember(t *testing.T) {
	bubble(t, func(t *testing.T) {
		short := func(c *Config) { c.OffsetsRetention = 7 * time.Hour }
		mt := newMemTopic(1)
		n := start(t, mt, short)
		ids, gen := n.stable(joinReq(""))
		n.commit(ids[0], gen, "hits", 0, 1)
		for range 10 * 60 * 10 { // ten hours with a member
			time.Sleep(6 * time.Second)
			if code := n.beat(ids[0], gen); code != codeNone {
				t.Fatalf("Heartbeat: code %d", code)
			}
		}
		n.leave(ids[0])
		time.Sleep(6 * time.Hour)
		n.stop()
		n = start(t, mt, short) // the time runs on through a restart
		if got := n.fetch("hits", 0); got != 1 {
			t.Fatalf("after 6 hours without members: offset %d, want 1", got)
		}
		time.Sleep(71 * time.Minute)
		if got := n.fetch("hits", 0); got != -1 {
			t.Errorf("after 7 hours without members: offset %d, want -1", got)
		}
		n.wantState(dead)
		n.stop()
		n = start(t, mt, short)
		n.wantState(dead)
	})
}

func TestOffsetsOfATopicNoLongerReadExpireInALivingGroup(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1), func(c *Config) { c.OffsetsRetention = time.Hour })
		ids, gen := n.stable(joinReq("")) // reads "hits"
		n.commit(ids[0], gen, "hits", 0, 1)
		n.commit(ids[0], gen, "old", 0, 1)
		for range 15 * 60 {
			time.Sleep(5 * time.Second)
			n.beat(ids[0], gen)
		}
		if a, b := n.fetch("hits", 0), n.fetch("old", 0); a != 1 || b != -1 {
			t.Errorf("offsets %d and %d, want 1 for what is read and -1 for what is not", a, b)
		}
	})
}

func TestClientsOwnRetentionCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt)
		req := commitReq("", -1, "hits", 0, 5)
		req.Version, req.RetentionTimeMillis = 2, time.Hour.Milliseconds()
		n.send(req)
		n.stop()
		n = start(t, mt)
		if got := n.fetch("hits", 0); got != 5 {
			t.Fatalf("offset %d, want 5", got)
		}
		time.Sleep(71 * time.Minute)
		if got := n.fetch("hits", 0); got != -1 {
			t.Errorf("offset after its own retention: %d, want -1", got)
		}
	})
}
