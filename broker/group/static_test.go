package group

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
)

func TestRestartedStaticMemberKeepsItsAssignmentWithoutRebalance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(static(joinReq(""), "a"), static(joinReq(""), "b"))
		// b restarts: it comes without a member id, with the same instance id.
		got := <-n.joinLater(static(joinReq(""), "b"))
		if got.ErrorCode != codeNone || got.Generation != gen || got.MemberID == ids[1] || got.LeaderID != ids[0] || got.SkipAssignment {
			t.Fatalf("JoinGroup: %+v, want the same generation and leader, another id", got)
		}
		if s := <-n.syncLater(got.MemberID, gen, nil); string(s.MemberAssignment) != "for "+ids[1] {
			t.Errorf("assignment %q, want that of its former self", s.MemberAssignment)
		}
		if code := n.beat(ids[0], gen); code != codeNone {
			t.Errorf("Heartbeat of the other member: code %d, want none", code)
		}
		n.wantState(stable)
	})
}

func TestRestartedStaticLeaderIsToldNotToAssign(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(static(joinReq(""), "a"), static(joinReq(""), "b"))
		got := <-n.joinLater(static(joinReq(""), "a"))
		if !got.SkipAssignment || got.LeaderID != got.MemberID || len(got.Members) != 2 || got.Generation != gen {
			t.Errorf("JoinGroup v9: %+v, want to be the leader with SkipAssignment", got)
		}
		// An old client can't be told so: it must not take itself for the leader.
		old := static(joinReq(""), "a")
		old.Version = 5
		got2 := <-n.joinLater(old)
		if got2.SkipAssignment || got2.LeaderID == got2.MemberID || got2.LeaderID != got.MemberID || len(got2.Members) != 0 {
			t.Errorf("JoinGroup v5: %+v, want the id of the former leader %s", got2, got.MemberID)
		}
		_ = ids
	})
}

func TestFormerSelfOfAStaticMemberIsFenced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(static(joinReq(""), "a"), static(joinReq(""), "b"))
		parked := static(joinReq(ids[0]), "a")
		ch := n.joinLater(parked) // the leader asks for a rebalance and waits for b
		synctest.Wait()
		second := n.joinLater(static(joinReq(""), "a"))
		if got := <-ch; got.ErrorCode != codeFencedInstanceID {
			t.Errorf("parked JoinGroup of the former self: code %d, want FENCED_INSTANCE_ID", got.ErrorCode)
		}
		<-n.joinLater(static(joinReq(ids[1]), "b"))
		now := <-second
		if now.Generation != gen+1 {
			t.Fatalf("generation %d, want %d", now.Generation, gen+1)
		}
		inst := "a"
		hb := kmsg.NewPtrHeartbeatRequest()
		hb.Version, hb.Group, hb.MemberID, hb.Generation, hb.InstanceID = 4, testGroup, ids[0], gen+1, &inst
		if code := n.Heartbeat(t.Context(), hb).ErrorCode; code != codeFencedInstanceID {
			t.Errorf("Heartbeat: code %d, want FENCED_INSTANCE_ID", code)
		}
		commit := commitReq(ids[0], gen+1, "hits", 0, 1)
		commit.InstanceID = &inst
		if code := n.send(commit); code != codeFencedInstanceID {
			t.Errorf("OffsetCommit: code %d, want FENCED_INSTANCE_ID", code)
		}
		sync := kmsg.NewPtrSyncGroupRequest()
		sync.Version, sync.Group, sync.MemberID, sync.Generation, sync.InstanceID = 5, testGroup, ids[0], gen+1, &inst
		if code := n.SyncGroup(t.Context(), sync).ErrorCode; code != codeFencedInstanceID {
			t.Errorf("SyncGroup: code %d, want FENCED_INSTANCE_ID", code)
		}
		if got := <-n.joinLater(static(joinReq(ids[0]), "a")); got.ErrorCode != codeFencedInstanceID {
			t.Errorf("JoinGroup: code %d, want FENCED_INSTANCE_ID", got.ErrorCode)
		}
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Version, leave.Group = 3, testGroup
		leave.Members = []kmsg.LeaveGroupRequestMember{{MemberID: ids[0], InstanceID: &inst}}
		if code := n.LeaveGroup(t.Context(), leave).Members[0].ErrorCode; code != codeFencedInstanceID {
			t.Errorf("LeaveGroup: code %d, want FENCED_INSTANCE_ID", code)
		}
	})
}

