package group

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/led/ledtest"
	"github.com/weir-analytics/weir/broker/record"
)

func TestGroupGoesOnAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt)
		ids, gen := n.stable(joinReq(""), joinReq(""))
		before := n.describe()
		n.stop()
		n = start(t, mt)
		if got := fmt.Sprintf("%+v", n.describe()); got != fmt.Sprintf("%+v", before) {
			t.Errorf("after the restart: %s\nwant %+v", got, before)
		}
		for _, id := range ids {
			if code := n.beat(id, gen); code != codeNone {
				t.Errorf("Heartbeat of %s: code %d", id, code)
			}
		}
		if code := n.commit(ids[1], gen, "hits", 0, 9); code != codeNone {
			t.Errorf("OffsetCommit: code %d", code)
		}
		// A member that died with the old coordinator is missed after a session.
		for n.beat(ids[1], gen) == codeNone {
			time.Sleep(time.Second)
		}
		if got := <-n.joinLater(joinReq(ids[1])); got.Generation != gen+1 || len(got.Members) != 1 {
			t.Errorf("JoinGroup: %+v, want generation %d alone", got, gen+1)
		}
	})
}

func TestGenerationGoesOnFromAnEmptyGroup(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt)
		ids, gen := n.stable(joinReq(""))
		n.leave(ids[0])
		synctest.Wait()
		n.stop()
		n = start(t, mt)
		n.wantState(empty)
		if _, got := n.stable(joinReq("")); got != gen+2 { // one for becoming empty, one for the new member
			t.Errorf("generation %d, want %d", got, gen+2)
		}
	})
}

func TestMembersThatLeaveOnACleanStopAreNotMissedAfterwards(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		var log bytes.Buffer
		n := start(t, mt, func(c *Config) {
			c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		})
		ids, _ := n.stable(joinReq(""), joinReq(""))
		gate := make(chan struct{})
		n.part.Set(func() { n.part.AppendGo = gate })
		n.leave(ids...)
		time.AfterFunc(time.Second, func() { close(gate) }) // a slow disk
		n.stop()
		if log.Len() > 0 {
			t.Errorf("a clean stop warns: %s", &log)
		}
		n = start(t, mt)
		n.wantState(empty)
	})
}

func TestStopDoesNotWaitForADiskThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt)
		ids, _ := n.stable(joinReq(""))
		n.part.Set(func() { n.part.AppendGo = make(chan struct{}) })
		n.leave(ids...)
		began := time.Now()
		n.stop()
		if took := time.Since(began); took != led.StopWait {
			t.Errorf("stopped after %v, want %v", took, led.StopWait)
		}
	})
}

func TestRequestsDuringLoadingAreToldSo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt)
		n.commit("", -1, "hits", 0, 5)
		n.stop()
		gate := make(chan struct{})
		mt.parts[0].Set(func() { mt.parts[0].ReadGo = gate })
		n = start(t, mt)
		began := time.Now()
		if code := n.commit("", -1, "hits", 0, 6); code != codeCoordinatorLoadInProgress {
			t.Errorf("OffsetCommit: code %d, want COORDINATOR_LOAD_IN_PROGRESS", code)
		}
		if took := time.Since(began); took != n.env.cfg.LoadWait {
			t.Errorf("answered after %v, want %v", took, n.env.cfg.LoadWait)
		}
		if got := n.JoinGroup(t.Context(), caller, joinReq("")); got.ErrorCode != codeCoordinatorLoadInProgress {
			t.Errorf("JoinGroup: code %d, want COORDINATOR_LOAD_IN_PROGRESS", got.ErrorCode)
		}
		if got := n.ListGroups(t.Context(), kmsg.NewPtrListGroupsRequest()); got.ErrorCode != codeCoordinatorLoadInProgress {
			t.Errorf("ListGroups: code %d, want COORDINATOR_LOAD_IN_PROGRESS", got.ErrorCode)
		}
		ch := later(func() int64 { return n.fetch("hits", 0) })
		synctest.Wait()
		close(gate)
		if got := <-ch; got != 5 {
			t.Errorf("request that waited: offset %d, want 5", got)
		}
	})
}

