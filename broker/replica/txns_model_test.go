package replica

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/vfs"
)

// txnModel says what a partition must say of its transactions.
type txnModel struct {
	next    int64
	open    map[int64]int64 // first offsets by producer
	epoch   map[int64]int16
	aborted []Aborted
}

func newTxnModel() *txnModel {
	return &txnModel{open: map[int64]int64{}, epoch: map[int64]int16{}}
}

func (m *txnModel) lastStable() int64 {
	stable := m.next
	for _, first := range m.open {
		stable = min(stable, first)
	}
	return stable
}

func (m *txnModel) data(h record.Batch) {
	if h.Transactional() {
		if _, open := m.open[h.ProducerID]; !open {
			m.open[h.ProducerID] = h.BaseOffset
		}
	}
	m.epoch[h.ProducerID] = h.ProducerEpoch
	m.next = h.NextOffset()
}

func (m *txnModel) marker(mk Marker, offset int64) {
	first, open := m.open[mk.ProducerID]
	delete(m.open, mk.ProducerID)
	m.epoch[mk.ProducerID] = mk.ProducerEpoch
	m.next = offset + 1
	if open && !mk.Commit {
		m.aborted = append(m.aborted, abort(mk.ProducerID, first, offset, m.lastStable()))
	}
}

// in is AbortedIn by going through all of them.
func (m *txnModel) in(from, to int64) []Aborted {
	var out []Aborted
	for _, a := range m.aborted {
		if a.LastOffset >= from && a.FirstOffset < to {
			out = append(out, a)
		}
	}
	return out
}

func (m *txnModel) check(t testing.TB, r *Replica, what string) {
	t.Helper()
	start := r.LogStart()
	if got := r.HighWatermark(); got != m.next {
		t.Fatalf("%s: high watermark %d, want %d", what, got, m.next)
	}
	if got, want := r.LastStableOffset(), max(m.lastStable(), start); got != want {
		t.Fatalf("%s: last stable offset %d, want %d", what, got, want)
	}
	for _, span := range [][2]int64{{start, m.next}, {start, (start + m.next) / 2}, {(start + m.next) / 2, m.next}, {m.next - 1, m.next}} {
		if span[0] < start || span[0] >= span[1] {
			continue
		}
		got, err := r.AbortedIn(span[0], span[1])
		if err != nil {
			t.Fatalf("%s: aborted in %v: %v", what, span, err)
		}
		if want := m.in(span[0], span[1]); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: aborted in %v:\n got %v\nwant %v", what, span, got, want)
		}
	}
	open := map[int64]int64{}
	for _, p := range r.Producers() {
		if p.TxnStartOffset >= 0 {
			open[p.ID] = p.TxnStartOffset
		}
		if want, known := m.epoch[p.ID]; known && p.Epoch != want {
			t.Fatalf("%s: producer %d has epoch %d, want %d", what, p.ID, p.Epoch, want)
		}
	}
	if !reflect.DeepEqual(open, m.open) {
		t.Fatalf("%s: open transactions %v, want %v", what, open, m.open)
	}
}

// readModel makes the model of all records that can be read, by reading them.
func readModel(t testing.TB, r *Replica) *txnModel {
	t.Helper()
	m := newTxnModel()
	for at := r.LogStart(); at < r.HighWatermark(); {
		b, err := r.Read(at, 1<<16)
		if err != nil || len(b) == 0 {
			t.Fatalf("read at %d: %d bytes, %v", at, len(b), err)
		}
		for len(b) > 0 {
			h, rest, err := record.Parse(b)
			must(t, err)
			if h.Control() {
				mk, ok, err := record.ParseMarker(h)
				if err != nil || !ok {
					t.Fatalf("control batch at %d: %v, %v", h.BaseOffset, ok, err)
				}
				m.marker(mk, h.BaseOffset)
			} else {
				m.data(h)
			}
			at, b = h.NextOffset(), rest
		}
	}
	return m
}

// txnWriter writes random transactions of a few producers, one after the other.
type txnWriter struct {
	t   testing.TB
	rng *rand.Rand
	m   *txnModel
	seq map[int64]int32
}

