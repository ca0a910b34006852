package replica

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/vfs"
)

// acked runs a few batches through a replica until its disk fails and returns
// the values that were acknowledged and those that certainly were not.
func acked(t *testing.T, n *node, prefix string) (yes, no []string, err error) {
	t.Helper()
	cfg := n.config(0)
	cfg.SegmentBytes = 800
	r, err := Open(cfg)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	end := time.After(20 * time.Second)
	for {
		ch := r.Changed()
		if _, _, serving := r.Leader(); serving {
			break
		}
		if err := r.Err(); err != nil {
			return nil, nil, err
		}
		select {
		case <-ch:
		case <-end:
			t.Fatal("neither serving nor stopped")
		}
	}
	var pending []*Pending
	for i := range 12 {
		pending = append(pending, r.Append(context.Background(), batchOf(t, fmt.Sprint(prefix, i))))
		if i == 6 {
			_ = r.checkpoint()
		}
		if i%3 == 0 {
			<-pending[i].Done()
		}
	}
	for i, p := range pending {
		switch _, err := p.Result(); {
		case err == nil:
			yes = append(yes, fmt.Sprint(prefix, i))
		case !errors.Is(err, ErrOutcomeUnknown):
			no = append(no, fmt.Sprint(prefix, i))
		}
	}
	return yes, no, r.Err()
}

func checkAcked(t *testing.T, mem *vfs.Mem, yes, no []string, what string) {
	t.Helper()
	n := newNode(t, mem, "d")
	r, err := Open(n.config(0))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer r.Close()
	waitFor(t, r, what+": leadership", func() bool { _, _, serving := r.Leader(); return serving })
	checkValues(t, r, yes, no, what)
	put(t, r, batchOf(t, "more"))
}

// checkValues finds each acknowledged value once and none that was refused.
func checkValues(t *testing.T, r *Replica, yes, no []string, what string) {
	t.Helper()
	have := map[string]int{}
	for _, v := range values(t, r) {
		have[v]++
	}
	for _, v := range yes {
		if have[v] != 1 {
			t.Fatalf("%s: acknowledged record %q is there %d times", what, v, have[v])
		}
	}
	for _, v := range no {
		if have[v] != 0 {
			t.Fatalf("%s: record %q is there although it was refused", what, v)
		}
	}
}

// Whatever operation of the disk fails, once or for good: no panic, no hang,
// acknowledged records are there after a restart, refused ones are not.
func TestErrorAtEveryOperation(t *testing.T) {
	boom := errors.New("input/output error")
	for _, forGood := range []bool{false, true} {
		for at := int64(1); ; at++ {
			mem := vfs.NewMem()
			var ops atomic.Int64
			fsys := vfs.Hooked{FS: mem, Before: func(op vfs.Op, name string) error {
				if k := ops.Add(1); k == at || forGood && k > at {
					return boom
				}
				return nil
			}}
			what := fmt.Sprintf("operation %d, for good %v", at, forGood)
			hard, err := newNodeOrError(t, fsys)
			var yes, no []string
			if err == nil {
				yes, no, err = acked(t, hard, "v")
			}
			if err != nil && !errors.Is(err, boom) && !errors.Is(err, ErrStopped) {
				t.Fatalf("%s: got %v", what, err)
			}
			checkAcked(t, mem.Crash(func() bool { return true }), yes, no, what)
			if ops.Load() < at {
				t.Logf("%d operations", at-1)
				break
			}
		}
	}
}

func newNodeOrError(t *testing.T, fsys vfs.FS) (n *node, err error) {
	n = newNodeWith(t, fsys, "d", func(e error) { err = e })
	return n, err
}

