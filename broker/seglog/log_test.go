package seglog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-analytics/weir/internal/vfs"
)

func TestEntriesComeBackAsTheyWent(t *testing.T) {
	for name, fsys := range map[string]vfs.FS{"mem": vfs.NewMem(), "os": vfs.OS{}} {
		for _, segmentBytes := range []int64{300, 1000, 1 << 20} {
			t.Run(fmt.Sprint(name, segmentBytes), func(t *testing.T) {
				cfg := config(fsys, segmentBytes)
				cfg.Dir = strings.TrimPrefix(t.TempDir(), "/")
				if name == "os" {
					cfg.Dir = "/" + cfg.Dir
				}
				l, err := Open(cfg)
				must(t, err)
				s := newScript(t)
				for i := range 40 {
					must(t, l.Append(s.step(i)))
					checkLog(t, l, s.made)
				}
				for range 3 {
					must(t, l.Close())
					l, err = Open(cfg)
					must(t, err)
					checkLog(t, l, s.made)
				}
				must(t, l.Append(s.step(1)))
				checkLog(t, l, s.made)
				must(t, l.Close())
			})
		}
	}
}

func TestOrderIsEnforced(t *testing.T) {
	l := openLog(t, vfs.NewMem(), 0)
	s := newScript(t)
	s.term = 5
	must(t, l.Append(s.step(1)))
	follow := batch(t, 1, 0, "x")
	for name, e := range map[string]Entry{
		"gap in the index":   {Index: 4, Term: 5, Kind: kindNoop},
		"repeated index":     {Index: 2, Term: 5, Kind: kindNoop},
		"term goes back":     {Index: 3, Term: 4, Kind: kindNoop},
		"term beyond int32":  {Index: 3, Term: 1 << 31, Kind: kindNoop},
		"not a batch":        {Index: 3, Term: 5, Kind: KindBatch, Data: []byte("hello")},
		"two batches in one": {Index: 3, Term: 5, Kind: KindBatch, Data: append(batch(t, 1, 0, "x"), follow...)},
		"batch of elsewhere": {Index: 3, Term: 5, Kind: KindBatch, Data: s.made[0].Data},
	} {
		if err := l.Append([]Entry{e}); err == nil || errors.Is(err, ErrFailed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	checkLog(t, l, s.made)
	must(t, l.Append([]Entry{s.entry(KindBatch)}))
	checkLog(t, l, s.made)
}

func TestFollowerTakesOffsetsFromTheLeader(t *testing.T) {
	leader, follower := openLog(t, vfs.NewMem(), 500), openLog(t, vfs.NewMem(), 900)
	s := newScript(t)
	for i := range 20 {
		must(t, leader.Append(s.step(i)))
	}
	var run []Entry
	for i := uint64(1); i <= s.index; i++ {
		e, err := leader.Entry(i)
		must(t, err)
		run = append(run, e)
		if len(run) == 7 || i == s.index {
			must(t, follower.Append(run))
			run = nil
		}
	}
	checkLog(t, follower, s.made)
}

func TestTruncateAnywhereThenGoOn(t *testing.T) {
	for cut := uint64(1); cut <= 45; cut++ {
		fsys := vfs.NewMem()
		l := openLog(t, fsys, 600)
		s := newScript(t)
		for i := range 20 {
			must(t, l.Append(s.step(i)))
		}
		must(t, l.TruncateFrom(cut))
		if cut <= s.index {
			e := s.made[cut-1]
			s.made, s.index, s.next = s.made[:cut-1], cut-1, e.BaseOffset
		}
		checkLog(t, l, s.made)
		if cut%2 == 0 {
			must(t, l.Close())
			l = openLog(t, fsys, 600)
			checkLog(t, l, s.made)
		}
		for i := range 12 {
			must(t, l.Append(s.step(i)))
		}
		checkLog(t, l, s.made)
		verifyLog(t, l)
		l = openLog(t, fsys.Crash(nil), 600)
		checkLog(t, l, s.made)
	}
}

func TestReadStopsAtTheLimitAndTheBound(t *testing.T) {
	l := openLog(t, vfs.NewMem(), 0)
	s := newScript(t)
	for i := range 4 {
		must(t, l.Append(s.step(i)))
	}
	size := len(s.made[1].Data) + len(s.made[2].Data)
	b, err := l.Read(0, 1, s.next)
	if err != nil || len(b) != len(s.made[1].Data) {
		t.Errorf("one batch even when it is too large: %d bytes, %v", len(b), err)
	}
	b, err = l.Read(0, size, s.next)
	if err != nil || len(b) != size {
		t.Errorf("got %d bytes, %v, want %d", len(b), err, size)
	}
	limit := s.made[2].BaseOffset
	if b, err = l.Read(0, 1<<20, limit); err != nil || len(b) != len(s.made[1].Data) {
		t.Errorf("got %d bytes, %v, want only what is below the limit", len(b), err)
	}
	if b, err = l.Read(limit, 1<<20, limit); err != nil || len(b) != 0 {
		t.Errorf("at the limit: %d bytes, %v", len(b), err)
	}
	for _, o := range []int64{-1, limit + 1, s.next + 1} {
		if _, err = l.Read(o, 10, limit); !errors.Is(err, ErrOffsetRange) {
			t.Errorf("offset %d: got %v", o, err)
		}
	}
}

func TestEpochsAnswerWhereTermsEnd(t *testing.T) {
	l := openLog(t, vfs.NewMem(), 0)
	s := newScript(t)
	add := func(term uint32, kinds ...Kind) {
		s.term = term
		for _, k := range kinds {
			must(t, l.Append([]Entry{s.entry(k)}))
		}
	}
	add(2, kindNoop, KindBatch, KindBatch) // offsets 0..3: index 2 has 3 records, index 3 has 1
	add(4, kindNoop)                       // no records: not an epoch of its own
	add(5, kindNoop, KindBatch)            // index 6: 1 record, offset 4
	add(7, kindNoop)
	for _, c := range []struct{ ask, found, end int64 }{
		{-1, -1, -1}, {0, 0, 0}, {1, 1, 0}, {2, 2, 4}, {3, 2, 4}, {4, 2, 4}, {5, 5, 5}, {6, 5, 5}, {7, 7, 5}, {8, -1, -1},
	} {
		found, end := l.EpochEnd(int32(c.ask), 5)
		if int64(found) != c.found || end != c.end {
			t.Errorf("epoch %d: got %d, %d, want %d, %d", c.ask, found, end, c.found, c.end)
		}
	}
}

func TestLookupByTime(t *testing.T) {
	fsys := vfs.NewMem()
	l := openLog(t, fsys, 2000)
	index, next := uint64(0), int64(0)
	times := []int64{}
	for i := range 200 {
		index++
		ms := int64(1000 + i*10)
		if i%5 == 4 {
			ms -= 35 // out of order
		}
		must(t, l.Append([]Entry{{Index: index, Term: 1, Kind: KindBatch, Data: batch(t, 2, ms, "x")}}))
		times = append(times, ms, ms)
		next += 2
	}
	check := func(limit, start int64) {
		t.Helper()
		for ms := int64(990); ms < 3010; ms += 7 {
			wantOffset, wantOK := int64(0), false
			for o := start; o < limit; o++ {
				if times[o] >= ms {
					wantOffset, wantOK = o, true
					break
				}
			}
			o, at, ok, err := l.OffsetForTime(ms, limit)
			if err != nil || ok != wantOK || o != wantOffset || ok && at != times[o] {
				t.Fatalf("time %d: got %d, %d, %v, %v, want %d, %v", ms, o, at, ok, err, wantOffset, wantOK)
			}
		}
		best := start
		for o := start; o < limit; o++ {
			if times[o] > times[best] {
				best = o
			}
		}
		if o, at, ok, err := l.MaxTimestamp(limit); err != nil || !ok || o != best || at != times[best] {
			t.Errorf("newest: got %d, %d, %v, %v, want %d", o, at, ok, err, best)
		}
	}
	check(next, 0)
	check(300, 0)
	must(t, l.Close())
	l = openLog(t, fsys, 2000)
	check(next, 0)
	l = openLog(t, fsys.Crash(nil), 2000)
	l.SetLogStart(55)
	check(next, 55)
}

func TestRetireDeletesWholeSegmentsAndKeepsTheAnchor(t *testing.T) {
	fsys := vfs.NewMem()
	l := openLog(t, fsys, 500)
	s := newScript(t)
	for i := range 40 {
		must(t, l.Append(s.step(i)))
	}
	before := l.SizeBytes()
	l.SetLogStart(s.next / 2)
	var prepared Anchor
	deleted, err := l.Retire(s.index, func(a Anchor) error { prepared = a; return nil })
	must(t, err)
	b := l.Bounds()
	if !deleted || b.Anchor.Index == 0 || b.Anchor.Index != prepared.Index || b.Anchor.NextOffset > s.next/2 || l.SizeBytes() >= before {
		t.Fatalf("got %v, %+v, %d bytes of %d", deleted, b, l.SizeBytes(), before)
	}
	below := s.made[b.Anchor.Index-1]
	if below.Term != b.Anchor.Term || below.BaseOffset+int64(below.Count) != b.Anchor.NextOffset {
		t.Errorf("anchor %+v, entry %+v", b.Anchor, below)
	}
	wantConfig := uint64(0)
	for _, e := range s.made[:b.Anchor.Index] {
		if e.Kind == KindConfig {
			wantConfig = e.Index
		}
	}
	if b.Anchor.ConfigIndex != wantConfig || string(b.Anchor.Config) != string(s.made[wantConfig-1].Data) {
		t.Errorf("config of entry %d, want %d", b.Anchor.ConfigIndex, wantConfig)
	}
	if _, err := l.Read(b.LogStart-1, 10, s.next); !errors.Is(err, ErrOffsetRange) {
		t.Errorf("below the log start: got %v", err)
	}
	if _, err := l.Entry(b.Anchor.Index); !errors.Is(err, ErrNotFound) {
		t.Errorf("at the anchor: got %v", err)
	}
	checkLog(t, l, s.made)
	verifyLog(t, l)
	crashed := openLog(t, fsys.Crash(nil), 500)
	checkLog(t, crashed, s.made)
	if got := crashed.Bounds(); got.Anchor.Index != b.Anchor.Index || got.LogStart != b.LogStart {
		t.Errorf("after a crash: %+v, want %+v", got, b)
	}
	if _, at, err := l.ConfigAt(b.Anchor.Index + 1); err != nil || at < wantConfig {
		t.Errorf("config at the anchor: %d, %v", at, err)
	}
	must(t, l.Close())
	l = openLog(t, fsys, 500)
	checkLog(t, l, s.made)
	must(t, l.Append(s.step(1)))
	checkLog(t, l, s.made)
}

func TestResetBeginsAfterTheAnchor(t *testing.T) {
	fsys := vfs.NewMem()
	l := openLog(t, fsys, 500)
	s := newScript(t)
	for i := range 10 {
		must(t, l.Append(s.step(i)))
	}
	a := Anchor{Index: 1000, Term: 70, NextOffset: 5000, Config: []byte("three"), ConfigIndex: 900}
	must(t, l.ResetTo(a, 5000))
	s = &script{t: t, index: 1000, term: 70, next: 5000}
	for i := range 10 {
		must(t, l.Append(s.step(i)))
	}
	checkLog(t, l, s.made)
	l = openLog(t, fsys.Crash(nil), 500)
	checkLog(t, l, s.made)
	if b := l.Bounds(); b.Anchor.Index != 1000 || string(b.Anchor.Config) != "three" || b.LogStart != 5000 {
		t.Errorf("got %+v", b)
	}
}
