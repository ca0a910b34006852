package replica

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
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
	if p := st.producers[5]; p == nil || int64(p.lastSequence()) != a.NextOffset-1 || st.next != a.NextOffset {
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

// Readers that fall behind retention are told so, and never get anything else
// than the records of the offset they asked for.
func TestReadersAgainstRetention(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	n.shared = seglog.NewShared(seglog.Limits{OpenSegments: 2})
	cfg := n.config(0)
	cfg.SegmentBytes, cfg.RetainBytes = 1500, 6000
	r := n.open(cfg)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for at := r.LogStart(); ; {
				select {
				case <-stop:
					return
				default:
				}
				b, err := r.Read(at, 700)
				if errors.Is(err, ErrOffsetOutOfRange) {
					at = r.LogStart()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				for len(b) > 0 {
					h, rest, err := record.Parse(b)
					if err == nil {
						err = h.CheckCRC()
					}
					if err != nil || h.BaseOffset != at {
						t.Errorf("at %d: got offset %d, %v", at, h.BaseOffset, err)
						return
					}
					at, b = h.NextOffset(), rest
				}
				if at == r.HighWatermark() {
					at = r.LogStart()
				}
				if _, _, _, err := r.OffsetForTime(1_000_000 + at); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 400 {
		put(t, r, at(t, 1_000_000+int64(i), fmt.Sprint("record ", i)))
		if i%7 == 0 {
			must(t, r.proposeRetention(time.Now()))
			must(t, r.retire())
		}
	}
	close(stop)
	wg.Wait()
	if r.LogStart() == 0 {
		t.Error("nothing was deleted, the test shows nothing")
	}
}

// With LogAppendTime the clock of the leader decides, whatever times producers
// set: imported history is kept as long as what is written now.
func TestRetentionGoesByAppendTimeWhenTheTopicDoes(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	c := newClock(5_000_000)
	cfg := n.config(0)
	cfg.Now, cfg.SegmentBytes, cfg.RetainFor, cfg.Timestamps = c.now, 500, time.Hour, LogAppendTime
	r := n.open(cfg)
	for i := range 60 { // two a minute, dated long ago and far ahead
		put(t, r, at(t, int64(i%2)*1_000_000_000_000, fmt.Sprint("record ", i)))
		c.add(30 * time.Second)
	}
	retain := func() {
		must(t, r.proposeRetention(c.now()))
		must(t, r.retire())
	}
	if retain(); r.LogStart() != 0 {
		t.Errorf("log starts at %d, nothing is an hour old", r.LogStart())
	}
	c.add(45 * time.Minute) // the first half is older than an hour now
	if retain(); r.LogStart() < 20 || r.LogStart() > 30 {
		t.Errorf("log starts at %d, want shortly below 30", r.LogStart())
	}
	c.add(time.Hour)
	if retain(); r.LogStart() != 60 {
		t.Errorf("log starts at %d, all is older than an hour", r.LogStart())
	}
}

func TestASegmentIsSealedAtItsAge(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	c := newClock(5_000_000)
	cfg := n.config(0)
	cfg.Now, cfg.SegmentAge = c.now, 10*time.Minute
	r := n.open(cfg)
	put(t, r, batchOf(t, "a"))
	c.add(9 * time.Minute)
	must(t, r.retire())
	if n := len(r.log.Segments()); n != 1 {
		t.Errorf("%d segments after 9 minutes", n)
	}
	c.add(2 * time.Minute)
	must(t, r.retire())
	put(t, r, batchOf(t, "b"))
	if g := r.log.Segments(); len(g) != 2 || !g[0].Sealed || g[1].Base != 1 {
		t.Errorf("after 11 minutes: %+v", g)
	}
	c.add(time.Hour)
	s := *r.settings.Load()
	s.SegmentAge = 2 * time.Hour // a change holds at once
	must(t, r.SetSettings(s))
	must(t, r.retire())
	if n := len(r.log.Segments()); n != 2 {
		t.Errorf("%d segments, the second one is an hour old of two", n)
	}
}

// compact,delete: what is too old goes, segments of which the cleaner has left
// nothing included.
func TestCleanedSegmentsGoByTimeAsWell(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	c := newClock(1_000_000)
	cfg := compacted(n.config(0))
	cfg.Now, cfg.RetainFor = c.now, time.Hour
	r := n.open(cfg)
	for range 60 {
		put(t, r, keyed(t, "one", "v", 0, 0))
	}
	cleanNow(t, r)
	emptied := false
	for _, g := range r.log.Segments() {
		emptied = emptied || g.Sealed && g.SizeBytes == 0
	}
	if !emptied {
		t.Fatalf("no segment is empty: %+v", r.log.Segments())
	}
	c.add(2 * time.Hour)
	must(t, r.proposeRetention(c.now()))
	must(t, r.retire())
	if r.LogStart() != 60 || r.SizeBytes() != 0 {
		t.Errorf("log starts at %d with %d bytes", r.LogStart(), r.SizeBytes())
	}
	put(t, r, keyed(t, "one", "w", 0, 0))
	if got, n := newest(t, r); n != 1 || got["one"] != "w" {
		t.Errorf("got %v", got)
	}
}

// A checkpoint that is taken while the log has not yet followed the command that moves its start must know that command: a restart does not
// see it again.
func TestACheckpointKnowsALogStartThatTheLogHasNotFollowed(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	r := n.open(n.config(0))
	for i := range 10 {
		put(t, r, at(t, int64(i), fmt.Sprint("record ", i)))
	}
	r.mu.Lock()
	was := r.st // the entry is not in the log
	_, eff, err := r.st.apply(&raft.Log{Index: r.st.index + 1, Term: r.st.term, Extensions: commandMark, Data: encodeSetLogStart(7)}, 0)
	r.mu.Unlock()
	must(t, err)
	if s := r.save(); r.LogStart() != 0 || *eff.logStart != 7 || s.logStart != 7 || stateOf(s).logStart != 7 {
		t.Errorf("saved a log start of %d, want 7", s.logStart)
	}
	r.mu.Lock()
	r.st = was
	r.mu.Unlock()
}
