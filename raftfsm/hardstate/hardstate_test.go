package hardstate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/weir-analytics/weir/internal/vfs"
)

const file = "d/hardstate.wal"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, fsys vfs.FS) *Store {
	t.Helper()
	s, err := Open(fsys, file)
	must(t, err)
	return s
}

func vote(g *Group, term uint64, cand string) error {
	if err := g.SetUint64([]byte("CurrentTerm"), term); err != nil {
		return err
	}
	if err := g.SetUint64([]byte("LastVoteTerm"), term); err != nil {
		return err
	}
	return g.Set([]byte("LastVoteCand"), []byte(cand))
}

func id(n int32) GroupID { return PartitionGroup([16]byte{1, 2, 3}, n) }

func TestVotesSurviveACrash(t *testing.T) {
	mem := vfs.NewMem()
	s := open(t, mem)
	for i := range int32(20) {
		must(t, vote(s.Group(id(i)), uint64(i)+5, fmt.Sprint("node-", i)))
	}
	must(t, s.Forget(id(7)))
	for range 3 {
		mem = mem.Crash(nil)
		s = open(t, mem)
	}
	for i := range int32(20) {
		st, ok := s.Known(id(i))
		want := State{uint64(i) + 5, uint64(i) + 5, fmt.Sprint("node-", i)}
		if ok != (i != 7) || ok && st != want {
			t.Errorf("group %d: got %+v, %v, want %+v", i, st, ok, want)
		}
	}
	g := s.Group(id(3))
	term, err := g.GetUint64([]byte("LastVoteTerm"))
	cand, err2 := g.Get([]byte("LastVoteCand"))
	if err != nil || err2 != nil || term != 8 || string(cand) != "node-3" {
		t.Errorf("got %d, %q, %v, %v", term, cand, err, err2)
	}
}

// The term of a vote alone must never be durable with the candidate of an
// older vote.
func TestAVoteIsStoredAsOne(t *testing.T) {
	mem := vfs.NewMem()
	s := open(t, mem)
	g := s.Group(id(1))
	must(t, vote(g, 3, "a"))
	must(t, g.SetUint64([]byte("LastVoteTerm"), 4))
	st, _ := open(t, mem.Crash(nil)).Known(id(1))
	if want := (State{3, 3, "a"}); st != want {
		t.Errorf("got %+v, want %+v", st, want)
	}
}

func TestUnchangedValuesAreNotWritten(t *testing.T) {
	mem := vfs.NewMem()
	syncs := 0
	s := open(t, vfs.Hooked{FS: mem, Before: func(op vfs.Op, name string) error {
		if op == vfs.OpSync {
			syncs++
		}
		return nil
	}})
	g := s.Group(id(1))
	must(t, vote(g, 3, "a"))
	before := syncs
	must(t, vote(g, 3, "a"))
	if syncs != before {
		t.Errorf("%d syncs for nothing new", syncs-before)
	}
}

