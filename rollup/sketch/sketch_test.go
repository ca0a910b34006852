package sketch

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/axiomhq/hyperloglog"
)

func kinds() []Kind { return []Kind{Row, Total} }

// limits of the error, as multiples of the standard error of the kind, for the fixed seeds below.
func standardError(k Kind) float64 { return 1.04 / math.Sqrt(float64(int(1)<<k.precision())) }

func TestExactUpToTheLimitThenWithinTheBound(t *testing.T) {
	for _, kind := range kinds() {
		rng := rand.New(rand.NewPCG(uint64(kind), 1))
		s := New(kind)
		next := 1
		for n := 1; n <= 1_000_000; n++ {
			h := rng.Uint64()
			s.Insert(h)
			s.Insert(h) // a repeat changes nothing
			if n <= kind.limit() {
				if !s.Exact() || s.Count() != int64(n) {
					t.Fatalf("kind %d: %d inserted, count %d, exact %v", kind, n, s.Count(), s.Exact())
				}
				continue
			}
			if s.Exact() {
				t.Fatalf("kind %d: still exact at %d", kind, n)
			}
			if n < next {
				continue
			}
			next = n + n/8
			if off := math.Abs(float64(s.Count())-float64(n)) / float64(n); off > 3.5*standardError(kind) {
				t.Errorf("kind %d: %d inserted, count %d, off by %.2f %%", kind, n, s.Count(), 100*off)
			}
		}
	}
}

func TestTypicalErrorIsTheStandardError(t *testing.T) {
	for _, kind := range kinds() {
		for _, n := range []int{kind.limit() + 1, 5000, 100_000} {
			rng := rand.New(rand.NewPCG(uint64(n), 3))
			const runs = 60
			sum, bias := 0.0, 0.0
			for range runs {
				s := New(kind)
				for range n {
					s.Insert(rng.Uint64())
				}
				off := float64(s.Count())/float64(n) - 1
				sum += off * off
				bias += off
			}
			if rms := math.Sqrt(sum / runs); rms > 1.4*standardError(kind) {
				t.Errorf("kind %d at %d: root mean square error %.2f %%, want about %.2f %%", kind, n, 100*rms, 100*standardError(kind))
			}
			if b := bias / runs; math.Abs(b) > 0.6*standardError(kind) {
				t.Errorf("kind %d at %d: bias %.2f %%", kind, n, 100*b)
			}
		}
	}
}

// TestRegistersAgreeWithTheLibrary: the same hashes give the same registers in a widely used implementation.
func TestRegistersAgreeWithTheLibrary(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, kind := range kinds() {
		theirs, err := hyperloglog.NewSketch(kind.precision(), false)
		if err != nil {
			t.Fatal(err)
		}
		s := New(kind)
		for range 50_000 {
			h := rng.Uint64()
			if rng.IntN(100) == 0 {
				h = h>>rng.IntN(64) | 1 // long runs of zeros
			}
			s.Insert(h)
			theirs.InsertHash(h)
		}
		data, err := theirs.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data[8:], s.regs) {
			t.Errorf("kind %d: registers differ", kind)
		}
		if a, b := float64(s.Count()), float64(theirs.Estimate()); math.Abs(a-b)/b > 0.02 {
			t.Errorf("kind %d: count %v, theirs %v", kind, a, b)
		}
	}
}

func TestUnionDoesNotDependOnOrder(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 9))
		kind := Kind(seed % 2)
		people := 1 + rng.IntN(4*kind.limit())
		whole := New(kind)
		parts := make([]Sketch, 1+rng.IntN(9))
		for i := range parts {
			parts[i] = New(kind)
		}
		for range people * 2 {
			h := uint64(rng.IntN(people)) * 0x9e3779b97f4a7c15
			whole.Insert(h)
			parts[rng.IntN(len(parts))].Insert(h)
		}
		a, b := New(kind), New(kind)
		for i := range parts {
			a.Merge(&parts[i])
			if err := b.MergeBinary(parts[len(parts)-1-i].Append(nil)); err != nil {
				t.Fatal(err)
			}
		}
		want := whole.Append(nil)
		if !bytes.Equal(a.Append(nil), want) || !bytes.Equal(b.Append(nil), want) {
			t.Fatalf("seed %d: the union of %d parts is not the whole of %d", seed, len(parts), people)
		}
	}
}

