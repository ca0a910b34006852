package sketch

import "slices"

// Kind says how large a sketch may grow.
type Kind uint8

// Kinds. See doc.go for sizes and errors.
const (
	Row   Kind = iota // one row of a report
	Total             // everybody on a site in a window
)

// limit returns the number of hashes that are kept one by one.
func (k Kind) limit() int {
	if k == Total {
		return 512
	}
	return 128
}

// precision returns the logarithm of the number of registers.
func (k Kind) precision() uint8 {
	if k == Total {
		return 14
	}
	return 12
}

// linear is up to how many hashes a plain scan is used; it also covers most rows of most reports in one cache line or two.
const linear = 8

// Sketch counts distinct hashes. The zero Sketch is empty and of kind Row; New makes other kinds. It is not safe for concurrent use.
type Sketch struct {
	kind   Kind
	n      int      // distinct hashes while exact
	only   uint64   // the hash while there is one: most rows of small sites never need memory of their own
	hashes []uint64 // from the second on all of them, in order of arrival up to linear, then in a hash table where zero is free
	regs   registers
	ranks  *ranks // of regs; nil when they have to be counted again
}

// New returns an empty sketch.
func New(kind Kind) Sketch { return Sketch{kind: kind} }

// Kind returns the kind of the sketch.
func (s *Sketch) Kind() Kind { return s.kind }

// Exact says whether Count is the true number.
func (s *Sketch) Exact() bool { return s.regs == nil }

// Empty says whether nothing was inserted.
func (s *Sketch) Empty() bool { return s.n == 0 && s.regs == nil }

// Count returns the number of distinct hashes inserted: the true number while Exact, an estimate after.
func (s *Sketch) Count() int64 {
	if s.regs != nil {
		return s.counted().estimate(s.kind.precision())
	}
	return int64(s.n)
}

// Insert adds a hash, and says whether that changed the sketch.
func (s *Sketch) Insert(h uint64) bool {
	if h == 0 {
		h = zeroStandIn
	}
	switch {
	case s.regs != nil:
		return s.insertRegister(h)
	case s.n <= linear:
		return s.insertList(h)
	default:
		return s.insertHash(h)
	}
}

// zeroStandIn takes the place of the hash 0, which marks a free slot.
const zeroStandIn = 0x9e3779b97f4a7c15

func (s *Sketch) insertList(h uint64) bool {
	switch {
	case s.n == 0:
		s.only, s.n = h, 1
		return true
	case s.n == 1:
		if s.only == h {
			return false
		}
		s.hashes = append(make([]uint64, 0, 4), s.only)
	case slices.Contains(s.hashes, h):
		return false
	case s.n == linear:
		table := make([]uint64, 4*linear)
		for _, have := range s.hashes {
			place(table, have)
		}
		s.hashes = table
		return s.insertHash(h)
	}
	s.hashes = append(s.hashes, h)
	s.n++
	return true
}

func (s *Sketch) insertHash(h uint64) bool {
	if !place(s.hashes, h) {
		return false
	}
	s.n++
	switch {
	case s.n > s.kind.limit():
		s.toRegisters()
	case 2*s.n > len(s.hashes):
		wider := make([]uint64, 2*len(s.hashes))
		for _, have := range s.hashes {
			if have != 0 {
				place(wider, have)
			}
		}
		s.hashes = wider
	}
	return true
}

// place puts a hash into a table that has room, and says whether it is new there.
func place(table []uint64, h uint64) bool {
	mask := uint64(len(table) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch table[i] {
		case h:
			return false
		case 0:
			table[i] = h
			return true
		}
	}
}

// each calls f with every hash of an exact sketch, in no order.
func (s *Sketch) each(f func(uint64)) {
	if s.n == 1 {
		f(s.only)
		return
	}
	for _, h := range s.hashes {
		if h != 0 {
			f(h)
		}
	}
}

// sorted appends the hashes of an exact sketch of more than one in ascending order.
func (s *Sketch) sorted(all []uint64) []uint64 {
	for _, h := range s.hashes {
		if h != 0 {
			all = append(all, h)
		}
	}
	slices.Sort(all)
	return all
}

func (s *Sketch) toRegisters() {
	old := *s
	*s = Sketch{kind: s.kind, regs: newRegisters(s.kind.precision()), ranks: &ranks{0: 1 << s.kind.precision()}}
	old.each(func(h uint64) { s.insertRegister(h) })
}

func (s *Sketch) insertRegister(h uint64) bool {
	was, is := s.regs.insert(h, s.kind.precision())
	if s.ranks != nil && was != is {
		s.ranks[was]--
		s.ranks[is]++
	}
	return was != is
}

// counted returns the ranks of the registers.
func (s *Sketch) counted() *ranks {
	if s.ranks == nil {
		s.ranks = s.regs.ranks()
	}
	return s.ranks
}

// Merge adds everything that was inserted into another sketch of the same kind.
func (s *Sketch) Merge(from *Sketch) {
	if s.kind != from.kind {
		panic("BUG: sketches of different kinds cannot be merged")
	}
	if from.regs == nil {
		from.each(func(h uint64) { s.Insert(h) })
		return
	}
	if s.regs == nil {
		s.toRegisters()
	}
	s.regs.merge(from.regs)
	s.ranks = nil
}

// MemoryBytes returns about how much memory the sketch holds on to.
func (s *Sketch) MemoryBytes() int {
	n := 8*cap(s.hashes) + cap(s.regs)
	if s.ranks != nil {
		n += 2 * len(s.ranks)
	}
	return n
}
