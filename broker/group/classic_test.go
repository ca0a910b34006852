package group

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestMembersJoinSyncAndShareOneGeneration(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		const members = 25
		var joins []<-chan *kmsg.JoinGroupResponse
		for range members {
			joins = append(joins, n.joinLater(joinReq(n.newID())))
		}
		began := time.Now()
		leaders := 0
		ids := map[string]bool{}
		assignments := map[string]string{}
		var order []string
		var leader string
		for _, ch := range joins {
			resp := <-ch
			if resp.ErrorCode != codeNone || resp.Generation != 1 || *resp.Protocol != "range" || *resp.ProtocolType != "consumer" {
				t.Fatalf("JoinGroup: %+v, want generation 1 of range", resp)
			}
			ids[resp.MemberID], assignments[resp.MemberID], leader = true, "for "+resp.MemberID, resp.LeaderID
			order = append(order, resp.MemberID)
			if resp.LeaderID == resp.MemberID {
				leaders++
				if len(resp.Members) != members {
					t.Errorf("leader got %d members, want %d", len(resp.Members), members)
				}
			} else if len(resp.Members) != 0 {
				t.Errorf("a follower got %d members, want 0", len(resp.Members))
			}
		}
		if leaders != 1 || len(ids) != members {
			t.Fatalf("%d leaders and %d different ids, want 1 and %d", leaders, len(ids), members)
		}
		if took := time.Since(began); took != 3*time.Second && took != 6*time.Second {
			t.Errorf("first generation took %v, want one or two initial delays", took)
		}
		n.syncAll(order, 1, leader, assignments)
		n.wantState(stable)
		for id := range ids {
			if code := n.beat(id, 1); code != codeNone {
				t.Errorf("Heartbeat of %s: code %d", id, code)
			}
		}
	})
}

func TestOldClientJoinsAtOnceWithoutHandshake(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		req := joinReq("")
		req.Version, req.RebalanceTimeoutMillis = 0, -1
		resp := <-n.joinLater(req)
		if resp.ErrorCode != codeNone || resp.MemberID != "test-id1" || resp.LeaderID != resp.MemberID {
			t.Fatalf("JoinGroup v0: %+v, want to be the leader as test-id1", resp)
		}
		// Without a rebalance timeout of its own the session timeout counts: a second member waits 10 s for the first.
		second := joinReq("")
		second.Version = 0
		ch := n.joinLater(second)
		began := time.Now()
		for !arrived(ch) {
			time.Sleep(time.Second)
			n.beat(resp.MemberID, 1)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("rebalance ended after %v, want 10s", took)
		}
		if got := <-ch; got.ErrorCode != codeNone || got.LeaderID != got.MemberID || len(got.Members) != 1 {
			t.Errorf("second member: %+v, want to lead alone", got)
		}
	})
}

func TestNewMemberMakesOthersJoinAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(joinReq(""))
		second := n.joinLater(joinReq(n.newID()))
		synctest.Wait()
		if code := n.beat(ids[0], gen); code != codeRebalanceInProgress {
			t.Fatalf("Heartbeat: code %d, want REBALANCE_IN_PROGRESS", code)
		}
		if code := (<-n.syncLater(ids[0], gen, nil)).ErrorCode; code != codeRebalanceInProgress {
			t.Errorf("SyncGroup: code %d, want REBALANCE_IN_PROGRESS", code)
		}
		if code := n.commit(ids[0], gen, "hits", 0, 7); code != codeNone {
			t.Errorf("OffsetCommit while others join: code %d, want none: members commit what they give up", code)
		}
		first := <-n.joinLater(joinReq(ids[0]))
		got := <-second
		if first.Generation != gen+1 || got.Generation != gen+1 || got.LeaderID != ids[0] || len(first.Members) != 2 {
			t.Errorf("got generations %d and %d, leader %s, %d members; want %d, the old leader, 2", first.Generation, got.Generation, got.LeaderID, len(first.Members), gen+1)
		}
		if code := n.beat(ids[0], gen); code != codeIllegalGeneration {
			t.Errorf("Heartbeat with the old generation: code %d, want ILLEGAL_GENERATION", code)
		}
		if code := n.commit(ids[0], gen+1, "hits", 0, 8); code != codeRebalanceInProgress {
			t.Errorf("OffsetCommit before SyncGroup: code %d, want REBALANCE_IN_PROGRESS", code)
		}
	})
}

