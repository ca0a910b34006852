package replica

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/vfs"
)

func TestFirstRecordIsOffsetZeroAndOffsetsAreDense(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	r := n.open(n.config(0))
	var want []string
	next := int64(0)
	for round := range 4 {
		for i := range 10 {
			vals := []string{fmt.Sprint(round, i, "a"), fmt.Sprint(round, i, "b")}[:1+i%2]
			if got := put(t, r, batchOf(t, vals...)); got.BaseOffset != next || got.LogStart != 0 || got.LogAppendTimeMs != -1 {
				t.Fatalf("got %+v, want offset %d", got, next)
			}
			next += int64(len(vals))
			want = append(want, vals...)
		}
		if r.HighWatermark() != next {
			t.Errorf("high watermark %d, want %d", r.HighWatermark(), next)
		}
		must(t, r.Close())
		r = n.open(n.config(0))
	}
	if got := values(t, r); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	node, epoch, serving := r.Leader()
	if node != 3 || epoch < 5 || !serving {
		t.Errorf("leader %d, epoch %d, serving %v", node, epoch, serving)
	}
}

func TestAKilledNodeKeepsWhatItAnswered(t *testing.T) {
	mem := vfs.NewMem()
	n := newNode(t, mem, "d")
	var want []string
	for round := range 5 {
		r := n.open(n.config(0))
		for i := range 20 {
			v := fmt.Sprint(round, "-", i)
			put(t, r, batchOf(t, v))
			want = append(want, v)
		}
		mem = mem.Crash(nil)
		n = newNode(t, mem, "d")
	}
	r := n.open(n.config(0))
	if got := values(t, r); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestReadKeepsToTheBounds(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	r := n.open(n.config(0))
	for i := range 5 {
		put(t, r, batchOf(t, strconv.Itoa(i)))
	}
	if b, err := r.Read(5, 100); err != nil || len(b) != 0 {
		t.Errorf("at the high watermark: %d bytes, %v", len(b), err)
	}
	for _, o := range []int64{-1, 6} {
		if _, err := r.Read(o, 100); !errors.Is(err, ErrOffsetOutOfRange) {
			t.Errorf("offset %d: got %v", o, err)
		}
	}
	start, err := r.SetLogStart(context.Background(), 3)
	if err != nil || start != 3 || r.LogStart() != 3 {
		t.Fatalf("got %d, %v", start, err)
	}
	if _, err := r.Read(2, 100); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Errorf("below the log start: got %v", err)
	}
	if got := put(t, r, batchOf(t, "x")); got.LogStart != 3 {
		t.Errorf("got %+v", got)
	}
	if _, err := r.SetLogStart(context.Background(), 7); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Errorf("beyond the high watermark: got %v", err)
	}
	if start, err = r.SetLogStart(context.Background(), -1); err != nil || start != 6 {
		t.Errorf("to the high watermark: got %d, %v", start, err)
	}
	must(t, r.Close())
	if r = n.open(n.config(0)); r.LogStart() != 6 {
		t.Errorf("after a restart: log start %d", r.LogStart())
	}
}

func TestRefusals(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	cfg := n.config(0)
	cfg.MaxBatchBytes = 200
	r := n.open(cfg)
	bad := batchOf(t, "a")
	bad[len(bad)-1] ^= 1
	old := batchOf(t, "a")
	old[16] = 1
	control := record.NewBuilder(record.None)
	control.SetControl()
	control.Append(record.Record{})
	for _, c := range []struct {
		name  string
		batch []byte
		want  error
	}{
		{"flipped bit", bad, ErrCorruptBatch},
		{"cut short", batchOf(t, "a")[:50], ErrCorruptBatch},
		{"two batches", append(batchOf(t, "a"), batchOf(t, "b")...), ErrCorruptBatch},
		{"empty", nil, ErrCorruptBatch},
		{"magic 1", old, ErrUnsupportedMagic},
		{"too large", batchOf(t, string(make([]byte, 300))), ErrBatchTooLarge},
		{"control batch", build(t, control), ErrInvalidRecord},
	} {
		if _, err := r.Append(context.Background(), c.batch).Result(); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	if r.HighWatermark() != 0 {
		t.Errorf("high watermark %d", r.HighWatermark())
	}
	must(t, r.Close())
	if _, err := r.Append(context.Background(), batchOf(t, "a")).Result(); !errors.Is(err, ErrStopped) {
		t.Errorf("closed: got %v", err)
	}
	if _, err := r.Read(0, 10); !errors.Is(err, ErrStopped) {
		t.Errorf("closed: got %v", err)
	}
}

func TestLogAppendTimeNeverGoesBack(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	cfg := n.config(0)
	cfg.Timestamps = LogAppendTime
	c := newClock(5000)
	cfg.Now = c.now
	r := n.open(cfg)
	if got := put(t, r, batchOf(t, "a")); got.LogAppendTimeMs != 5000 {
		t.Errorf("got %+v", got)
	}
	c.ms.Store(4000)
	must(t, r.Close())
	r = n.open(cfg)
	if got := put(t, r, batchOf(t, "b")); got.LogAppendTimeMs != 5000 {
		t.Errorf("got %+v", got)
	}
	c.ms.Store(6000)
	if got := put(t, r, batchOf(t, "c")); got.LogAppendTimeMs != 6000 {
		t.Errorf("got %+v", got)
	}
	if o, ms, ok, err := r.OffsetForTime(5001); err != nil || !ok || o != 2 || ms != 6000 {
		t.Errorf("got %d, %d, %v, %v", o, ms, ok, err)
	}
	if o, ms, ok, err := r.MaxTimestamp(); err != nil || !ok || o != 2 || ms != 6000 {
		t.Errorf("got %d, %d, %v, %v", o, ms, ok, err)
	}
}

func TestManyGroupsStartFast(t *testing.T) {
	if testing.Short() {
		t.Skip("writes to the real disk")
	}
	n := newNode(t, vfs.OS{}, t.TempDir())
	for round := range 2 {
		began := time.Now()
		var rs []*Replica
		for p := range int32(100) {
			r, err := Open(n.config(p))
			must(t, err)
			rs = append(rs, r)
		}
		for _, r := range rs {
			waitFor(t, r, "leadership", func() bool { _, _, serving := r.Leader(); return serving })
		}
		t.Logf("round %d: 100 groups ready in %v", round, time.Since(began))
		began = time.Now()
		for _, r := range rs {
			must(t, r.Close())
		}
		t.Logf("closed in %v", time.Since(began))
	}
}