func TestBinaryFormsReadBack(t *testing.T) {
	for _, kind := range kinds() {
		rng := rand.New(rand.NewPCG(2, uint64(kind)))
		s := New(kind)
		forms := map[byte]int{}
		for n := 0; n <= 300_000; n++ {
			if n < 1000 || n%9973 == 0 {
				data := s.Append(nil)
				back, err := Parse(kind, data)
				if err != nil {
					t.Fatalf("kind %d with %d: %v", kind, n, err)
				}
				if !bytes.Equal(back.Append(nil), data) || back.Count() != s.Count() || back.Exact() != s.Exact() {
					t.Fatalf("kind %d with %d: reads back differently", kind, n)
				}
				if len(data) > 0 {
					forms[data[0]] = max(forms[data[0]], len(data))
				}
			}
			s.Insert(rng.Uint64())
		}
		if len(forms) != 3 {
			t.Errorf("kind %d: forms %v, want all three", kind, forms)
		}
		if limit := 3 + 1<<kind.precision()*6/10; forms[formNibbles] > limit {
			t.Errorf("kind %d: %d bytes, want at most %d", kind, forms[formNibbles], limit)
		}
	}
}

func TestHashZeroIsAVisitor(t *testing.T) {
	s := New(Row)
	s.Insert(0)
	s.Insert(0)
	if s.Count() != 1 || s.Empty() {
		t.Errorf("count %d", s.Count())
	}
}

func TestParseRefuses(t *testing.T) {
	for name, data := range map[string][]byte{
		"unknown form":       {9, 12},
		"form only":          {formExact},
		"cut hash":           {formExact, 1, 2, 3},
		"zero hash":          {formExact, 0, 0, 0, 0, 0, 0, 0, 0},
		"not ascending":      {formExact, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
		"twice":              {formExact, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0},
		"too many":           append([]byte{formExact}, make([]byte, 8*129)...),
		"other precision":    {formSparse, 14, 0, 1},
		"rank zero":          {formSparse, 12, 0, 0},
		"rank too high":      {formSparse, 12, 0, 54},
		"register too high":  {formSparse, 12, 0x80, 0x20, 1},
		"gap of 2^63":        {formSparse, 12, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1},
		"no registers":       {formSparse, 12},
		"short nibbles":      {formNibbles, 12, 0, 1, 2, 3},
		"nibbles and a byte": append([]byte{formNibbles, 12, 0}, make([]byte, 2049)...),
		"base too high":      append([]byte{formNibbles, 12, 200}, make([]byte, 2048)...),
	} {
		if _, err := Parse(Row, data); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error %v, want ErrCorrupt", name, err)
		}
	}
}

// FuzzParse: no panic; what is accepted is written again and read back to the same bytes; nothing larger than the kind allows comes out.
func FuzzParse(f *testing.F) {
	for _, n := range []int{1, 5, 100, 200, 1000, 100000} {
		s := New(Row)
		for i := range n {
			s.Insert(uint64(i+1) * 0x9e3779b97f4a7c15)
		}
		f.Add(s.Append(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range kinds() {
			s, err := Parse(kind, data)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatalf("error %v", err)
				}
				continue
			}
			if s.MemoryBytes() > 1<<kind.precision()+16*kind.limit() {
				t.Fatalf("%d bytes of memory", s.MemoryBytes())
			}
			if n := s.Count(); n < 0 {
				t.Fatalf("count %d", n)
			}
			again := s.Append(nil)
			back, err := Parse(kind, again)
			if err != nil || !bytes.Equal(back.Append(nil), again) {
				t.Fatalf("written as %x, read back with %v", again, err)
			}
		}
	})
}

func BenchmarkInsert(b *testing.B) {
	for _, bc := range []struct {
		name   string
		people int
	}{{"8", 8}, {"100", 100}, {"10000", 10000}} {
		b.Run(bc.name, func(b *testing.B) {
			s := New(Row)
			b.ReportAllocs()
			for i := range b.N {
				s.Insert(uint64(i%bc.people+1) * 0x9e3779b97f4a7c15)
			}
		})
	}
}