func TestMemberThatDoesNotJoinAgainIsOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(joinReq(""))
		second := n.joinLater(joinReq(n.newID()))
		began := time.Now()
		for !arrived(second) {
			time.Sleep(time.Second)
			n.beat(ids[0], gen) // alive, but it does not join
		}
		if took := time.Since(began); took != 60*time.Second {
			t.Errorf("rebalance ended after %v, want the rebalance timeout of 60s", took)
		}
		if got := <-second; got.LeaderID != got.MemberID {
			t.Errorf("leader is %s, want the only member left", got.LeaderID)
		}
		if code := n.beat(ids[0], gen); code != codeUnknownMemberID {
			t.Errorf("Heartbeat of the member that is out: code %d, want UNKNOWN_MEMBER_ID", code)
		}
	})
}

func TestDeadMemberLeavesItsPartitionsToOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(joinReq(""), joinReq(""))
		began := time.Now()
		for n.beat(ids[1], gen) == codeNone { // ids[0], the leader, is silent
			time.Sleep(500 * time.Millisecond)
		}
		if took := time.Since(began); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("death was noticed after %v, want the session of 10s", took)
		}
		got := <-n.joinLater(joinReq(ids[1]))
		if got.LeaderID != ids[1] || len(got.Members) != 1 || got.Generation != gen+1 {
			t.Errorf("after the death: %+v, want to lead alone in generation %d", got, gen+1)
		}
	})
}

func TestHeartbeatsAndCommitsKeepASession(t *testing.T) {
	for name, sign := range map[string]func(n *node, id string, gen int32) int16{
		"heartbeat": func(n *node, id string, gen int32) int16 { return n.beat(id, gen) },
		"commit":    func(n *node, id string, gen int32) int16 { return n.commit(id, gen, "hits", 0, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := start(t, newMemTopic(1))
				ids, gen := n.stable(joinReq(""))
				for range 10 {
					time.Sleep(9 * time.Second)
					if code := sign(n, ids[0], gen); code != codeNone {
						t.Fatalf("code %d, want none", code)
					}
				}
			})
		})
	}
}

func TestLeavingStartsARebalanceAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(joinReq(""), joinReq(""))
		resp := n.leave(ids[0], "stranger")
		if resp.ErrorCode != codeNone || resp.Members[0].ErrorCode != codeNone || resp.Members[1].ErrorCode != codeUnknownMemberID {
			t.Fatalf("LeaveGroup: %+v, want one gone and one unknown", resp)
		}
		if code := n.beat(ids[1], gen); code != codeRebalanceInProgress {
			t.Errorf("Heartbeat: code %d, want REBALANCE_IN_PROGRESS", code)
		}
		old := kmsg.NewPtrLeaveGroupRequest()
		old.Group, old.MemberID = testGroup, ids[1]
		if code := n.LeaveGroup(t.Context(), old).ErrorCode; code != codeNone {
			t.Errorf("LeaveGroup v0: code %d", code)
		}
		n.wantState(empty)
		if code := n.LeaveGroup(t.Context(), old).ErrorCode; code != codeUnknownMemberID {
			t.Errorf("LeaveGroup v0 again: code %d, want UNKNOWN_MEMBER_ID", code)
		}
	})
}

func TestLeavingAGroupThatIsNotThereIsAnsweredPerMember(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		got := n.leave("a", "b")
		if got.ErrorCode != codeNone || len(got.Members) != 2 || got.Members[0].MemberID != "a" || got.Members[1].ErrorCode != codeUnknownMemberID {
			t.Errorf("LeaveGroup 5: %+v, want no error and UNKNOWN_MEMBER_ID for both", got)
		}
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Version, req.Group, req.MemberID = 2, testGroup, "a"
		if got := n.LeaveGroup(t.Context(), req); got.ErrorCode != codeUnknownMemberID || len(got.Members) != 0 {
			t.Errorf("LeaveGroup 2: %+v, want UNKNOWN_MEMBER_ID", got)
		}
	})
}

func TestFollowerThatJoinsAgainUnchangedGetsTheSameGeneration(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(joinReq(""), joinReq(""))
		if got := <-n.joinLater(joinReq(ids[1])); got.Generation != gen || got.ErrorCode != codeNone {
			t.Errorf("follower: %+v, want generation %d", got, gen)
		}
		if got := <-n.syncLater(ids[1], gen, nil); string(got.MemberAssignment) != "for "+ids[1] {
			t.Errorf("follower's assignment: %q", got.MemberAssignment)
		}
		n.wantState(stable)
		// With other metadata, or by the leader, it is the wish for a rebalance.
		changed := joinReq(ids[1])
		changed.Protocols[0].Metadata = subscription("hits", "more")
		ch := n.joinLater(changed)
		if arrived(ch) {
			t.Fatal("changed follower was answered before the leader joined")
		}
		n.wantState(preparing)
		if got := <-n.joinLater(joinReq(ids[0])); got.Generation != gen+1 {
			t.Errorf("leader: generation %d, want %d", got.Generation, gen+1)
		}
		<-ch
	})
}

