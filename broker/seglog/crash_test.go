package seglog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weir-analytics/weir/internal/vfs"
)

// killed is what a process that dies leaves: all it wrote.
func killed() bool { return true }

var errCut = errors.New("power cut")

// run appends steps until the disk is cut off; it returns how many entries were
// acknowledged and how many were tried.
func run(t testing.TB, fsys vfs.FS, s *script, steps int) (acked, tried int, err error) {
	l, err := Open(config(fsys, 600))
	if err != nil {
		return 0, 0, err
	}
	for i := range steps {
		entries := s.step(i)
		tried = len(s.made)
		if err := l.Append(entries); err != nil {
			return acked, tried, err
		}
		acked = tried
		if i == steps/2 {
			l.SetLogStart(s.made[acked/3].BaseOffset)
			if _, err := l.Retire(s.made[acked/2].Index, nil); err != nil {
				return acked, tried, err
			}
		}
	}
	return acked, tried, l.Close()
}

// Whatever the moment of a power cut, and whatever part of the unsynced writes
// survives it, all acknowledged entries are there afterwards, what follows them
// is a prefix of what was tried, and the log goes on.
func TestPowerCutAtEveryOperation(t *testing.T) {
	for at := 1; ; at++ {
		s := newScript(t)
		mem := vfs.NewMem()
		n := 0
		acked, tried, err := run(t, vfs.Hooked{FS: mem, Before: func(op vfs.Op, name string) error {
			if op == vfs.OpRead || op == vfs.OpOpen {
				return nil
			}
			if n++; n >= at {
				return errCut
			}
			return nil
		}}, s, 24)
		for seed := range uint64(6) {
			rng := rand.New(rand.NewPCG(uint64(at), seed))
			survives := func() bool { return rng.Uint64N(4) < seed }
			if seed == 0 {
				survives = nil
			}
			checkAfterCut(t, mem.Crash(survives), s, acked, tried, fmt.Sprintf("operation %d, seed %d", at, seed))
		}
		// A process that dies leaves all its writes behind.
		checkAfterCut(t, mem.Crash(killed), s, acked, tried, fmt.Sprintf("operation %d, killed", at))
		if err == nil {
			t.Logf("%d operations", at-1)
			return
		}
	}
}

func checkAfterCut(t *testing.T, fsys vfs.FS, s *script, acked, tried int, what string) {
	t.Helper()
	l, err := Open(config(fsys, 600))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	last := int(l.Bounds().LastIndex)
	if last < acked || last > tried {
		t.Fatalf("%s: log ends with entry %d, acknowledged %d, tried %d", what, last, acked, tried)
	}
	checkLog(t, l, s.made[:last])
	next := int64(0)
	if last > 0 {
		next = s.made[last-1].BaseOffset + int64(s.made[last-1].Count)
	}
	more := &script{t: t, index: uint64(last), term: 99, next: next, made: append([]Entry(nil), s.made[:last]...)}
	for i := range 4 {
		if err := l.Append(more.step(i)); err != nil {
			t.Fatalf("%s: going on: %v", what, err)
		}
	}
	checkLog(t, l, more.made)
	verifyLog(t, l)
	must(t, l.Close())
	l, err = Open(config(fsys, 600))
	if err != nil {
		t.Fatalf("%s: second start: %v", what, err)
	}
	checkLog(t, l, more.made)
}

// Two crashes in a row: the second in the middle of recovering from the first.
func TestPowerCutDuringRecovery(t *testing.T) {
	for at := 5; at < 120; at += 7 {
		s := newScript(t)
		mem := vfs.NewMem()
		n := 0
		acked, tried, _ := run(t, vfs.Hooked{FS: mem, Before: func(op vfs.Op, name string) error {
			if n++; n >= at {
				return errCut
			}
			return nil
		}}, s, 24)
		for second := 1; second < 40; second++ {
			rng := rand.New(rand.NewPCG(uint64(at), uint64(second)))
			survives := func() bool { return rng.Uint64N(2) == 0 }
			disk := mem.Crash(survives)
			m := 0
			_, err := Open(config(vfs.Hooked{FS: disk, Before: func(op vfs.Op, name string) error {
				if m++; m >= second {
					return errCut
				}
				return nil
			}}, 600))
			checkAfterCut(t, disk.Crash(survives), s, acked, tried, fmt.Sprintf("cut at %d, then %d", at, second))
			if err == nil {
				break
			}
		}
	}
}

