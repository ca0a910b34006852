package group

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
)

const testProducer = 40

func txnCommitReq(memberID string, generation int32, producer int64, epoch int16, partition int32, at int64) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = 5, "etl", testGroup, producer, epoch
	req.MemberID, req.Generation = memberID, generation
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = partition, at, 3
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "hits", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{p}}}
	return req
}

func allowed(string, int32, bool) int16 { return codeNone }

// stage commits an offset in the transaction of a producer with epoch 0.
func (n *node) stage(producer int64, partition int32, at int64) int16 {
	resp := n.TxnOffsetCommit(n.t.Context(), txnCommitReq("", -1, producer, 0, partition, at), allowed)
	return resp.Topics[0].Partitions[0].ErrorCode
}

// endTxn writes the marker of a transaction of a producer with epoch 0.
func (n *node) endTxn(producer int64, commit bool) {
	n.t.Helper()
	m := record.Marker{ProducerID: producer, Commit: commit, CoordinatorEpoch: 1}
	if err := n.WriteMarker(n.t.Context(), 0, m); err != nil {
		n.t.Fatalf("marker: %v", err)
	}
}

// fetchStable returns the offset and code of a partition for those who ask for stable ones.
func (n *node) fetchStable(partition int32) (int64, int16) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable = 7, true
	req.Group = testGroup
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "hits", Partitions: []int32{partition}}}
	p := n.OffsetFetch(n.t.Context(), req).Topics[0].Partitions[0]
	return p.Offset, p.ErrorCode
}

// reload makes a coordinator of what the log says.
func (n *node) reload(mt *memTopic, change ...func(*Config)) *node {
	n.stop()
	n.part.Set(func() { n.part.Epoch++ })
	return start(n.t, mt, change...)
}

func TestOffsetsInATransactionCountFromItsMarkerOn(t *testing.T) {
	for _, commit := range []bool{true, false} {
		for _, restart := range []bool{true, false} {
			bubble(t, func(t *testing.T) {
				mt := newMemTopic(1)
				n := start(t, mt)
				n.commit("", -1, "hits", 0, 5)
				if code := n.stage(testProducer, 0, 9); code != codeNone {
					t.Fatalf("TxnOffsetCommit: code %d", code)
				}
				if restart {
					n = n.reload(mt)
				}
				if at := n.fetch("hits", 0); at != 5 {
					t.Errorf("offset %d before the marker, want 5", at)
				}
				if at, code := n.fetchStable(0); at != -1 || code != codeUnstableOffsetCommit {
					t.Errorf("stable offset %d, code %d before the marker, want UNSTABLE_OFFSET_COMMIT", at, code)
				}
				n.endTxn(testProducer, commit)
				want := map[bool]int64{true: 9, false: 5}[commit]
				for range 2 {
					if at, code := n.fetchStable(0); at != want || code != codeNone {
						t.Errorf("commit=%v: offset %d, code %d after the marker, want %d", commit, at, code, want)
					}
					n = n.reload(mt)
				}
			})
		}
	}
}

func TestTxnCommitIsRefusedToThoseWhoMustNot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		ids, gen := n.stable(joinReq(""))
		ask := func(change func(*kmsg.TxnOffsetCommitRequest), verify Verify) int16 {
			req := txnCommitReq(ids[0], gen, testProducer, 0, 0, 1)
			change(req)
			return n.TxnOffsetCommit(t.Context(), req, verify).Topics[0].Partitions[0].ErrorCode
		}
		for _, row := range []struct {
			name   string
			change func(*kmsg.TxnOffsetCommitRequest)
			verify Verify
			code   int16
		}{
			{"member of the generation", func(*kmsg.TxnOffsetCommitRequest) {}, allowed, codeNone},
			{"without a name", func(r *kmsg.TxnOffsetCommitRequest) { r.MemberID, r.Generation = "", -1 }, allowed, codeNone},
			{"version that has no members", func(r *kmsg.TxnOffsetCommitRequest) { r.Version, r.MemberID = 2, "x" }, allowed, codeNone},
			{"stranger", func(r *kmsg.TxnOffsetCommitRequest) { r.MemberID = "x" }, allowed, codeUnknownMemberID},
			{"earlier generation", func(r *kmsg.TxnOffsetCommitRequest) { r.Generation-- }, allowed, codeIllegalGeneration},
			{"stranger's instance", func(r *kmsg.TxnOffsetCommitRequest) { r.InstanceID = kmsg.StringPtr("x") }, allowed, codeUnknownMemberID},
			{"no such group", func(r *kmsg.TxnOffsetCommitRequest) { r.Group = "x" }, allowed, codeIllegalGeneration},
			{"no such group, newer", func(r *kmsg.TxnOffsetCommitRequest) { r.Version, r.Group = 6, "x" }, allowed, codeUnknownTopicID},
			{"no transaction", func(*kmsg.TxnOffsetCommitRequest) {}, func(string, int32, bool) int16 { return codeInvalidTxnState }, codeInvalidTxnState},
		} {
			if code := ask(row.change, row.verify); code != row.code {
				t.Errorf("%s: code %d, want %d", row.name, code, row.code)
			}
		}
		// The marker comes between the question whether there is a transaction and the commit.
		late := func(_ string, _ int32, add bool) int16 {
			if !add {
				n.endTxn(testProducer, true)
			}
			return codeNone
		}
		if code := ask(func(*kmsg.TxnOffsetCommitRequest) {}, late); code != codeInvalidTxnState {
			t.Errorf("commit after the marker: code %d, want INVALID_TXN_STATE", code)
		}
		// The marker of the transaction before comes while the commit waits to be part of the next one.
		ask(func(*kmsg.TxnOffsetCommitRequest) {}, allowed)
		early := func(_ string, _ int32, add bool) int16 {
			if add {
				n.endTxn(testProducer, true)
			}
			return codeNone
		}
		if code := ask(func(*kmsg.TxnOffsetCommitRequest) {}, early); code != codeNone {
			t.Errorf("commit after the marker of the transaction before: code %d", code)
		}
		n.part.Set(func() { n.part.epochs[testProducer] = 7 })
		if code := ask(func(*kmsg.TxnOffsetCommitRequest) {}, allowed); code != codeInvalidProducerEpoch {
			t.Errorf("commit of a fenced producer: code %d, want INVALID_PRODUCER_EPOCH", code)
		}
	})
}