func TestStaticMemberWithOtherProtocolsStartsARebalance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(static(joinReq("", "range", "sticky"), "a"), static(joinReq("", "range", "sticky"), "b"))
		ch := n.joinLater(static(joinReq("", "sticky"), "b"))
		if arrived(ch) {
			t.Fatal("answered at once, want a rebalance: the chosen protocol is no longer possible")
		}
		if code := n.beat(ids[0], gen); code != codeRebalanceInProgress {
			t.Errorf("Heartbeat: code %d, want REBALANCE_IN_PROGRESS", code)
		}
		<-n.joinLater(static(joinReq(ids[0], "range", "sticky"), "a"))
		if got := <-ch; *got.Protocol != "sticky" || got.Generation != gen+1 {
			t.Errorf("JoinGroup: %+v, want sticky", got)
		}
	})
}

func TestStaticMemberBetweenJoinAndSyncStartsARebalance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		a := n.joinLater(static(joinReq(""), "a"))
		synctest.Wait()
		b := n.joinLater(static(joinReq(""), "b"))
		leader := (<-a).MemberID
		follower := (<-b).MemberID
		parked := n.syncLater(follower, 1, nil)
		synctest.Wait()
		again := n.joinLater(static(joinReq(""), "b"))
		if got := <-parked; got.ErrorCode != codeFencedInstanceID {
			t.Errorf("parked SyncGroup of the former self: code %d, want FENCED_INSTANCE_ID", got.ErrorCode)
		}
		if code := n.beat(leader, 1); code != codeRebalanceInProgress {
			t.Errorf("Heartbeat: code %d, want REBALANCE_IN_PROGRESS", code)
		}
		<-n.joinLater(static(joinReq(leader), "a"))
		if got := <-again; got.Generation != 2 {
			t.Errorf("generation %d, want 2", got.Generation)
		}
	})
}

func TestStaticMemberStaysThroughARebalanceItMisses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		req := static(joinReq(""), "b")
		req.SessionTimeoutMillis = 300_000
		ids, gen := n.stable(static(joinReq(""), "a"), req)
		changed := static(joinReq(ids[0]), "a")
		ch := n.joinLater(changed) // the leader wants a rebalance, b is away
		if got := <-ch; got.Generation != gen+1 || len(got.Members) != 2 {
			t.Errorf("JoinGroup: generation %d with %d members, want %d with 2", got.Generation, len(got.Members), gen+1)
		}
	})
}

func TestAbsentStaticLeaderHandsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		leader := static(joinReq(""), "a")
		leader.SessionTimeoutMillis = 300_000
		ids, gen := n.stable(leader, static(joinReq(""), "b"))
		changed := static(joinReq(ids[1]), "b")
		changed.Protocols[0].Metadata = subscription("more")
		if got := <-n.joinLater(changed); got.LeaderID != ids[1] || len(got.Members) != 2 || got.Generation != gen+1 {
			t.Errorf("JoinGroup: %+v, want to lead both in generation %d", got, gen+1)
		}
	})
}

func TestRebalanceOfOnlyAbsentStaticMembersWaitsForOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		reqs := []*kmsg.JoinGroupRequest{static(joinReq(""), "a"), static(joinReq(""), "b"), static(joinReq(""), "c")}
		for _, req := range reqs {
			req.SessionTimeoutMillis = 1_000_000
		}
		ids, gen := n.stable(reqs...)
		n.leave(ids[2])
		time.Sleep(150 * time.Second) // more than two rebalance timeouts
		n.wantState(preparing)
		got := n.joinLater(static(joinReq(ids[1]), "b"))
		if r := <-got; r.LeaderID != ids[1] || r.Generation != gen+1 || len(r.Members) != 2 {
			t.Errorf("JoinGroup: %+v, want to lead both in generation %d", r, gen+1)
		}
	})
}

