package replica

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/weir-analytics/weir/broker/record"
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
