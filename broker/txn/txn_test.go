package txn

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
)

func TestTransactionOfVersionOneKeepsItsEpoch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		for range 2 {
			want(t, "add", n.addOne(p, 0, 2), codeNone)
			n.wantState(ongoing)
			want(t, "add again", n.addOne(p, 2), codeNone)
			want(t, "commit", n.endOne(p, true), codeNone)
			n.wantState(completeCommit)
			want(t, "commit again", n.endOne(p, true), codeNone)
			want(t, "abort after commit", n.endOne(p, false), codeInvalidTxnState)
		}
		want(t, "states", len(states(t, n.part, testID)), 1+2*3)
		for _, part := range []int32{0, 2} {
			m := record.Marker{ProducerID: p.id, ProducerEpoch: p.epoch, Commit: true, CoordinatorEpoch: 1}
			if got := n.markers.of(testTopic, part); !slices.Equal(got, []record.Marker{m, m}) {
				t.Errorf("partition %d has markers %v, want two of %v", part, got, m)
			}
		}
	})
}

func TestTransactionOfVersionTwoRaisesItsEpoch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		want(t, "implicit add", n.addTwo(p, 1), codeNone)
		next, code := n.endTwo(p, true)
		want(t, "commit", code, codeNone)
		want(t, "next", next, producer{p.id, p.epoch + 1})
		n.wantState(completeCommit)
		if got := n.markers.of(testTopic, 1); len(got) != 1 || got[0].ProducerEpoch != next.epoch || !got[0].Commit {
			t.Fatalf("markers %v, want one commit with epoch %d", got, next.epoch)
		}
		again, code := n.endTwo(p, true)
		want(t, "commit again", code, codeNone)
		want(t, "the same answer", again, next)
		_, code = n.endTwo(p, false)
		want(t, "abort of what is committed", code, codeInvalidTxnState)
		_, code = n.endTwo(next, true)
		want(t, "commit without a transaction", code, codeInvalidTxnState)
		want(t, "late record", n.addTwo(p, 3), codeProducerFenced)

		aborted, code := n.endTwo(next, false)
		want(t, "abort without a transaction", code, codeNone)
		want(t, "epoch after it", aborted.epoch, next.epoch+1)
		n.wantState(completeAbort)
		want(t, "late end", func() int16 { _, c := n.endTwo(p, true); return c }(), codeProducerFenced)
	})
}

// With one epoch for all transactions a request that was held up could end the next transaction; the order in which
// connections were opened tells.
func TestLateEndOfVersionOneDoesNotEndTheNextTransaction(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		want(t, "add", n.addFrom(3, p, 0), codeNone)
		// The client waits for its first EndTxn in vain, opens connection 4 and asks again.
		_, code := n.endFrom(4, 3, p, true)
		want(t, "commit", code, codeNone)
		synctest.Wait()
		want(t, "next transaction", n.addFrom(4, p, 1), codeNone)
		_, code = n.endFrom(3, 3, p, true)
		want(t, "the late one", code, codeConcurrentTransactions)
		n.wantState(ongoing)
		_, code = n.endFrom(4, 3, p, false)
		want(t, "the right one", code, codeNone)
		n.wantState(completeAbort)
	})
}

// A client that chooses among open connections may begin on a later and end on an earlier one. It is asked to try again, and succeeds.
func TestAnEndOverAnEarlierOpenConnectionIsBelievedTheSecondTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		for range 2 { // what one transaction has learnt of a connection means nothing for the next
			want(t, "add", n.addFrom(5, p, 0), codeNone)
			for _, conn := range []uint64{3, 4} {
				_, code := n.endFrom(conn, 3, p, true)
				want(t, "first try", code, codeConcurrentTransactions)
				n.wantState(ongoing)
			}
			_, code := n.endFrom(3, 3, p, true)
			want(t, "second try", code, codeNone)
			synctest.Wait()
			n.wantState(completeCommit)
		}
	})
}

func TestNewProducerFencesTheOldOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		old := n.mustInit()
		want(t, "add", n.addOne(old, 0), codeNone)
		p := n.mustInit()
		want(t, "same id", p.id, old.id)
		want(t, "epoch", p.epoch, old.epoch+2) // one for the abort, one for the new producer
		n.wantState(empty)
		if got := n.markers.of(testTopic, 0); len(got) != 1 || got[0].Commit || got[0].ProducerEpoch != old.epoch+1 {
			t.Fatalf("markers %v, want one abort with epoch %d", got, old.epoch+1)
		}
		want(t, "zombie adds", n.addOne(old, 0), codeProducerFenced)
		want(t, "zombie commits", n.endOne(old, true), codeProducerFenced)
		_, code := n.endTwo(old, true)
		want(t, "zombie of version two commits", code, codeProducerFenced)
		_, code = n.init(5, &old)
		want(t, "zombie wants to go on", code, codeProducerFenced)
		_, code = n.endFrom(1, 1, old, true)
		want(t, "zombie of an old version", code, codeInvalidProducerEpoch)
		want(t, "zombie of another id", n.addOne(producer{old.id + 1, 0}, 0), codeInvalidProducerIDMapping)
	})
}

func TestProducerThatKnowsItsEpochGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		want(t, "add", n.addOne(p, 0), codeNone)
		next, code := n.init(5, &p)
		want(t, "go on", code, codeNone)
		want(t, "epoch", next.epoch, p.epoch+1) // nobody else can have the one that fenced its transaction
		again, code := n.init(5, &p)
		want(t, "lost answer", code, codeNone)
		want(t, "the same", again, next)
		third := n.mustInit()
		want(t, "another", third.epoch, next.epoch+1)
		_, code = n.init(5, &next)
		want(t, "fenced", code, codeProducerFenced)
		_, code = n.init(3, &next)
		want(t, "fenced, old version", code, codeInvalidProducerEpoch)
	})
}

// A producer may find that it has nothing to send, and abort, before the transaction before has ended everywhere.
func TestAbortRightAfterACommitWaitsForIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		want(t, "add", n.addTwo(p, 0), codeNone)
		n.markers.set(func(topicPartition, record.Marker) error { return errUnknown })
		next, code := n.endTwo(p, true)
		want(t, "commit", code, codeNone)
		_, code = n.endTwo(next, false)
		want(t, "abort, too early", code, codeConcurrentTransactions)
		n.markers.set(nil)
		time.Sleep(10 * time.Second)
		last, code := n.endTwo(next, false)
		want(t, "abort", code, codeNone)
		want(t, "epoch", last.epoch, p.epoch+2)
		n.wantState(completeAbort)
		if got := n.markers.of(testTopic, 0); len(got) != 1 || !got[0].Commit {
			t.Errorf("markers %v, want one commit", got)
		}
	})
}

func TestTransactionThatTakesTooLongIsAborted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		want(t, "add", n.addOne(p, 0), codeNone)
		n.part.Set(func() { n.part.AppendErr = led.ErrNotWritten })
		time.Sleep(61 * time.Second)
		n.wantState(ongoing)
		n.part.Set(func() { n.part.AppendErr = nil })
		time.Sleep(2 * time.Second)
		n.wantState(completeAbort)
		want(t, "commit", n.endOne(p, true), codeProducerFenced)
		if got := n.markers.of(testTopic, 0); len(got) != 1 || got[0].Commit || got[0].ProducerEpoch != p.epoch+1 {
			t.Fatalf("markers %v, want one abort with epoch %d", got, p.epoch+1)
		}
		_, code := n.endTwo(p, true)
		want(t, "commit, version two", code, codeInvalidTxnState)
		next, code := n.endTwo(p, false)
		want(t, "abort, version two", code, codeNone)
		want(t, "goes on", next.epoch, p.epoch+1)
	})
}