func TestLeaderThatJoinsAgainStartsARebalance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(joinReq(""))
		if got := <-n.joinLater(joinReq(ids[0])); got.Generation != gen+1 || len(got.Members) != 1 {
			t.Errorf("leader: %+v, want generation %d with members", got, gen+1)
		}
	})
}

func TestMemberThatNeverSyncsIsOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		a, b := n.newID(), n.newID()
		ja, jb := n.joinLater(joinReq(a)), n.joinLater(joinReq(b))
		leader, follower := (<-ja).LeaderID, b
		<-jb
		if leader == b {
			follower = a
		}
		ch := n.syncLater(follower, 1, nil)
		for !arrived(ch) {
			time.Sleep(5 * time.Second)
			n.beat(leader, 1) // alive, but it does not assign
		}
		if got := <-ch; got.ErrorCode != codeRebalanceInProgress {
			t.Errorf("SyncGroup of the follower: code %d, want REBALANCE_IN_PROGRESS", got.ErrorCode)
		}
		if code := n.beat(leader, 1); code != codeUnknownMemberID {
			t.Errorf("Heartbeat of the leader: code %d, want UNKNOWN_MEMBER_ID", code)
		}
	})
}

func TestWhoMayJoin(t *testing.T) {
	type request = kmsg.JoinGroupRequest
	for _, tc := range []struct {
		name   string
		change func(*request)
		want   int16
	}{
		{"no group id", func(r *request) { r.Group = "" }, codeInvalidGroupID},
		{"session too short", func(r *request) { r.SessionTimeoutMillis = 5999 }, codeInvalidSessionTimeout},
		{"session too long", func(r *request) { r.SessionTimeoutMillis = 1_800_001 }, codeInvalidSessionTimeout},
		{"empty instance id", func(r *request) { r.InstanceID = new(string) }, codeInvalidRequest},
		{"unknown member of a group", func(r *request) { r.MemberID = "stranger" }, codeUnknownMemberID},
		{"unknown member of no group", func(r *request) { r.Group, r.MemberID = "other", "stranger" }, codeUnknownMemberID},
		{"other protocol type", func(r *request) { r.ProtocolType = "connect" }, codeInconsistentGroupProtocol},
		{"no protocol type", func(r *request) { r.ProtocolType = "" }, codeInconsistentGroupProtocol},
		{"no protocol", func(r *request) { r.Protocols = nil }, codeInconsistentGroupProtocol},
		{"no common protocol", func(r *request) { r.Protocols[0].Name = "sticky" }, codeInconsistentGroupProtocol},
		{"unknown static member", func(r *request) { static(r, "one").MemberID = "stranger" }, codeUnknownMemberID},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := start(t, newMemTopic(1))
				n.stable(joinReq(""))
				req := joinReq("")
				tc.change(req)
				if got := n.JoinGroup(t.Context(), caller, req); got.ErrorCode != tc.want || got.Generation != -1 {
					t.Errorf("code %d, generation %d, want code %d and -1", got.ErrorCode, got.Generation, tc.want)
				}
			})
		})
	}
}

func TestFullGroupRefusesNewMembers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1), func(c *Config) { c.MaxGroupSize = 2 })
		ids, gen := n.stable(joinReq(""), joinReq(""))
		req := joinReq("")
		req.Version = 3
		if got := n.JoinGroup(t.Context(), caller, req); got.ErrorCode != codeGroupMaxSizeReached {
			t.Errorf("third member: code %d, want GROUP_MAX_SIZE_REACHED", got.ErrorCode)
		}
		if code := n.beat(ids[0], gen); code != codeNone {
			t.Errorf("Heartbeat: code %d, want none: a refused member does not disturb", code)
		}
	})
}

func TestProtocolIsTheOneMostMembersPrefer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		a := n.joinLater(joinReq(n.newID(), "range", "sticky", "only-a"))
		b := n.joinLater(joinReq(n.newID(), "sticky", "range"))
		c := n.joinLater(joinReq(n.newID(), "only-c", "sticky", "range"))
		for _, ch := range []<-chan *kmsg.JoinGroupResponse{a, b, c} {
			if got := <-ch; *got.Protocol != "sticky" {
				t.Errorf("protocol is %s, want sticky", *got.Protocol)
			}
		}
	})
}