func TestStaticMemberIsNotReplacedWhenThatCanNotBeStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(static(joinReq(""), "a"))
		n.part.Set(func() { n.part.AppendErr = led.ErrNotWritten })
		if got := <-n.joinLater(static(joinReq(""), "a")); got.ErrorCode != codeCoordinatorNotAvailable {
			t.Errorf("JoinGroup: code %d, want COORDINATOR_NOT_AVAILABLE", got.ErrorCode)
		}
		if code := n.beat(ids[0], gen); code != codeNone {
			t.Errorf("Heartbeat of the former self: code %d, want none: it is still the one", code)
		}
		n.part.Set(func() { n.part.AppendErr = nil })
		if got := <-n.joinLater(static(joinReq(""), "a")); got.ErrorCode != codeNone || got.Generation != gen {
			t.Errorf("JoinGroup later: %+v, want the same generation", got)
		}
	})
}

func TestStaticMemberIsRemovedByItsInstance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		n.stable(static(joinReq(""), "a"))
		inst, other := "a", "x"
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Version, req.Group = 3, testGroup
		req.Members = []kmsg.LeaveGroupRequestMember{{InstanceID: &inst}, {InstanceID: &other}}
		got := n.LeaveGroup(t.Context(), req)
		if got.Members[0].ErrorCode != codeNone || got.Members[1].ErrorCode != codeUnknownMemberID || *got.Members[0].InstanceID != "a" {
			t.Errorf("LeaveGroup: %+v, want a removed and x unknown", got)
		}
		n.wantState(empty)
	})
}

func TestStaticMemberSurvivesARestartOfTheCoordinator(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt)
		ids, gen := n.stable(static(joinReq(""), "a"), static(joinReq(""), "b"))
		n.stop()
		time.Sleep(time.Minute) // sessions don't run while nobody could be heard
		n = start(t, mt)
		got := <-n.joinLater(static(joinReq(""), "b"))
		if got.ErrorCode != codeNone || got.Generation != gen {
			t.Fatalf("JoinGroup: %+v, want generation %d", got, gen)
		}
		if s := <-n.syncLater(got.MemberID, gen, nil); string(s.MemberAssignment) != "for "+ids[1] {
			t.Errorf("assignment %q, want that from before the restart", s.MemberAssignment)
		}
		if code := n.beat(ids[0], gen); code != codeNone {
			t.Errorf("Heartbeat of the other: code %d, want none", code)
		}
	})
}

func TestReplacedTwiceWhileStoringAnswersOnlyTheLast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		n.stable(static(joinReq(""), "a"))
		gate := make(chan struct{})
		n.part.Set(func() { n.part.AppendGo = gate })
		first := n.joinLater(static(joinReq(""), "a"))
		synctest.Wait()
		second := n.joinLater(static(joinReq(""), "a"))
		synctest.Wait()
		close(gate)
		if got := <-first; got.ErrorCode != codeFencedInstanceID {
			t.Errorf("first: code %d, want FENCED_INSTANCE_ID", got.ErrorCode)
		}
		if got := <-second; got.ErrorCode != codeNone {
			t.Errorf("second: code %d, want none", got.ErrorCode)
		}
	})
}

func TestErrorCodesOfFailedWrites(t *testing.T) {
	for _, tc := range []struct {
		err          error
		store, offer int16
	}{
		{nil, codeNone, codeNone},
		{led.ErrNotLeader, codeNotCoordinator, codeNotCoordinator},
		{led.ErrNotWritten, codeCoordinatorNotAvailable, codeCoordinatorNotAvailable},
		{led.ErrTooLarge, codeUnknownServerError, codeInvalidCommitOffsetSize},
		{errors.New("outcome unknown"), codeCoordinatorNotAvailable, codeCoordinatorNotAvailable},
	} {
		if got := led.StoreCode(tc.err); got != tc.store {
			t.Errorf("led.StoreCode(%v) = %d, want %d", tc.err, got, tc.store)
		}
		if got := commitCode(tc.err); got != tc.offer {
			t.Errorf("commitCode(%v) = %d, want %d", tc.err, got, tc.offer)
		}
	}
}