// An operation that fails once leaves the log either as it was and usable, or
// stopped; opening it again shows every acknowledged entry.
func TestErrorAtEveryOperation(t *testing.T) {
	boom := errors.New("input/output error")
	for at := 1; ; at++ {
		mem := vfs.NewMem()
		n := 0
		fsys := vfs.Hooked{FS: mem, Before: func(op vfs.Op, name string) error {
			if n++; n == at {
				return fmt.Errorf("%s %s: %w", op, name, boom)
			}
			return nil
		}}
		s := newScript(t)
		l, err := Open(config(fsys, 600))
		if err != nil {
			if !errors.Is(err, boom) {
				t.Fatalf("operation %d: got %v", at, err)
			}
			l, err = Open(config(fsys, 600))
			must(t, err)
		}
		failed := false
		for i := 0; i < 20 && !failed; i++ {
			saved := *s
			entries := s.step(i)
			err := l.Append(entries)
			switch {
			case errors.Is(err, ErrFailed):
				failed = true
				if err := l.Append(entries); !errors.Is(err, ErrFailed) {
					t.Fatalf("operation %d: a stopped log took an entry: %v", at, err)
				}
			case err != nil:
				if !errors.Is(err, boom) {
					t.Fatalf("operation %d: got %v", at, err)
				}
				*s = saved
				checkLog(t, l, s.made)
				must(t, l.Append(s.step(i)))
			}
			if i == 10 && !failed {
				l.SetLogStart(s.next / 2)
				if _, err := l.Retire(s.index, nil); err != nil && !errors.Is(err, boom) {
					t.Fatalf("operation %d: retire: %v", at, err)
				}
			}
			if i == 14 && !failed {
				cut := s.index - 3
				err := l.TruncateFrom(cut)
				if errors.Is(err, ErrFailed) {
					checkHalfTruncated(t, mem, s, int(cut)-1, at)
					failed = true
					s = nil
					break
				}
				must(t, err)
				s.made, s.index, s.next = s.made[:cut-1], cut-1, s.made[cut-1].BaseOffset
			}
		}
		if s == nil {
			continue
		}
		closeErr := l.Close()
		if closeErr != nil && !errors.Is(closeErr, boom) {
			t.Fatalf("operation %d: close: %v", at, closeErr)
		}
		l, err = Open(config(mem, 600))
		if err != nil {
			t.Fatalf("operation %d: %v", at, err)
		}
		last := l.Bounds().LastIndex
		if !failed && last != s.index || last > s.index {
			t.Fatalf("operation %d: log ends with %d of %d", at, last, s.index)
		}
		checkLog(t, l, s.made[:last])
		if n < at {
			t.Logf("%d operations", n)
			return
		}
	}
}

// checkHalfTruncated checks a log whose removal of entries was cut short: those below are
// there, the others may be.
func checkHalfTruncated(t *testing.T, fsys vfs.FS, s *script, keep, at int) {
	t.Helper()
	l, err := Open(config(fsys, 600))
	if err != nil {
		t.Fatalf("operation %d: %v", at, err)
	}
	last := int(l.Bounds().LastIndex)
	if last < keep {
		t.Fatalf("operation %d: log ends with %d, want at least %d", at, last, keep)
	}
	checkLog(t, l, s.made[:last])
}

// A crash in the middle of removing entries loses none of those that stay.
func TestPowerCutDuringTruncation(t *testing.T) {
	for _, cutIndex := range []uint64{2, 5, 9, 14, 20, 26} {
		for at := 1; ; at++ {
			mem := vfs.NewMem()
			n, armed := 0, false
			fsys := vfs.Hooked{FS: mem, Before: func(op vfs.Op, name string) error {
				if armed {
					if n++; n >= at {
						return errCut
					}
				}
				return nil
			}}
			l := openLog(t, fsys, 600)
			s := newScript(t)
			for i := range 16 {
				must(t, l.Append(s.step(i)))
			}
			armed = true
			err := l.TruncateFrom(cutIndex)
			for seed := range uint64(5) {
				rng := rand.New(rand.NewPCG(uint64(at), seed))
				l, openErr := Open(config(mem.Crash(func() bool { return rng.Uint64N(4) < seed }), 600))
				if openErr != nil {
					t.Fatalf("cut to %d, operation %d, seed %d: %v", cutIndex, at, seed, openErr)
				}
				last := int(l.Bounds().LastIndex)
				if last < int(cutIndex)-1 || err == nil && last != int(cutIndex)-1 {
					t.Fatalf("cut to %d, operation %d: log ends with %d", cutIndex, at, last)
				}
				checkLog(t, l, s.made[:last])
			}
			if err == nil {
				break
			}
		}
	}
}