func (w *txnWriter) write(r *Replica) {
	w.t.Helper()
	id := 1 + w.rng.Int64N(4)
	epoch := w.m.epoch[id]
	_, open := w.m.open[id]
	switch {
	case w.rng.IntN(5) == 0:
		res := put(w.t, r, batchOf(w.t, "outside of transactions"))
		w.m.next = res.BaseOffset + 1
	case open && w.rng.IntN(3) == 0:
		mk := mark(id, epoch, w.rng.IntN(3) == 0, 1)
		if w.rng.IntN(2) == 0 { // the coordinator begins the next epoch
			mk.ProducerEpoch++
			w.seq[id] = 0
		}
		offset := r.HighWatermark()
		endTxn(w.t, r, mk)
		endTxn(w.t, r, mk)
		w.m.marker(mk, offset)
	default:
		n := 1 + w.rng.Int32N(3)
		b := inTxn(w.t, id, epoch, w.seq[id], int(n))
		h, err := record.ParseHeader(b)
		must(w.t, err)
		res := put(w.t, r, b)
		h.BaseOffset = res.BaseOffset
		w.seq[id] += n
		w.m.data(h)
	}
}

// Whatever happens to a partition between writes, it knows its transactions:
// checkpoints, clean stops, power cuts, deleted records, and side files that are
// lost, cut or changed.
func TestTransactionsAreKnownWhateverHappens(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 77))
		w := &txnWriter{t: t, rng: rng, m: newTxnModel(), seq: map[int64]int32{}}
		mem := vfs.NewMem()
		rebuilt := 0
		var n *node
		var r *Replica
		open := func() {
			n = newNode(t, mem, "d")
			cfg := n.config(0)
			cfg.SegmentBytes = 1500
			r = n.open(cfg)
			for _, e := range n.eventList() {
				if _, ok := e.(IndexRebuilt); ok {
					rebuilt++
				}
			}
		}
		open()
		for i := range 250 {
			w.write(r)
			what := fmt.Sprintf("seed %d, step %d", seed, i)
			switch rng.IntN(25) {
			case 0:
				must(t, r.checkpoint())
				what += ", checkpoint"
			case 1:
				must(t, r.Close())
				open()
				what += ", clean stop"
			case 2:
				mem = mem.Crash(func() bool { return rng.IntN(2) == 0 })
				open()
				what += ", power cut"
			case 3:
				start := r.LogStart() + rng.Int64N(max(r.HighWatermark()-r.LogStart(), 1))/2
				_, err := r.SetLogStart(context.Background(), start)
				must(t, err)
				must(t, r.retire())
				what += ", records deleted"
			case 4:
				must(t, r.checkpoint())
				mem = mem.Crash(nil)
				damageIndexes(t, mem, rng)
				open()
				what += ", damaged index"
			}
			w.m.check(t, r, what)
		}
		if rebuilt == 0 {
			t.Errorf("seed %d: no index was rebuilt, the test shows less than it says", seed)
		}
		must(t, r.Close())
	}
}

// damageIndexes loses, cuts or changes the files of aborted transactions.
func damageIndexes(t testing.TB, mem *vfs.Mem, rng *rand.Rand) {
	t.Helper()
	names, err := mem.List("d/0")
	must(t, err)
	for _, name := range names {
		if !strings.HasSuffix(name, ".txnindex") {
			continue
		}
		switch rng.IntN(4) {
		case 0:
			must(t, mem.Remove("d/0/"+name))
		case 1:
			mem.Corrupt("d/0/"+name, func(b []byte) []byte { return b[:rng.IntN(len(b))] })
		case 2:
			mem.Corrupt("d/0/"+name, func(b []byte) []byte { b[rng.IntN(34)] ^= 1 << rng.IntN(8); return b })
		case 3: // what follows the part that counts is of no interest
			mem.Corrupt("d/0/"+name, func(b []byte) []byte { return append(b, 1, 2, 3) })
		}
	}
}