func TestEpochsThatAreUsedUpGiveAnotherProducerID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		at := func(epoch int16) producer {
			n.shards.All()[0].do(func(time.Time) { n.shards.All()[0].txns[testID].meta.epoch = epoch })
			return producer{p.id, epoch}
		}
		last := at(lastUsableEpoch)
		want(t, "add", n.addTwo(last, 0), codeNone)
		n.markers.set(func(topicPartition, record.Marker) error { return errUnknown })
		next, code := n.endTwo(last, true)
		want(t, "commit", code, codeNone)
		if next.id == p.id || next.epoch != 0 {
			t.Fatalf("next producer %v, want another id with epoch 0", next)
		}
		want(t, "early record of the next", n.addTwo(next, 1), codeConcurrentTransactions)
		n = n.restart()
		_, code = n.endTwo(last, true)
		want(t, "commit again", code, codeConcurrentTransactions)
		n.markers.set(nil)
		time.Sleep(10 * time.Second)
		n.wantState(completeCommit)
		again, code := n.endTwo(last, true)
		want(t, "commit once more", code, codeNone)
		want(t, "the same", again, next)
		want(t, "marker", n.markers.of(testTopic, 0)[0].ProducerEpoch, lastUsableEpoch+1)
		want(t, "next goes on", n.addTwo(next, 1), codeNone)
		_, code = n.endTwo(next, true)
		want(t, "and commits", code, codeNone)
		n.wantState(completeCommit)

		p = next
		last = at(lastUsableEpoch)
		fresh, code := n.init(5, &last)
		want(t, "init", code, codeNone)
		if fresh.id == p.id || fresh.epoch != 0 {
			t.Fatalf("producer %v after the last epoch of %d", fresh, p.id)
		}
		again, code = n.init(5, &last)
		want(t, "lost answer", code, codeNone)
		want(t, "the same", again, fresh)
	})
}

func TestRequestsThatAreWrongAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		for _, row := range []struct {
			name    string
			id      string
			timeout int32
			code    int16
		}{
			{"no id", "", 1000, codeInvalidRequest},
			{"no timeout", "a", 0, codeInvalidTransactionTimeout},
			{"negative", "a", -1, codeInvalidTransactionTimeout},
			{"too long", "a", 15*60*1000 + 1, codeInvalidTransactionTimeout},
			{"longest", "a", 15 * 60 * 1000, codeNone},
		} {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 5, &row.id, row.timeout
			want(t, row.name, n.InitProducerID(t.Context(), req).ErrorCode, row.code)
		}
		p := n.mustInit()
		want(t, "commit of nothing", n.endOne(p, true), codeInvalidTxnState)
		want(t, "abort of nothing", n.endOne(p, false), codeInvalidTxnState)

		req := kmsg.NewPtrAddPartitionsToTxnRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, testID, p.id, p.epoch
		req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{
			{Topic: testTopic, Partitions: []int32{0, 9}}, {Topic: "nothing", Partitions: []int32{0}},
			{Topic: "__consumer_offsets", Partitions: []int32{0}},
		}
		resp := n.AddPartitionsToTxn(t.Context(), 1, req, allowed)
		want(t, "good one beside bad ones", resp.Topics[0].Partitions[0].ErrorCode, codeOperationNotAttempted)
		want(t, "no such partition", resp.Topics[0].Partitions[1].ErrorCode, codeUnknownTopicOrPartition)
		want(t, "no such topic", resp.Topics[1].Partitions[0].ErrorCode, codeUnknownTopicOrPartition)
		secret := func(topic string) int16 {
			if topic == testTopic {
				return codeTopicAuthorizationFailed
			}
			return codeNone
		}
		want(t, "secret topic", n.AddPartitionsToTxn(t.Context(), 1, req, secret).Topics[0].Partitions[0].ErrorCode, codeTopicAuthorizationFailed)
		want(t, "internal topic", resp.Topics[2].Partitions[0].ErrorCode, codeTopicAuthorizationFailed)
		n.wantState(empty)
	})
}

func TestBatchedAddAndVerify(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		ask := func(version int16, verify bool, part int32) int16 {
			req := kmsg.NewPtrAddPartitionsToTxnRequest()
			req.Version = version
			req.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{
				TransactionalID: testID, ProducerID: p.id, ProducerEpoch: p.epoch, VerifyOnly: verify,
				Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: testTopic, Partitions: []int32{part}}},
			}}
			return n.AddPartitionsToTxn(t.Context(), 1, req, allowed).Transactions[0].Topics[0].Partitions[0].ErrorCode
		}
		want(t, "verify before", ask(4, true, 0), codeInvalidTxnState)
		want(t, "verify before, v5", ask(5, true, 0), codeTransactionAbortable)
		want(t, "add", ask(4, false, 0), codeNone)
		want(t, "verify", ask(4, true, 0), codeNone)
		want(t, "verify another", ask(4, true, 1), codeInvalidTxnState)
		want(t, "Verify", codeFrom(n.Verify(t.Context(), testID, p.id, p.epoch, testTopic, 0, false)), codeNone)
		want(t, "Verify another", codeFrom(n.Verify(t.Context(), testID, p.id, p.epoch, testTopic, 1, false)), codeInvalidTxnState)
		want(t, "Verify of a zombie", codeFrom(n.Verify(t.Context(), testID, p.id, p.epoch-1, testTopic, 0, false)), codeProducerFenced)
		want(t, "Verify of a stranger", codeFrom(n.Verify(t.Context(), "who", p.id, p.epoch, testTopic, 0, true)), codeInvalidProducerIDMapping)
	})
}

