package tally

// index is a hash table from 64-bit hashes to positions in a slice of the caller, who compares what lies there. Emptying it costs
// nothing: entries of earlier rounds carry an older stamp.
type index struct {
	entries []entry
	stamp   uint32
	used    int
}

type entry struct {
	hash  uint64
	stamp uint32
	pos   int32
}

func newIndex(size int) *index {
	capacity := 16
	for capacity < 2*size {
		capacity *= 2
	}
	return &index{entries: make([]entry, capacity), stamp: 1}
}

// reset empties the table.
func (x *index) reset() {
	x.used = 0
	x.stamp++
	if x.stamp == 0 { // after four billion rounds
		clear(x.entries)
		x.stamp = 1
	}
}

// probe begins a search: call next until it returns false.
type probe struct {
	x    *index
	hash uint64
	at   uint64
}

func (x *index) find(hash uint64) probe {
	return probe{x: x, hash: hash, at: hash & uint64(len(x.entries)-1)}
}

// next returns the next position that was put under the hash.
func (p *probe) next() (int32, bool) {
	mask := uint64(len(p.x.entries) - 1)
	for {
		e := &p.x.entries[p.at]
		if e.stamp != p.x.stamp {
			return 0, false
		}
		p.at = (p.at + 1) & mask
		if e.hash == p.hash {
			return e.pos, true
		}
	}
}

// put adds a position under a hash. The caller has seen that it is not there.
func (x *index) put(hash uint64, pos int32) {
	if 2*(x.used+1) > len(x.entries) {
		x.grow()
	}
	x.place(hash, pos)
	x.used++
}

func (x *index) place(hash uint64, pos int32) {
	mask := uint64(len(x.entries) - 1)
	at := hash & mask
	for x.entries[at].stamp == x.stamp {
		at = (at + 1) & mask
	}
	x.entries[at] = entry{hash: hash, stamp: x.stamp, pos: pos}
}

func (x *index) grow() {
	old, stamp := x.entries, x.stamp
	x.entries, x.stamp = make([]entry, 2*len(old)), 1
	for _, e := range old {
		if e.stamp == stamp {
			x.place(e.hash, e.pos)
		}
	}
}

// mix spreads two numbers over 64 bits (the finisher of splitmix64).
func mix(a, b uint64) uint64 {
	h := a ^ b*0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
