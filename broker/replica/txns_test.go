package replica

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/vfs"
)

// inTxn makes a batch of n records of a producer's transaction.
func inTxn(t testing.TB, id int64, epoch int16, seq int32, n int) []byte {
	t.Helper()
	b := record.NewBuilder(record.None)
	b.SetProducer(id, epoch, seq)
	b.SetTransactional()
	for i := range n {
		b.Append(record.Record{Value: fmt.Appendf(nil, "p%d e%d s%d", id, epoch, int(seq)+i), TimestampMs: 1_700_000_000_000})
	}
	return build(t, b)
}

func mark(id int64, epoch int16, commit bool, coordinator int32) Marker {
	return Marker{ProducerID: id, ProducerEpoch: epoch, Commit: commit, CoordinatorEpoch: coordinator}
}

func abort(id, first, last, stable int64) Aborted {
	return Aborted{ProducerID: id, FirstOffset: first, LastOffset: last, LastStableOffset: stable}
}

func endTxn(t testing.TB, r *Replica, m Marker) {
	t.Helper()
	must(t, r.AppendMarker(context.Background(), m))
}

func refusedAs(t testing.TB, r *Replica, batch []byte, want error) {
	t.Helper()
	if _, err := r.Append(context.Background(), batch).Result(); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func abortedIn(t testing.TB, r *Replica, from, to int64) []Aborted {
	t.Helper()
	list, err := r.AbortedIn(from, to)
	must(t, err)
	return list
}

func TestAnOpenTransactionHoldsTheLastStableOffset(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	r := n.open(n.config(0))
	stable := func(want int64) {
		t.Helper()
		if got := r.LastStableOffset(); got != want {
			t.Errorf("last stable offset %d, want %d", got, want)
		}
	}
	stable(0)
	put(t, r, batchOf(t, "a", "b"))
	stable(2)
	put(t, r, inTxn(t, 1, 0, 0, 2)) // 2, 3
	put(t, r, batchOf(t, "c"))      // 4
	stable(2)
	put(t, r, inTxn(t, 2, 0, 0, 1)) // 5
	put(t, r, inTxn(t, 1, 0, 2, 1)) // 6
	stable(2)
	if !r.OpenTxn(1, 0) || r.OpenTxn(1, 1) || r.OpenTxn(3, 0) {
		t.Error("which transactions are open is wrong")
	}
	changed := r.Changed()
	endTxn(t, r, Marker{ProducerID: 1, ProducerEpoch: 0, Commit: false, CoordinatorEpoch: 3}) // 7
	select {
	case <-changed:
	default:
		t.Error("nobody was told that the last stable offset moved")
	}
	stable(5)
	if got, want := abortedIn(t, r, 0, 5), []Aborted{abort(1, 2, 7, 5)}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	endTxn(t, r, Marker{ProducerID: 2, ProducerEpoch: 0, Commit: true, CoordinatorEpoch: 3}) // 8
	stable(9)
	if r.OpenTxn(1, 0) || r.OpenTxn(2, 0) {
		t.Error("an ended transaction is open")
	}
	if got := abortedIn(t, r, 7, 9); !reflect.DeepEqual(got, []Aborted{abort(1, 2, 7, 5)}) {
		t.Errorf("the marker alone: got %v", got)
	}
	if got := abortedIn(t, r, 8, 9); len(got) != 0 {
		t.Errorf("after the marker: got %v", got)
	}
	if got := abortedIn(t, r, 0, 2); len(got) != 0 {
		t.Errorf("before the first record: got %v", got)
	}
}

func TestMarkersFence(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	r := n.open(n.config(0))
	refused := func(m Marker, want error) {
		t.Helper()
		if err := r.AppendMarker(context.Background(), m); !errors.Is(err, want) {
			t.Errorf("%+v: got %v, want %v", m, err, want)
		}
	}
	put(t, r, inTxn(t, 1, 3, 0, 1)) // 0
	refused(mark(1, 2, false, 5), ErrInvalidProducerEpoch)
	refused(mark(-1, 2, false, 5), ErrInvalidRecord)
	endTxn(t, r, mark(1, 4, false, 5)) // 1
	refusedAs(t, r, inTxn(t, 1, 3, 1, 1), ErrInvalidProducerEpoch)
	refusedAs(t, r, inTxn(t, 1, 4, 1, 1), ErrOutOfOrderSequence)
	put(t, r, inTxn(t, 1, 4, 0, 1)) // 2
	refused(mark(1, 4, true, 4), ErrCoordinatorFenced)
	endTxn(t, r, mark(1, 4, true, 5)) // 3
	before := r.HighWatermark()
	endTxn(t, r, mark(1, 4, true, 5))
	if r.HighWatermark() != before {
		t.Error("a marker with nothing to do was written")
	}
	put(t, r, inTxn(t, 1, 4, 1, 1))   // the same epoch goes on: clients before KIP-890
	endTxn(t, r, mark(1, 4, true, 6)) // a newer coordinator
	refused(mark(1, 4, true, 5), ErrCoordinatorFenced)
	endTxn(t, r, mark(77, 2, true, 6)) // nothing was written here by it: fences all the same
	refusedAs(t, r, inTxn(t, 77, 1, 0, 1), ErrInvalidProducerEpoch)
	put(t, r, inTxn(t, 77, 2, 0, 1))
	refusedAs(t, r, from(t, 77, 2, 1, 1), ErrInvalidTxnState)
	var info ProducerInfo
	for _, p := range r.Producers() {
		if p.ID == 77 {
			info = p
		}
	}
	if want := (ProducerInfo{77, 2, 0, 1_700_000_000_000, 6, r.HighWatermark() - 1}); info != want {
		t.Errorf("got %+v, want %+v", info, want)
	}
}

// What is under way counts: batches, markers and their repeats follow each
// other without a wait.
func TestMarkersUnderWay(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	r := n.open(n.config(0))
	ctx := context.Background()
	var pending []*Pending
	marker := func(m Marker) {
		p := &Pending{done: make(chan struct{}), batch: m.Build(1), marker: &m, since: noOffset}
		p.head, _ = record.ParseHeader(p.batch)
		must(t, r.enqueue(ctx, p))
		pending = append(pending, p)
	}
	for i := range int16(50) {
		pending = append(pending, r.Append(ctx, inTxn(t, 1, i, 0, 1)), r.Append(ctx, inTxn(t, 1, i, 1, 1)))
		pending = append(pending, r.Append(ctx, inTxn(t, 1, i, 1, 1))) // a retry
		marker(mark(1, i+1, i%2 == 0, 1))
		marker(mark(1, i+1, i%2 == 0, 1)) // a repeat
	}
	for i, p := range pending {
		res, err := p.Result()
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if repeat := i%5 == 2 || i%5 == 4; res.Duplicate != repeat {
			t.Errorf("%d: %+v, want a repeat: %v", i, res, repeat)
		}
	}
	if r.HighWatermark() != 150 || r.LastStableOffset() != 150 || len(abortedIn(t, r, 0, 150)) != 25 {
		t.Errorf("high watermark %d, last stable %d, aborted %v", r.HighWatermark(), r.LastStableOffset(), abortedIn(t, r, 0, 150))
	}
}

// A batch that waited while its transaction ended must not begin another.
func TestALateBatchDoesNotBeginATransaction(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	r := n.open(n.config(0))
	ctx := context.Background()
	verified := func(b []byte, since int64) error {
		_, err := r.AppendVerified(ctx, b, since).Result()
		return err
	}
	must(t, verified(inTxn(t, 1, 0, 0, 1), 0)) // 0
	since := r.HighWatermark()
	endTxn(t, r, mark(1, 0, true, 1)) // 1
	if err := verified(inTxn(t, 1, 0, 1, 1), since); !errors.Is(err, ErrInvalidTxnState) {
		t.Errorf("got %v", err)
	}
	must(t, verified(inTxn(t, 1, 0, 1, 1), r.HighWatermark()))
	if !r.OpenTxn(1, 0) {
		t.Error("not open")
	}
	must(t, verified(inTxn(t, 1, 0, 2, 1), 0)) // open: whenever it was asked
}

func TestAProducerWithAnOpenTransactionIsNotForgotten(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	c := newClock(1_700_000_000_000)
	cfg := n.config(0)
	cfg.Now = c.now
	r := n.open(cfg)
	put(t, r, inTxn(t, 1, 0, 0, 1)) // stays open
	put(t, r, inTxn(t, 2, 0, 0, 1))
	endTxn(t, r, mark(2, 1, true, 1)) // its epoch holds nothing but the marker
	put(t, r, inTxn(t, 3, 0, 0, 1))
	list := []expired{{1, 0, 0}, {3, 0, 2}}
	c.add(30 * time.Hour)
	must(t, r.proposeRetention(c.now()))
	// A command that a leader made before the transaction began spares it too.
	must(t, r.command(context.Background(), encodeForget(list)))
	var ids []int64
	for _, p := range r.Producers() {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []int64{1, 3}) || r.LastStableOffset() != 0 {
		t.Errorf("producers %v are known, last stable offset %d", ids, r.LastStableOffset())
	}
	endTxn(t, r, mark(1, 0, true, 1))
	endTxn(t, r, mark(3, 0, true, 1))
	c.add(30 * time.Hour)
	must(t, r.proposeRetention(c.now()))
	if got := r.Producers(); len(got) != 0 {
		t.Errorf("%+v are still known", got)
	}
	put(t, r, inTxn(t, 1, 0, 77, 1)) // begins anew
}

// Deleting records inside of an open transaction does not end it, and readers of
// committed records begin at the log start.
func TestDeletedRecordsOfAnOpenTransaction(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	cfg := n.config(0)
	cfg.SegmentBytes = 300
	r := n.open(cfg)
	put(t, r, inTxn(t, 1, 0, 0, 2)) // 0, 1
	for i := range 20 {
		put(t, r, batchOf(t, fmt.Sprint(i)))
	}
	if _, err := r.SetLogStart(context.Background(), 10); err != nil {
		t.Fatal(err)
	}
	must(t, r.retire())
	if a := r.log.Bounds().Anchor; a.NextOffset < 5 {
		t.Fatalf("anchor %+v is too low for the test", a)
	}
	check := func(r *Replica) {
		t.Helper()
		if got := r.LastStableOffset(); got != 10 {
			t.Errorf("last stable offset %d, want the log start 10", got)
		}
		if !r.OpenTxn(1, 0) {
			t.Error("the transaction is not open any more")
		}
		if b, err := r.ReadBelow(10, 1<<20, r.LastStableOffset()); err != nil || len(b) != 0 {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	}
	check(r)
	mem := n.fsys.(*vfs.Mem).Crash(nil)
	list, err := listSaved(mem, cfg.Dir, ckptPrefix)
	must(t, err)
	for _, index := range list { // the state at the anchor alone
		must(t, mem.Remove(cfg.Dir+"/"+savedName(ckptPrefix, index)))
	}
	m := newNode(t, mem, "d")
	cfg = m.config(0)
	cfg.SegmentBytes = 300
	r = m.open(cfg)
	waitFor(t, r, "log start", func() bool { return r.LogStart() == 10 })
	check(r)
	endTxn(t, r, mark(1, 0, false, 1)) // 22
	if got, want := abortedIn(t, r, 10, 23), []Aborted{abort(1, 0, 22, 23)}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := r.LastStableOffset(); got != 23 {
		t.Errorf("last stable offset %d, want 23", got)
	}
	// Once the marker is deleted too, nothing is left to say.
	if _, err := r.SetLogStart(context.Background(), 23); err != nil {
		t.Fatal(err)
	}
	must(t, r.retire())
	if _, err := r.AbortedIn(10, 23); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Errorf("deleted offsets: got %v", err)
	}
	must(t, r.checkpoint())
	names, err := mem.List(cfg.Dir)
	must(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".txnindex") {
			t.Errorf("%s is left behind", name)
		}
	}
}