func TestNotTheCoordinator(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt)
		want := func(when string) {
			t.Helper()
			if code := n.commit("", -1, "hits", 0, 1); code != codeNotCoordinator {
				t.Errorf("%s: code %d, want NOT_COORDINATOR", when, code)
			}
		}
		mt.parts[0].Set(func() { mt.parts[0].Lead = 2 })
		want("another node leads")
		mt.parts[0].Set(func() { mt.parts[0].Lead, mt.parts[0].Serving = ledtest.Node, false })
		want("leader that does not serve yet")
		mt.parts[0].Set(func() { mt.parts[0].Serving = true; mt.parts[0].Epoch++ })
		if code := n.commit("", -1, "hits", 0, 1); code != codeNone {
			t.Errorf("leads again: code %d, want none", code)
		}
		n.stop()
		want("stopped")
		mt.mu.Lock()
		mt.parts = nil
		mt.mu.Unlock()
		n = start(t, newMemTopic(1))
		n.env.cfg.Partitions.(*memTopic).parts = nil
		want("no topic")
	})
}

func TestLossOfLeadershipAnswersWhatIsParked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt)
		ids, gen := n.stable(joinReq(""), joinReq(""))
		join := n.joinLater(joinReq(ids[0]))
		synctest.Wait()
		mt.parts[0].Set(func() { mt.parts[0].Lead, mt.parts[0].Epoch = 2, 2 })
		time.Sleep(2 * led.CheckEvery) // nobody asks, the coordinator looks for itself
		if !arrived(join) {
			t.Fatal("parked JoinGroup was not answered")
		}
		if got := <-join; got.ErrorCode != codeNotCoordinator {
			t.Errorf("parked JoinGroup: code %d, want NOT_COORDINATOR", got.ErrorCode)
		}
		if code := n.beat(ids[0], gen); code != codeNotCoordinator {
			t.Errorf("Heartbeat: code %d, want NOT_COORDINATOR", code)
		}
	})
}

func TestReplyIsCheckedAgainstTheTermItWasMadeIn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt)
		gate := make(chan struct{})
		mt.parts[0].Set(func() { mt.parts[0].AppendGo = gate })
		ch := later(func() int16 { return n.commit("", -1, "hits", 0, 5) })
		synctest.Wait()
		// Lost and won again while the write is under way: it is in the log, but not this epoch's to confirm.
		mt.parts[0].Set(func() { mt.parts[0].Epoch++ })
		close(gate)
		if code := <-ch; code != codeNotCoordinator {
			t.Errorf("code %d, want NOT_COORDINATOR", code)
		}
		if got := n.fetch("hits", 0); got != 5 {
			t.Errorf("offset %d, want 5: it was loaded from the log", got)
		}
	})
}

func TestUnknownOutcomeIsSettledByTheLog(t *testing.T) {
	for _, written := range []bool{false, true} {
		t.Run(fmt.Sprintf("written=%v", written), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := start(t, newMemTopic(1))
				n.commit("", -1, "hits", 0, 1)
				n.part.Set(func() { n.part.AppendErr, n.part.AppendBut = errors.New("timed out"), written })
				if code := n.commit("", -1, "hits", 0, 2); code != codeCoordinatorNotAvailable && code != codeNotCoordinator {
					t.Errorf("code %d, want one that makes the client try again", code)
				}
				n.part.Set(func() { n.part.AppendErr = nil })
				want := int64(1)
				if written {
					want = 2
				}
				if got := n.fetch("hits", 0); got != want {
					t.Errorf("offset %d, want %d", got, want)
				}
			})
		})
	}
}

func TestRecordsThatComeLaterThanTheirErrorAreNoticed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		n.commit("", -1, "hits", 0, 1)
		// The write of somebody's commit failed for him and gets into the log after the reload.
		late := offsetRecord(testGroup, "hits", 1, &offset{at: 77, expiresMs: noExpiry}, time.Now())
		n.part.Set(func() { n.part.Add([]record.Record{late}) })
		if code := n.commit("", -1, "hits", 0, 2); code != codeNone && code != codeNotCoordinator {
			t.Errorf("code %d", code)
		}
		if a, b := n.fetch("hits", 0), n.fetch("hits", 1); a != 2 || b != 77 {
			t.Errorf("offsets %d and %d, want 2 and 77", a, b)
		}
	})
}