// Cutting the .log at every byte after the last acknowledged entry drops only
// what was not acknowledged; cutting before it is damage.
func TestCutAtEveryByteOfTheTail(t *testing.T) {
	mem := vfs.NewMem()
	l := openLog(t, mem, 0)
	s := newScript(t)
	for i := range 6 {
		must(t, l.Append(s.step(i)))
	}
	size := int(l.SizeBytes())
	name := "p/" + segmentName(0) + extLog
	slots := "p/" + segmentName(0) + extRix
	lastBatch := len(s.made[len(s.made)-1].Data)
	for n := size - lastBatch; n <= size; n++ {
		disk := mem.Crash(killed)
		disk.Corrupt(name, func(b []byte) []byte { return b[:n] })
		if _, err := Open(config(disk, 0)); n < size && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d of %d: got %v", n, size, err)
		}
		// The same when the entry was never acknowledged: it has no slot.
		disk = mem.Crash(killed)
		disk.Corrupt(name, func(b []byte) []byte { return b[:n] })
		disk.Corrupt(slots, func(b []byte) []byte { return b[:len(b)-slotSize] })
		l, err := Open(config(disk, 0))
		if err != nil {
			t.Fatalf("cut at %d of %d: %v", n, size, err)
		}
		want := s.made[:len(s.made)-1]
		if n == size {
			want = s.made
		}
		checkLog(t, l, want)
	}
}

// A flipped bit anywhere is either harmless or reported: never a panic, never a
// log that is quietly shorter.
func TestEveryBitFlipIsHarmlessOrReported(t *testing.T) {
	for _, clean := range []bool{false, true} {
		mem := vfs.NewMem()
		l := openLog(t, mem, 500)
		s := newScript(t)
		for i := range 14 {
			must(t, l.Append(s.step(i)))
		}
		l.SetLogStart(8)
		_, err := l.Retire(s.index, nil)
		must(t, err)
		if clean {
			must(t, l.Close())
		}
		names, err := mem.List("p")
		must(t, err)
		for _, name := range names {
			size := 0
			mem.Corrupt("p/"+name, func(b []byte) []byte { size = len(b); return b })
			for bit := 0; bit < size*8; bit += 11 {
				if bit/8 > 2000 && bit/8 < size-64 && bit/8%512 != 0 {
					continue // zeros ahead of the tail
				}
				disk := mem.Crash(killed)
				disk.Corrupt("p/"+name, func(b []byte) []byte { b[bit/8] ^= 1 << (bit % 8); return b })
				checkFlip(t, disk, s, fmt.Sprintf("%s bit %d, clean %v", name, bit, clean))
			}
		}
	}
}

func checkFlip(t *testing.T, disk vfs.FS, s *script, what string) {
	t.Helper()
	l, err := Open(config(disk, 500))
	if err != nil {
		if !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%s: got %v", what, err)
		}
		return
	}
	b := l.Bounds()
	if b.LastIndex != s.index || b.NextOffset != s.next {
		t.Fatalf("%s: log ends with %d, offset %d, want %d, %d", what, b.LastIndex, b.NextOffset, s.index, s.next)
	}
	for _, w := range s.made {
		if w.Index <= b.Anchor.Index {
			continue
		}
		got, err := l.Entry(w.Index)
		if err == nil && !bytes.Equal(got.Data, w.Data) || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%s: entry %d: %v", what, w.Index, err)
		}
	}
	for o := b.LogStart; o < s.next; {
		data, err := l.Read(o, 1, s.next)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s: offset %d: %v", what, o, err)
			}
			return
		}
		for _, w := range s.made {
			if w.Kind == KindBatch && o >= w.BaseOffset && o < w.BaseOffset+int64(w.Count) {
				if !bytes.Equal(data, w.Data) {
					t.Fatalf("%s: offset %d: wrong bytes", what, o)
				}
				o = w.BaseOffset + int64(w.Count)
				break
			}
		}
	}
}