func TestConcurrentGroupsShareSyncs(t *testing.T) {
	s, err := Open(vfs.OS{}, t.TempDir()+"/hs")
	must(t, err)
	var wg sync.WaitGroup
	for i := range int32(100) {
		wg.Go(func() {
			for term := range uint64(5) {
				if err := vote(s.Group(id(i)), term+1, "me"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	must(t, s.Close())
	s, err = Open(vfs.OS{}, s.name)
	must(t, err)
	for i := range int32(100) {
		if st, _ := s.Known(id(i)); st != (State{5, 5, "me"}) {
			t.Errorf("group %d: %+v", i, st)
		}
	}
}

// After a power cut at any operation no vote that was returned is forgotten.
func TestPowerCutAtEveryOperation(t *testing.T) {
	for at := 1; ; at++ {
		mem := vfs.NewMem()
		n := 0
		fsys := vfs.Hooked{FS: mem, Before: func(op vfs.Op, name string) error {
			if n++; n >= at {
				return errors.New("cut")
			}
			return nil
		}}
		given := map[GroupID]State{}
		err := func() error {
			for round := range uint64(2) {
				s, err := Open(fsys, file)
				if err != nil {
					return err
				}
				for i := range int32(4) {
					term := round*10 + uint64(i) + 1
					if err := vote(s.Group(id(i)), term, "me"); err != nil {
						return err
					}
					given[id(i)] = State{term, term, "me"}
				}
			}
			return nil
		}()
		for seed := range uint64(5) {
			rng := rand.New(rand.NewPCG(uint64(at), seed))
			s := open(t, mem.Crash(func() bool { return rng.Uint64N(4) < seed }))
			for g, want := range given {
				got, _ := s.Known(g)
				if got != want && (got.Term <= want.Term || got.VoteTerm < want.VoteTerm) {
					t.Fatalf("operation %d, seed %d: got %+v, want %+v", at, seed, got, want)
				}
			}
		}
		if err == nil {
			return
		}
	}
}

// One flipped bit never changes or loses a vote without a word.
func TestEveryBitFlipIsHarmlessOrReported(t *testing.T) {
	mem := vfs.NewMem()
	s := open(t, mem)
	for i := range int32(3) {
		must(t, vote(s.Group(id(i)), uint64(i)+5, "candidate"))
	}
	size := 0
	mem.Corrupt(file, func(b []byte) []byte { size = len(b); return b })
	for bit := range size * 8 {
		disk := mem.Crash(nil)
		disk.Corrupt(file, func(b []byte) []byte { b[bit/8] ^= 1 << (bit % 8); return b })
		s, err := Open(disk, file)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			continue
		}
		for i := range int32(3) {
			if st, _ := s.Known(id(i)); st != (State{uint64(i) + 5, uint64(i) + 5, "candidate"}) {
				t.Fatalf("bit %d: group %d has %+v", bit, i, st)
			}
		}
	}
}

// Whatever operation fails, the write that met it says so, its value counts as
// given, and the next write makes all of it durable.
func TestAFailedWriteIsMadeGoodByTheNext(t *testing.T) {
	boom := errors.New("boom")
	for at := 1; ; at++ {
		mem := vfs.NewMem()
		n, armed := 0, false
		s := open(t, vfs.Hooked{FS: mem, Before: func(op vfs.Op, name string) error {
			if armed {
				if n++; n <= at {
					return boom
				}
			}
			return nil
		}})
		must(t, vote(s.Group(id(1)), 1, "a"))
		armed = true
		tries := 0
		for err := vote(s.Group(id(1)), 2, "b"); err != nil; err = vote(s.Group(id(1)), 2, "b") {
			if !errors.Is(err, boom) || !errors.Is(err, ErrFailed) {
				t.Fatalf("%d failures: got %v", at, err)
			}
			if st, _ := s.Known(id(1)); st.VoteTerm < 1 {
				t.Fatalf("%d failures: the vote is forgotten: %+v", at, st)
			}
			if tries++; tries > at {
				t.Fatalf("%d failures: tried %d times", at, tries)
			}
		}
		must(t, vote(s.Group(id(2)), 3, "c"))
		after := open(t, mem.Crash(nil))
		if st, _ := after.Known(id(1)); st.VoteTerm != 2 || st.Candidate != "b" {
			t.Fatalf("%d failures, after a power cut: %+v", at, st)
		}
		if st, _ := after.Known(id(2)); st.VoteTerm != 3 {
			t.Fatalf("%d failures, after a power cut: %+v", at, st)
		}
		if at == 12 {
			return
		}
	}
}

func TestTheFileIsCompactedWhileOpen(t *testing.T) {
	mem := vfs.NewMem()
	s := open(t, mem)
	g := s.Group(id(1))
	for term := range uint64(15000) {
		must(t, g.SetUint64([]byte("CurrentTerm"), term+1))
	}
	if s.size > 2*compactBytes {
		t.Errorf("file has %d bytes", s.size)
	}
	if st, _ := open(t, mem.Crash(nil)).Known(id(1)); st.Term != 15000 {
		t.Errorf("got %+v", st)
	}
}

// Property: any bytes are read without a panic, and what was read once is
// written and read again as the same.
func FuzzLoad(f *testing.F) {
	b := appendRecord(fileHeader(), id(1), State{4, 3, "node"}, false)
	f.Add(appendRecord(b, id(2), State{}, true))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &Store{states: map[GroupID]State{}}
		if err := s.load(b); err != nil {
			return
		}
		out := fileHeader()
		for g, st := range s.states {
			out = appendRecord(out, g, st, false)
		}
		again := &Store{states: map[GroupID]State{}}
		if err := again.load(out); err != nil || len(again.states) != len(s.states) {
			t.Fatalf("%v: %v, %v", err, again.states, s.states)
		}
		for g, st := range s.states {
			if again.states[g] != st {
				t.Fatalf("got %+v, want %+v", again.states[g], st)
			}
		}
	})
}