func TestSyncChecksItsCaller(t *testing.T) {
	type request = kmsg.SyncGroupRequest
	for _, tc := range []struct {
		name   string
		change func(*request)
		want   int16
	}{
		{"good", func(r *request) {}, codeNone},
		{"no group id", func(r *request) { r.Group = "" }, codeInvalidGroupID},
		{"unknown group", func(r *request) { r.Group = "other" }, codeUnknownMemberID},
		{"unknown member", func(r *request) { r.MemberID = "stranger" }, codeUnknownMemberID},
		{"unknown instance", func(r *request) { r.InstanceID = kmsg.StringPtr("x") }, codeUnknownMemberID},
		{"old generation", func(r *request) { r.Generation-- }, codeIllegalGeneration},
		{"other protocol", func(r *request) { r.Protocol = kmsg.StringPtr("sticky") }, codeInconsistentGroupProtocol},
		{"other type", func(r *request) { r.ProtocolType = kmsg.StringPtr("connect") }, codeInconsistentGroupProtocol},
		{"protocol not said", func(r *request) { r.ProtocolType, r.Protocol = nil, nil }, codeNone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := start(t, newMemTopic(1))
				ids, gen := n.stable(joinReq(""))
				req := kmsg.NewPtrSyncGroupRequest()
				req.Version, req.Group, req.MemberID, req.Generation = 5, testGroup, ids[0], gen
				req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
				tc.change(req)
				if got := n.SyncGroup(t.Context(), req); got.ErrorCode != tc.want {
					t.Errorf("code %d, want %d", got.ErrorCode, tc.want)
				}
			})
		})
	}
}

func TestPendingIDHoldsTheRebalanceAndLapses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, _ := n.stable(joinReq(""))
		n.newID() // never used
		ch := n.joinLater(joinReq(ids[0]))
		if arrived(ch) {
			t.Fatal("rebalance ended while an id was given out and not used")
		}
		began := time.Now()
		<-ch
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("id lapsed after %v, want its session of 10s", took)
		}
	})
}

func TestUnusedIDDoesNotDisturbAStableGroup(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(joinReq(""))
		n.newID() // lapses
		if got := n.leave(n.newID()); got.Members[0].ErrorCode != codeNone {
			t.Errorf("LeaveGroup of an unused id: code %d", got.Members[0].ErrorCode)
		}
		for range 10 {
			time.Sleep(5 * time.Second)
			if code := n.beat(ids[0], gen); code != codeNone {
				t.Fatalf("Heartbeat: code %d, want none", code)
			}
		}
	})
}

func TestUnusedGroupIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		n.newID()
		n.wantState(empty)
		time.Sleep(11 * time.Second)
		n.wantState(dead)
		if got := n.part.HighWatermark(); got != 0 {
			t.Errorf("log holds %d records, want 0", got)
		}
	})
}

func TestClientThatHangsUpIsNoLongerWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ctx, hangUp := context.WithCancel(t.Context())
		req := joinReq("")
		req.Version = 3 // joins without handshake: nobody will know the id
		ch := later(func() *kmsg.JoinGroupResponse { return n.JoinGroup(ctx, caller, req) })
		synctest.Wait()
		if got := len(n.describe().Members); got != 1 {
			t.Fatalf("%d members, want 1", got)
		}
		hangUp()
		<-ch
		if got := len(n.describe().Members); got != 0 {
			t.Errorf("%d members after the client has gone, want 0", got)
		}
	})
}

func TestMemberWithAnIDMayComeBackOnAnotherConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(joinReq(""), joinReq(""))
		ctx, hangUp := context.WithCancel(t.Context())
		broken := later(func() *kmsg.JoinGroupResponse { return n.JoinGroup(ctx, caller, joinReq(ids[0])) })
		synctest.Wait()
		hangUp()
		<-broken
		again := n.joinLater(joinReq(ids[0]))
		if arrived(again) {
			t.Fatal("rebalance ended without the second member")
		}
		if got := <-n.joinLater(joinReq(ids[1])); got.Generation != gen+1 {
			t.Errorf("generation %d, want %d", got.Generation, gen+1)
		}
		if got := <-again; got.Generation != gen+1 || got.MemberID != ids[0] {
			t.Errorf("member that came back: %+v, want generation %d", got, gen+1)
		}
	})
}

func TestSecondJoinOnAnotherConnectionReplacesTheFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, _ := n.stable(joinReq(""), joinReq(""))
		first := n.joinLater(joinReq(ids[0]))
		synctest.Wait()
		second := n.joinLater(joinReq(ids[0]))
		if got := <-first; got.ErrorCode != codeRebalanceInProgress {
			t.Errorf("first JoinGroup: code %d, want REBALANCE_IN_PROGRESS", got.ErrorCode)
		}
		if arrived(second) {
			t.Error("second JoinGroup was answered too early")
		}
	})
}