func BenchmarkCount(b *testing.B) {
	s, theirs := New(Total), hyperloglog.NewNoSparse()
	for i := range 100_000 {
		h := uint64(i+1) * 0x9e3779b97f4a7c15
		s.Insert(h)
		theirs.InsertHash(h)
	}
	b.Run("ours", func(b *testing.B) {
		for range b.N {
			s.Count()
		}
	})
	b.Run("axiomhq", func(b *testing.B) {
		for range b.N {
			theirs.Estimate()
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	s := New(Total)
	for i := range 100_000 {
		s.Insert(uint64(i+1) * 0x9e3779b97f4a7c15)
	}
	b.ReportAllocs()
	var buf []byte
	for range b.N {
		buf = s.Append(buf[:0])
	}
}

func TestUnionIsTheSketchOfAll(t *testing.T) {
	for seed := range uint64(80) {
		rng := rand.New(rand.NewPCG(seed, 11))
		kind := Kind(seed % 2)
		people := 1 + rng.IntN([]int{50, 2000, 20_000}[seed%3])
		all := map[uint64]bool{}
		whole := New(kind)
		var u Union
		u.Reset(kind)
		exact := true
		for range 1 + rng.IntN(12) {
			part := New(kind)
			for range rng.IntN(people) {
				h := uint64(rng.IntN(people)+1) * 0x9e3779b97f4a7c15
				part.Insert(h)
				whole.Insert(h)
				all[h] = true
			}
			exact = exact && part.Exact()
			if err := u.Add(part.Append(nil)); err != nil {
				t.Fatal(err)
			}
		}
		if u.Exact() != exact {
			t.Fatalf("seed %d: exact %v, want %v", seed, u.Exact(), exact)
		}
		want := int64(len(all))
		if !exact {
			want = whole.Count()
		}
		if got := u.Count(); got != want {
			t.Fatalf("seed %d: count %d, want %d", seed, got, want)
		}
	}
}

func TestUnionIsBounded(t *testing.T) {
	var u Union
	u.Reset(Total)
	rng := rand.New(rand.NewPCG(7, 7))
	for range 1000 {
		s := New(Total)
		for range 500 {
			s.Insert(rng.Uint64())
		}
		if err := u.Add(s.Append(nil)); err != nil {
			t.Fatal(err)
		}
	}
	if u.Exact() || cap(u.hashes) > 4*maxUnionHashes {
		t.Errorf("exact %v, room for %d hashes", u.Exact(), cap(u.hashes))
	}
	if off := math.Abs(float64(u.Count())/500_000 - 1); off > 0.03 {
		t.Errorf("count %d of 500000", u.Count())
	}
	if err := u.Add([]byte{9}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

// TestWhatIsKeptFollowsTheSketch: counts and bytes of a sketch that was looked at all along are those of one that was read just now, and
// Insert says when they change.
func TestWhatIsKeptFollowsTheSketch(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, kind := range kinds() {
		s := New(kind)
		for step := range 6000 {
			before := s.Append(nil)
			switch {
			case step%500 == 499:
				other := New(kind)
				for range rng.IntN(2 * kind.limit()) {
					other.Insert(rng.Uint64())
				}
				if step%1000 == 999 {
					s.Merge(&other)
				} else if err := s.MergeBinary(other.Append(nil)); err != nil {
					t.Fatal(err)
				}
			default:
				exact, h := s.Exact(), rng.Uint64()
				if rng.IntN(4) == 0 {
					h = uint64(rng.IntN(50)) << 40
				}
				changed := s.Insert(h)
				if same := bytes.Equal(before, s.Append(nil)); changed == same && exact == s.Exact() {
					t.Fatalf("kind %d, step %d: Insert says %v, and the bytes are the same: %v", kind, step, changed, same)
				}
			}
			now := s.Append(nil)
			read, err := Parse(kind, now)
			if err != nil {
				t.Fatal(err)
			}
			if again := read.Append(nil); read.Count() != s.Count() || !bytes.Equal(again, now) {
				t.Fatalf("kind %d, step %d: count %d and %d bytes, read again %d and %d bytes", kind, step, s.Count(), len(now), read.Count(), len(again))
			}
		}
		if s.Exact() {
			t.Errorf("kind %d: the sketch never had registers", kind)
		}
	}
}