func TestOffsetsOfAGroupTakePart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = 3, testID, p.id, p.epoch, "readers"
		want(t, "add offsets", n.AddOffsetsToTxn(t.Context(), 1, req).ErrorCode, codeNone)
		want(t, "commit", n.endOne(p, true), codeNone)
		n.wantState(completeCommit)
		want(t, "markers", len(n.markers.of("__consumer_offsets", 7)), 1)
	})
}

func TestNothingIsSaidBeforeItIsStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		want(t, "add", n.addOne(p, 0), codeNone)
		gate := make(chan struct{})
		n.part.Set(func() { n.part.AppendGo = gate })
		code := make(chan int16, 1)
		go func() { code <- n.endOne(p, true) }()
		synctest.Wait()
		if len(code) != 0 || len(n.markers.of(testTopic, 0)) != 0 {
			t.Fatal("answered, or markers written, before the outcome is stored")
		}
		gate <- struct{}{}
		want(t, "commit", <-code, codeNone)
		synctest.Wait()
		want(t, "markers", len(n.markers.of(testTopic, 0)), 1)
		// The write that it is complete is under way: the next transaction waits for it, and is refused after a while.
		want(t, "early", n.addOne(p, 1), codeConcurrentTransactions)
		go func() { code <- n.addOne(p, 1) }()
		gate <- struct{}{}
		gate <- struct{}{}
		want(t, "in time", <-code, codeNone)
		n.part.Set(func() { n.part.AppendGo = nil })
	})
}

func TestPreparedTransactionIsFinishedAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		want(t, "add", n.addOne(p, 0, 1), codeNone)
		n.markers.set(func(tp topicPartition, _ record.Marker) error {
			if tp.partition == 1 {
				return errors.New("its leader is away")
			}
			return nil
		})
		want(t, "commit", n.endOne(p, true), codeNone)
		n.wantState(prepareCommit)
		want(t, "commit again", n.endOne(p, true), codeConcurrentTransactions)
		want(t, "abort instead", n.endOne(p, false), codeInvalidTxnState)
		n = n.restart()
		n.wantState(prepareCommit)
		n.markers.set(nil)
		time.Sleep(10 * time.Second)
		n.wantState(completeCommit)
		m := n.markers.of(testTopic, 1)
		if len(m) != 1 || !m[0].Commit || m[0].CoordinatorEpoch != 2 {
			t.Errorf("markers of partition 1: %v, want one commit of coordinator epoch 2", m)
		}
		want(t, "commit again", n.endOne(p, true), codeNone)
	})
}

func TestPartitionsThatAreGoneOrMovedOnDoNotHoldUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		want(t, "add", n.addOne(p, 0, 1, 2), codeNone)
		n.markers.set(func(tp topicPartition, _ record.Marker) error {
			return []error{ErrNoPartition, ErrNewerProducer, nil}[tp.partition]
		})
		want(t, "commit", n.endOne(p, true), codeNone)
		n.wantState(completeCommit)
		want(t, "add", n.addOne(p, 0), codeNone)
		n.markers.set(func(topicPartition, record.Marker) error { return ErrNewerCoordinator })
		n.part.Set(func() { n.part.Serving = false })
		want(t, "not coordinated here", n.endOne(p, true), codeNotCoordinator)
	})
}

func TestUnknownOutcomeIsFoundOutFromTheLog(t *testing.T) {
	for _, written := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			n := startNew(t)
			p := n.mustInit()
			want(t, "add", n.addOne(p, 0), codeNone)
			n.part.Set(func() { n.part.AppendErr, n.part.AppendBut = errUnknown, written })
			if code := n.endOne(p, true); code != codeCoordinatorNotAvailable && code != codeNotCoordinator {
				t.Fatalf("commit of unknown outcome: code %d, want one that makes clients ask again", code)
			}
			n.part.Set(func() { n.part.AppendErr, n.part.AppendBut = nil, false })
			var code int16
			for range 5 {
				if code = n.endOne(p, true); code == codeNone {
					break
				}
				time.Sleep(time.Second)
			}
			want(t, "commit again", code, codeNone)
			n.wantState(completeCommit)
		})
	}
}