func TestAssignmentThatCanNotBeStoredIsNotGivenOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		a, b := n.newID(), n.newID()
		ja, jb := n.joinLater(joinReq(a)), n.joinLater(joinReq(b))
		leader, follower := (<-ja).LeaderID, b
		<-jb
		if leader == b {
			follower = a
		}
		n.part.Set(func() { n.part.AppendErr = led.ErrNotWritten })
		sf := n.syncLater(follower, 1, nil)
		synctest.Wait()
		sl := n.syncLater(leader, 1, map[string]string{a: "x", b: "y"})
		for _, ch := range []<-chan *kmsg.SyncGroupResponse{sf, sl} {
			if got := <-ch; got.ErrorCode != codeCoordinatorNotAvailable || len(got.MemberAssignment) != 0 {
				t.Errorf("SyncGroup: %+v, want COORDINATOR_NOT_AVAILABLE", got)
			}
		}
		n.part.Set(func() { n.part.AppendErr = nil })
		n.wantState(preparing)
		j1, j2 := n.joinLater(joinReq(a)), n.joinLater(joinReq(b))
		if got := <-j1; got.Generation != 2 {
			t.Errorf("generation %d, want 2", got.Generation)
		}
		<-j2
	})
}

func TestBrokenLogKeepsThePartitionOutOfService(t *testing.T) {
	now := time.Now()
	for name, rec := range map[string]record.Record{
		"offset value cut short":       {Key: offsetKey("g", "t", 0), Value: []byte{0, 3, 1}},
		"offset value from the future": {Key: offsetKey("g", "t", 0), Value: []byte{0, 9, 0, 0}},
		"group value cut short":        {Key: groupKey("g"), Value: []byte{0, 3}},
		"group key cut short":          {Key: groupKey("g")[:4], Value: []byte{0, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mt := newMemTopic(1)
				mt.parts[0].Add([]record.Record{offsetRecord(testGroup, "hits", 0, &offset{at: 5, expiresMs: noExpiry}, now), rec})
				n := start(t, mt)
				if code := n.commit("", -1, "hits", 0, 6); code != codeCoordinatorNotAvailable {
					t.Errorf("code %d, want COORDINATOR_NOT_AVAILABLE: never \"no offset\"", code)
				}
				// Once the log can be read, service begins by itself.
				mt.parts[0].Set(func() {
					mt.parts[0].Batches, mt.parts[0].Next = nil, 0
					mt.parts[0].Add([]record.Record{offsetRecord(testGroup, "hits", 0, &offset{at: 5, expiresMs: noExpiry}, now)})
				})
				time.Sleep(20 * time.Second)
				if got := n.fetch("hits", 0); got != 5 {
					t.Errorf("offset %d, want 5", got)
				}
			})
		})
	}
}

func TestForeignRecordsAreSkipped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		mt.parts[0].Add([]record.Record{
			{Key: []byte{0, 3, 1, 2, 3}, Value: []byte("group of another protocol")},
			{Key: nil, Value: []byte("no key")},
			offsetRecord(testGroup, "hits", 0, &offset{at: 5, expiresMs: noExpiry}, time.Now()),
		})
		n := start(t, mt)
		if got := n.fetch("hits", 0); got != 5 {
			t.Errorf("offset %d, want 5", got)
		}
	})
}

func TestOlderLayoutsAreRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		var recs []record.Record
		for v := range int16(5) {
			key := kmsg.OffsetCommitKey{Version: v % 2, Group: testGroup, Topic: "hits", Partition: int32(v)}
			val := kmsg.OffsetCommitValue{Version: v, Offset: 10 + int64(v), LeaderEpoch: 7, CommitTimestamp: time.Now().UnixMilli(), ExpireTimestamp: -1}
			recs = append(recs, record.Record{Key: key.AppendTo(nil), Value: val.AppendTo(nil)})
			gk := kmsg.GroupMetadataKey{Version: 2, Group: fmt.Sprint("g", v)}
			gv := kmsg.GroupMetadataValue{Version: v, ProtocolType: "consumer", Generation: 4, Protocol: kmsg.StringPtr("range"), Leader: kmsg.StringPtr("m"), CurrentStateTimestamp: -1}
			gv.Members = []kmsg.GroupMetadataValueMember{{MemberID: "m", SessionTimeoutMillis: 10_000, RebalanceTimeoutMillis: 60_000, Assignment: []byte("a")}}
			recs = append(recs, record.Record{Key: gk.AppendTo(nil), Value: gv.AppendTo(nil)})
		}
		mt.parts[0].Add(recs)
		n := start(t, mt)
		for v := range int32(5) {
			if got := n.fetch("hits", v); got != int64(10+v) {
				t.Errorf("layout %d: offset %d, want %d", v, got, 10+v)
			}
			hb := kmsg.NewPtrHeartbeatRequest()
			hb.Group, hb.MemberID, hb.Generation = fmt.Sprint("g", v), "m", 4
			if code := n.Heartbeat(t.Context(), hb).ErrorCode; code != codeNone {
				t.Errorf("layout %d: Heartbeat code %d", v, code)
			}
		}
	})
}

func TestLogLooksAsKafkaWritesIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(joinReq(""))
		n.commit(ids[0], gen, "hits", 4, 9)
		recs := n.part.Records(t)
		if len(recs) != 2 {
			t.Fatalf("%d records, want 2", len(recs))
		}
		wantKey := "\x00\x02\x00\x07readers"
		if string(recs[0].Key) != wantKey || recs[0].Value[1] != 3 {
			t.Errorf("group: key %q version %d, want %q and 3", recs[0].Key, recs[0].Value[1], wantKey)
		}
		wantKey = "\x00\x01\x00\x07readers\x00\x04hits\x00\x00\x00\x04"
		wantValue := "\x00\x03\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x03\x00\x00"
		if string(recs[1].Key) != wantKey || !strings.HasPrefix(string(recs[1].Value), wantValue) || len(recs[1].Value) != len(wantValue)+8 {
			t.Errorf("offset: key %q value %q, want %q and %q with a time", recs[1].Key, recs[1].Value, wantKey, wantValue)
		}
	})
}

func TestCodesAreThoseOfTheProtocol(t *testing.T) {
	for code, want := range map[int16]*kerr.Error{
		codeUnknownTopicOrPartition: kerr.UnknownTopicOrPartition, codeOffsetMetadataTooLarge: kerr.OffsetMetadataTooLarge,
		codeCoordinatorLoadInProgress: kerr.CoordinatorLoadInProgress, codeCoordinatorNotAvailable: kerr.CoordinatorNotAvailable,
		codeNotCoordinator: kerr.NotCoordinator, codeIllegalGeneration: kerr.IllegalGeneration,
		codeInconsistentGroupProtocol: kerr.InconsistentGroupProtocol, codeInvalidGroupID: kerr.InvalidGroupID,
		codeUnknownMemberID: kerr.UnknownMemberID, codeInvalidSessionTimeout: kerr.InvalidSessionTimeout,
		codeRebalanceInProgress: kerr.RebalanceInProgress, codeInvalidCommitOffsetSize: kerr.InvalidCommitOffsetSize,
		codeInvalidRequest: kerr.InvalidRequest, codeUnknownServerError: kerr.UnknownServerError, codeNonEmptyGroup: kerr.NonEmptyGroup,
		codeGroupIDNotFound: kerr.GroupIDNotFound, codeMemberIDRequired: kerr.MemberIDRequired,
		codeGroupMaxSizeReached: kerr.GroupMaxSizeReached, codeFencedInstanceID: kerr.FencedInstanceID,
		codeInvalidProducerEpoch: kerr.InvalidProducerEpoch, codeInvalidTxnState: kerr.InvalidTxnState,
		codeUnstableOffsetCommit: kerr.UnstableOffsetCommit, codeGroupSubscribedToTopic: kerr.GroupSubscribedToTopic, codeUnknownTopicID: kerr.UnknownTopicID,
	} {
		if code != want.Code {
			t.Errorf("%s is %d, want %d", want.Message, code, want.Code)
		}
	}
}