func TestStagedOffsetsAreNotExpired(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mt := newMemTopic(1)
		n := start(t, mt)
		n.commit("", -1, "hits", 0, 5)
		n.stage(testProducer, 0, 9)
		time.Sleep(8 * 24 * time.Hour)
		synctest.Wait()
		if at := n.fetch("hits", 0); at != 5 {
			t.Errorf("offset %d after the retention, with a transaction open, want 5", at)
		}
		n.endTxn(testProducer, true)
		n = n.reload(mt)
		if at := n.fetch("hits", 0); at != 9 {
			t.Errorf("offset %d after the marker, want 9", at)
		}
	})
}

func TestMarkersForWhatIsNotCoordinatedHere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := start(t, newMemTopic(1))
		n.part.Set(func() { n.part.AppendErr = led.ErrNotWritten })
		n.part.Set(func() { n.part.epochs[testProducer], n.part.open[testProducer] = 0, true })
		m := record.Marker{ProducerID: testProducer, Commit: true}
		if err := n.WriteMarker(t.Context(), 0, m); !errors.Is(err, led.ErrNotWritten) {
			t.Errorf("marker while nothing can be written: %v", err)
		}
		n.part.Set(func() { n.part.AppendErr, n.part.Serving = nil, false })
		if err := n.WriteMarker(t.Context(), 0, m); !errors.Is(err, led.ErrNotLeader) {
			t.Errorf("marker on a node that does not lead: %v", err)
		}
	})
}

// Commits inside and outside of transactions, tombstones and markers in any order, with failing writes and restarts: after each
// step the coordinator answers what the plain rule says, the last record of a partition counts, in a transaction from its
// marker on, and so does one that has read the log.
func TestStagedOffsetsAgreeWithTheLog(t *testing.T) {
	for seed := range uint64(60) {
		bubble(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			mt := newMemTopic(1)
			n := start(t, mt)
			for i := range 80 {
				producer, partition := int64(testProducer+rng.IntN(3)), rng.Int32N(2)
				switch rng.IntN(9) {
				case 0, 1, 2, 3:
					n.stage(producer, partition, int64(i))
				case 4:
					n.commit("", -1, "hits", partition, int64(i))
				case 5:
					req := kmsg.NewPtrOffsetDeleteRequest()
					req.Group = testGroup
					req.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "hits", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: partition}}}}
					n.OffsetDelete(t.Context(), req)
				case 6, 7:
					n.endTxn(producer, rng.IntN(2) == 0)
				case 8:
					n = n.reload(mt)
				}
				for p := range int32(2) {
					wantAt, wantCode := n.part.model(t, p)
					if at, code := n.fetchStable(p); at != wantAt || code != wantCode {
						t.Fatalf("seed %d, step %d, partition %d: offset %d code %d, want %d code %d", seed, i, p, at, code, wantAt, wantCode)
					}
				}
			}
		})
	}
}

// model reads the whole log anew: for each record it looks ahead for the marker.
func (p *memPartition) model(t *testing.T, partition int32) (at int64, code int16) {
	t.Helper()
	var batches [][]byte
	p.Set(func() { batches = p.Batches })
	at = -1
	for i, raw := range batches {
		b, err := record.Check(raw)
		if err != nil {
			t.Fatal(err)
		}
		if b.Control() {
			continue
		}
		err = record.ForEach(raw, func(r record.Record) error {
			k, err := parseKey(r.Key)
			if err != nil || !k.isOffset || k.partition != partition {
				return err
			}
			switch outcome := p.outcome(t, b, batches[i+1:]); {
			case outcome == "open":
				code = codeUnstableOffsetCommit
			case outcome == "abort":
			case r.Value == nil:
				at, code = -1, codeNone
			default:
				o, err := parseOffset(r.Value)
				if err != nil {
					return err
				}
				at, code = o.at, codeNone
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if code != codeNone {
		at = -1
	}
	return at, code
}

func (p *memPartition) outcome(t *testing.T, b record.Batch, after [][]byte) string {
	t.Helper()
	if !b.Transactional() {
		return "plain"
	}
	for _, raw := range after {
		c, err := record.Check(raw)
		if err != nil {
			t.Fatal(err)
		}
		if !c.Control() || c.ProducerID != b.ProducerID {
			continue
		}
		m, ok, err := record.ParseMarker(c)
		if err != nil || !ok {
			t.Fatal(fmt.Errorf("marker: %w", err))
		}
		if m.Commit {
			return "commit"
		}
		return "abort"
	}
	return "open"
}