// Whatever the moment of a power cut, in one life after the other.
func TestPowerCutAtEveryOperation(t *testing.T) {
	cut := errors.New("power cut")
	for at := int64(1); ; at++ {
		rng := rand.New(rand.NewPCG(uint64(at), 5))
		survives := func() bool { return rng.IntN(3) > 0 }
		mem := vfs.NewMem()
		var yes []string
		ended := false
		for life := range 3 {
			var ops atomic.Int64
			n, err := newNodeOrError(t, vfs.Hooked{FS: mem, Before: func(op vfs.Op, name string) error {
				if ops.Add(1) >= at {
					return cut
				}
				return nil
			}})
			if err == nil {
				var more []string
				more, _, err = acked(t, n, fmt.Sprint("life", life, "-"))
				yes = append(yes, more...)
				ended = err == nil
			}
			mem = mem.Crash(survives)
		}
		checkAcked(t, mem, yes, nil, fmt.Sprintf("operation %d", at))
		if ended {
			t.Logf("%d operations", at-1)
			return
		}
	}
}

func TestALogThatEndsEarlyIsNotServed(t *testing.T) {
	mem := vfs.NewMem()
	n := newNode(t, mem, "d")
	r := n.open(n.config(0))
	for i := range 10 {
		put(t, r, batchOf(t, fmt.Sprint(i)))
	}
	must(t, r.Close())
	cfg := n.config(0)
	names, err := mem.List(cfg.Dir)
	must(t, err)
	for _, name := range names { // a disk that was swapped: votes are there, the log is not
		if name[0] != 'c' {
			must(t, mem.Remove(cfg.Dir+"/"+name))
		}
	}
	if _, err := Open(cfg); !errors.Is(err, ErrLostData) {
		t.Errorf("without its log: got %v", err)
	}
	must(t, mem.RemoveAll(cfg.Dir))
	if _, err := Open(cfg); !errors.Is(err, ErrLostData) {
		t.Errorf("without its directory: got %v", err)
	}
	must(t, Remove(cfg))
	r = n.open(cfg)
	if got := put(t, r, batchOf(t, "anew")); got.BaseOffset != 0 {
		t.Errorf("after Remove: got %+v", got)
	}
}

func TestLostVotesAreNoticed(t *testing.T) {
	mem := vfs.NewMem()
	n := newNode(t, mem, "d")
	r := n.open(n.config(0))
	put(t, r, batchOf(t, "a"))
	must(t, r.Close())
	must(t, n.hard.Close())
	must(t, mem.Remove("d/hardstate.wal"))
	n.damaged = true
	n = newNode(t, mem, "d")
	if found := n.inspect(n.config(0)); len(found) != 1 || !strings.Contains(found[0], "hardstate.wal") {
		t.Errorf("found %q", found)
	}
	if _, err := Open(n.config(0)); !errors.Is(err, ErrLostData) {
		t.Errorf("got %v", err)
	}
}

func TestManyWritersAndReaders(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	cfg := n.config(0)
	cfg.SegmentBytes = 20_000
	cfg.QueueBytes = 4000
	r := n.open(cfg)
	const writers, each = 8, 60
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			last := int64(-1)
			for i := range each {
				res, err := r.Append(context.Background(), from(t, int64(w), 0, int32(i), 1+i%3)).Result()
				if err != nil && !errors.Is(err, ErrOutOfOrderSequence) {
					t.Error(err)
				}
				if err == nil && res.BaseOffset <= last {
					t.Errorf("offset %d after %d", res.BaseOffset, last)
				}
				last = max(last, res.BaseOffset)
			}
		})
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for at := int64(0); ; {
				ch := r.Changed()
				b, err := r.Read(at, 3000)
				if err != nil {
					t.Error(err)
					return
				}
				if len(b) == 0 {
					select {
					case <-ch:
						continue
					case <-stop:
						return
					}
				}
				at = nextOffset(t, b)
			}
		})
	}
	wg.Wait()
	close(stop)
	readers.Wait()
}