// An index that is damaged under a running partition is an error, not a list
// with something missing.
func TestADamagedIndexIsNotReadFrom(t *testing.T) {
	mem := vfs.NewMem()
	n := newNode(t, mem, "d")
	r := n.open(n.config(0))
	put(t, r, inTxn(t, 1, 0, 0, 1))
	endTxn(t, r, mark(1, 0, false, 1))
	must(t, r.checkpoint())
	name := "d/0/" + fmt.Sprintf("%020d.txnindex", 0)
	mem.Corrupt(name, func(b []byte) []byte { b[15] ^= 1; return b })
	if list, err := r.AbortedIn(0, 2); !errors.Is(err, ErrCorrupt) || r.Damage() == nil {
		t.Errorf("got %v, %v", list, err)
	}
	must(t, mem.Remove(name))
	if list, err := r.AbortedIn(0, 2); !errors.Is(err, ErrCorrupt) {
		t.Errorf("without the file: got %v, %v", list, err)
	}
	must(t, r.Close())
	r = n.open(n.config(0))
	if got := abortedIn(t, r, 0, 2); !reflect.DeepEqual(got, []Aborted{abort(1, 0, 1, 2)}) {
		t.Errorf("after a restart: got %v", got)
	}
}

// endedTxns runs transactions, each of a producer of its own, until the disk
// fails; it returns how those ended whose marker was acknowledged.
func endedTxns(t *testing.T, n *node, first int64) (ended map[int64]bool, err error) {
	t.Helper()
	ended = map[int64]bool{}
	cfg := n.config(0)
	cfg.SegmentBytes = 700
	r, err := Open(cfg)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	waitFor(t, r, "leadership or a failed disk", func() bool {
		_, _, serving := r.Leader()
		return serving || r.Err() != nil
	})
	ctx := context.Background()
	for i := range int64(7) {
		a, b := first+2*i, first+2*i+1 // two that overlap; b is still open when a checkpoint is made
		data := r.Append(ctx, inTxn(t, a, 0, 0, 1))
		r.Append(ctx, inTxn(t, b, 0, 0, 1))
		if _, err := data.Result(); err != nil {
			return ended, err
		}
		if r.AppendMarker(ctx, mark(a, 0, i%2 == 0, 1)) == nil {
			ended[a] = i%2 == 0
		}
		if i%3 == 1 {
			if err := r.checkpoint(); err != nil {
				return ended, err
			}
		}
		if r.AppendMarker(ctx, mark(b, 1, i%3 == 0, 1)) == nil {
			ended[b] = i%3 == 0
		}
	}
	return ended, r.Err()
}

// Whatever the moment of a power cut, in one life after the other: what is said
// of transactions is what the log has, and an acknowledged marker is in it.
func TestTransactionsAfterAPowerCutAtEveryOperation(t *testing.T) {
	cut := errors.New("power cut")
	for at := int64(1); ; at++ {
		rng := rand.New(rand.NewPCG(uint64(at), 9))
		survives := func() bool { return rng.IntN(3) > 0 }
		if at%4 == 0 {
			survives = func() bool { return true } // killed: all that was written stays
		}
		mem := vfs.NewMem()
		ended := map[int64]bool{}
		over := true
		for life := range int64(2) {
			var ops atomic.Int64
			n, err := newNodeOrError(t, vfs.Hooked{FS: mem, Before: func(op vfs.Op, name string) error {
				if ops.Add(1) >= at {
					return cut
				}
				return nil
			}})
			if err == nil {
				var more map[int64]bool
				more, err = endedTxns(t, n, 1000*life+1)
				for id, commit := range more {
					ended[id] = commit
				}
			}
			over = over && err == nil
			mem = mem.Crash(survives)
		}
		what := fmt.Sprintf("operation %d", at)
		n := newNode(t, mem, "d")
		cfg := n.config(0)
		cfg.SegmentBytes = 700
		r, err := Open(cfg)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		waitFor(t, r, what+": leadership", func() bool { _, _, serving := r.Leader(); return serving })
		m := readModel(t, r)
		m.check(t, r, what)
		wasAborted := map[int64]bool{}
		for _, a := range m.aborted {
			wasAborted[a.ProducerID] = true
		}
		for id, commit := range ended {
			if _, open := m.open[id]; open || wasAborted[id] == commit {
				t.Fatalf("%s: the acknowledged marker of producer %d (commit %v) is not in the log", what, id, commit)
			}
		}
		must(t, r.Close())
		if over {
			if len(ended) != 28 || len(m.aborted) == 0 {
				t.Errorf("%d transactions ended, want 28", len(ended))
			}
			t.Logf("%d operations", at-1)
			return
		}
	}
}