func TestPartitionThatCannotBeReadIsNotServed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		n.stop()
		n.part.Set(func() { n.part.ReadErr = errUnknown })
		n = start(t, n.topic, n.markers)
		_, code := n.init(5, nil)
		want(t, "while it can't be read", code, codeCoordinatorNotAvailable)
		n.part.Set(func() {
			n.part.ReadErr = nil
			n.part.Add([]record.Record{{Key: encodeKey("x"), Value: []byte{0, 9}}})
		})
		time.Sleep(time.Minute)
		_, code = n.init(5, nil)
		want(t, "with a record that is not understood", code, codeCoordinatorNotAvailable)
		n.part.Set(func() { n.part.Batches, n.part.Next = n.part.Batches[:1], 1 })
		time.Sleep(time.Minute)
		next := n.mustInit()
		want(t, "epoch", next, producer{p.id, p.epoch + 1})
	})
}

func TestUnusedIDsAreForgotten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		want(t, "add", n.addOne(p, 0), codeNone)
		want(t, "commit", n.endOne(p, true), codeNone)
		time.Sleep(7*24*time.Hour - time.Hour)
		n.wantState(completeCommit)
		time.Sleep(3 * time.Hour)
		want(t, "forgotten", n.describe().ErrorCode, codeTransactionalIDNotFound)
		want(t, "add", n.addOne(p, 0), codeInvalidProducerIDMapping)
		states := states(t, n.part, testID)
		want(t, "last record", states[len(states)-1], "-")
		n = n.restart()
		want(t, "still forgotten", n.describe().ErrorCode, codeTransactionalIDNotFound)
		next, code := n.init(5, &p)
		want(t, "comes back", code, codeNone)
		if next.id == p.id {
			t.Errorf("producer id %d was given out again", p.id)
		}
	})
}

func TestListAndDescribe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := startNew(t)
		p := n.mustInit()
		want(t, "add", n.addOne(p, 3, 1), codeNone)
		d := n.describe()
		if d.State != "Ongoing" || d.ProducerID != p.id || d.ProducerEpoch != p.epoch || d.TimeoutMillis != 60_000 ||
			len(d.Topics) != 1 || !slices.Equal(d.Topics[0].Partitions, []int32{1, 3}) {
			t.Errorf("described as %+v", d)
		}
		time.Sleep(10 * time.Second)
		list := func(change func(*kmsg.ListTransactionsRequest)) *kmsg.ListTransactionsResponse {
			req := kmsg.NewPtrListTransactionsRequest()
			req.Version = 2
			change(req)
			return n.ListTransactions(t.Context(), req)
		}
		for _, row := range []struct {
			name   string
			change func(*kmsg.ListTransactionsRequest)
			listed int
		}{
			{"all", func(*kmsg.ListTransactionsRequest) {}, 1},
			{"state", func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Ongoing"} }, 1},
			{"other state", func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Empty"} }, 0},
			{"producer", func(r *kmsg.ListTransactionsRequest) { r.ProducerIDFilters = []int64{p.id} }, 1},
			{"other producer", func(r *kmsg.ListTransactionsRequest) { r.ProducerIDFilters = []int64{p.id + 1} }, 0},
			{"long", func(r *kmsg.ListTransactionsRequest) { r.DurationFilterMillis = 9_000 }, 1},
			{"longer", func(r *kmsg.ListTransactionsRequest) { r.DurationFilterMillis = 11_000 }, 0},
			{"pattern", func(r *kmsg.ListTransactionsRequest) { r.TransactionalIDPattern = kmsg.StringPtr("ord.*") }, 1},
			{"part of the id", func(r *kmsg.ListTransactionsRequest) { r.TransactionalIDPattern = kmsg.StringPtr("ord") }, 0},
		} {
			want(t, row.name, len(list(row.change).TransactionStates), row.listed)
		}
		want(t, "bad pattern", list(func(r *kmsg.ListTransactionsRequest) { r.TransactionalIDPattern = kmsg.StringPtr("(") }).ErrorCode, codeInvalidRegularExpression)
		unknown := list(func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Bored"} })
		want(t, "unknown state", unknown.UnknownStateFilters[0], "Bored")
	})
}