func TestAFullQueueRefusesInTime(t *testing.T) {
	mem := vfs.NewMem()
	gate := make(chan struct{})
	var armed atomic.Bool
	n := newNode(t, vfs.Hooked{FS: mem, Before: func(op vfs.Op, name string) error {
		if armed.Load() && op == vfs.OpSync {
			<-gate
		}
		return nil
	}}, "d")
	cfg := n.config(0)
	cfg.QueueBytes = 1000
	r := n.open(cfg)
	armed.Store(true)
	var pending []*Pending
	refused := 0
	for range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		p := r.Append(ctx, batchOf(t, string(make([]byte, 100))))
		cancel()
		select {
		case <-p.Done():
			if _, err := p.Result(); !errors.Is(err, ErrQueueFull) {
				t.Errorf("got %v", err)
			}
			refused++
		default:
			pending = append(pending, p)
		}
	}
	if refused == 0 || len(pending) == 0 {
		t.Errorf("%d refused, %d taken", refused, len(pending))
	}
	armed.Store(false)
	close(gate)
	for _, p := range pending {
		if _, err := p.Result(); err != nil {
			t.Error(err)
		}
	}
	if got := r.HighWatermark(); got != int64(len(pending)) {
		t.Errorf("high watermark %d, want %d", got, len(pending))
	}
}

// tightDisk has as much room as it is told.
type tightDisk struct {
	vfs.FS
	free *atomic.Int64
}

func (d tightDisk) Space(string) (free, total int64, err error) { return d.free.Load(), 100 << 30, nil }

func TestAFullDiskRefusesUntilThereIsRoom(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 30)
	n := newNode(t, tightDisk{vfs.NewMem(), &free}, "d")
	r := n.open(n.config(0))
	put(t, r, batchOf(t, "a"))
	free.Store(1 << 20)
	r.cfg.Space.Watch(time.Now().Add(time.Minute))
	_, err := r.Append(context.Background(), batchOf(t, "b")).Result()
	if !errors.Is(err, ErrDiskFull) || !errors.Is(err, ErrStopped) {
		t.Errorf("got %v", err)
	}
	if _, err := r.Read(0, 10); err != nil {
		t.Errorf("reading goes on: %v", err)
	}
	if _, err := r.SetLogStart(context.Background(), 1); err != nil {
		t.Errorf("retention goes on: %v", err)
	}
	free.Store(1 << 30)
	r.cfg.Space.Watch(time.Now().Add(2 * time.Minute))
	if got := put(t, r, batchOf(t, "b")); got.BaseOffset != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestDamageFoundByAReaderIsReportedOnceAndStopsNothingElse(t *testing.T) {
	mem := vfs.NewMem()
	n := newNode(t, mem, "d")
	r, err := Open(n.config(0))
	must(t, err)
	waitFor(t, r, "leadership", func() bool { _, _, serving := r.Leader(); return serving })
	sizes := []int{}
	for _, value := range []string{"a", "b", "c"} {
		b := batchOf(t, value)
		sizes = append(sizes, len(b))
		put(t, r, b)
	}
	path := n.config(0).Dir + "/00000000000000000000.log"
	mem.Corrupt(path, func(b []byte) []byte { b[sizes[0]+65] ^= 1; return b })
	if b, err := r.Read(0, 1000); err != nil || len(b) != sizes[0] {
		t.Errorf("before the damage: %d bytes, %v", len(b), err)
	}
	if err := r.Damage(); err != nil {
		t.Errorf("before anybody met it: %v", err)
	}
	for range 3 {
		if _, err := r.Read(1, 1000); !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrStopped) {
			t.Errorf("at the damage: %v", err)
		}
	}
	if b, err := r.Read(2, 1000); err != nil || len(b) != sizes[2] {
		t.Errorf("behind the damage: %d bytes, %v", len(b), err)
	}
	if err := r.Damage(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), fmt.Sprint("at byte ", sizes[0])) {
		t.Errorf("the damage is described as %v", err)
	}
	put(t, r, batchOf(t, "d"))
	damaged := 0
	for _, e := range n.eventList() {
		if _, ok := e.(Damaged); ok {
			damaged++
		}
	}
	if damaged != 1 {
		t.Errorf("%d events", damaged)
	}
	must(t, r.Close())
	r, err = Open(n.config(0))
	must(t, err) // it was closed in order, so that nothing is read through
	must(t, r.Close())
}