// savedV1 is a state of version 1 with one producer that sent two batches.
const savedV1 = "57434b500001000000000000000000050000000000000002000000000000000d00000000000000030000000000000001000000000000000400000001" +
	"630000000100000000000000050002020000000700000008000000000000000affffffffffffffff0000000900000009000000000000000c00000000" +
	"000000054f580dcc"

// Data directories of version 1, which knew no transactions, are read.
func TestSavedStatesOfVersion1AreRead(t *testing.T) {
	v1, err := hex.DecodeString(savedV1)
	must(t, err)
	s, err := parseSaved(v1, 99)
	must(t, err)
	want := newProducer(2)
	want.n, want.last, want.lastMs, want.seenMs = 2, 12, 5, 99
	want.recent[0], want.recent[1] = sent{7, 8, 10, -1}, sent{9, 9, 12, 5}
	if s.index != 5 || s.term != 2 || s.next != 13 || s.logStart != 3 || string(s.config) != "c" || s.configIndex != 1 ||
		s.lastStampMs != 4 || s.aborted != nil || !reflect.DeepEqual(s.producers, producers{5: want}) {
		t.Errorf("got %+v, %+v", s, s.producers[5])
	}
	again, err := parseSaved(s.encode(), 99)
	if err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("got %+v, %v, want %+v", again, err, s)
	}
}

func TestSavedStatesHoldTransactions(t *testing.T) {
	s := &saved{
		index: 5, term: 2, next: 30, config: []byte("c"), producers: producers{},
		aborted: []seglog.AbortedSum{{Base: 0, Count: 3, CRC: 7}, {Base: 20, Count: 1, CRC: 9}},
	}
	st := stateOf(s)
	st.data(record.Batch{Attributes: 16, ProducerID: 5, ProducerEpoch: 2, BaseOffset: 10, MaxTimestampMs: 3}, 9)
	st.data(record.Batch{Attributes: 16, ProducerID: 6, BaseOffset: 12}, 9)
	st.end(record.Batch{ProducerID: 6, ProducerEpoch: 1, BaseOffset: 13}, mark(6, 1, false, 4), 9)
	got, err := parseSaved(s.encode(), 9)
	if err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("got %+v, %v, want %+v", got, err, s)
	}
	if open := stateOf(got).open; !reflect.DeepEqual(open, openTxns{{5, 10}}) {
		t.Errorf("open: %v", open)
	}
}
