package replica

import (
	"fmt"
	"testing"
	"time"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/vfs"
)

func at(t testing.TB, ms int64, value string) []byte {
	t.Helper()
	b := record.NewBuilder(record.None)
	b.Append(record.Record{Value: []byte(value), TimestampMs: ms})
	return build(t, b)
}

func TestOldSegmentsGoByTime(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	c := newClock(1_000_000)
	cfg := n.config(0)
	cfg.Now = c.now
	cfg.SegmentBytes = 1000
	cfg.RetainFor = time.Minute
	r := n.open(cfg)
	for i := range 100 {
		put(t, r, at(t, 1_000_000+int64(i)*1000, fmt.Sprint("record ", i)))
	}
	c.ms.Store(1_000_000 + 100_000)
	must(t, r.proposeRetention(c.now()))
	must(t, r.retire())
	start, size := r.LogStart(), r.SizeBytes()
	if start < 20 || start > 40 {
		t.Errorf("log starts at %d, want shortly below 40", start)
	}
	first, err := r.Read(start, 1)
	must(t, err)
	if h, err := record.Check(first); err != nil || h.BaseOffset != start {
		t.Errorf("got %+v, %v", h, err)
	}
	// All of it, the last segment too.
	c.add(time.Hour)
	must(t, r.proposeRetention(c.now()))
	must(t, r.retire())
	if r.LogStart() != 100 || r.SizeBytes() != 0 || size == 0 {
		t.Errorf("log starts at %d and has %d bytes", r.LogStart(), r.SizeBytes())
	}
	if got := put(t, r, at(t, c.ms.Load(), "x")); got.BaseOffset != 100 || got.LogStart != 100 {
		t.Errorf("got %+v", got)
	}
	m := newNode(t, n.fsys.(*vfs.Mem).Crash(nil), "d")
	r = m.open(m.config(0))
	if got := fmt.Sprint(values(t, r)); got != "[x]" || r.LogStart() != 100 || r.HighWatermark() != 101 {
		t.Errorf("after a crash: %s from %d to %d", got, r.LogStart(), r.HighWatermark())
	}
}

func TestOldSegmentsGoBySize(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	cfg := n.config(0)
	cfg.SegmentBytes = 1000
	r := n.open(cfg)
	for i := range 200 {
		put(t, r, from(t, 5, 0, int32(i), 1))
	}
	s := cfg.Settings
	s.RetainBytes = 5000
	must(t, r.SetSettings(s))
	for range 3 {
		must(t, r.proposeRetention(time.Now()))
		must(t, r.retire())
		if size := r.SizeBytes(); size < 5000 || size > 6000 {
			t.Errorf("%d bytes are kept, want 5000 and a segment at most", size)
		}
	}
	// The state of producers at the log start is that of the log up to there.
	a := r.log.Bounds().Anchor
	st, err := r.anchorState(a)
	must(t, err)
	if p := st.producers[5]; p == nil || int64(p.lastSent().last) != a.NextOffset-1 || st.next != a.NextOffset {
		t.Errorf("at the anchor %+v: %+v", a, st)
	}
	// Without any checkpoint the log is applied from its start.
	mem := n.fsys.(*vfs.Mem).Crash(nil)
	list, err := listSaved(mem, cfg.Dir, ckptPrefix)
	must(t, err)
	for _, index := range list {
		must(t, mem.Remove(cfg.Dir+"/"+savedName(ckptPrefix, index)))
	}
	m := newNode(t, mem, "d")
	r = m.open(m.config(0))
	if got := put(t, r, from(t, 5, 0, 197, 1)); !got.Duplicate || got.BaseOffset != 197 {
		t.Errorf("got %+v", got)
	}
}
