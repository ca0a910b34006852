package ring

// Sizes of the rings, in windows: what is kept at hand of each kind, plus the window that is being filled.
const (
	MinuteSlots = 121 // two hours
	HourSlots   = 745 // 31 days
	DaySlots    = 401 // a year and some days, so that the same day of last year is at hand
)

// blockSlots is how many slots are allocated together. A live site touches the last one or two windows only, so a small block keeps
// the ring of an ordinary site at a few hundred bytes. Guess, not measured.
const blockSlots = 32

// Ring holds one T for each of the newest windows. The zero T is an empty bucket. A Ring is not safe for concurrent use.
type Ring[T any] struct {
	blocks []*[blockSlots]T
	slots  int64
	head   int64 // the newest index seen; meaningful when started
	begun  bool
	forget func(index int64, bucket *T)
}

// New returns an empty ring of the given number of slots. forget, when not nil, is called with each bucket just before it is cleared,
// oldest first; buckets in blocks that were never touched are passed over in silence.
func New[T any](slots int, forget func(index int64, bucket *T)) *Ring[T] {
	if slots < 1 {
		panic("BUG: a ring needs at least one slot")
	}
	return &Ring[T]{
		blocks: make([]*[blockSlots]T, (slots+blockSlots-1)/blockSlots),
		slots:  int64(slots),
		forget: forget,
	}
}

// At returns the bucket of a window, stepping the ring forward when the window is newer than all before. It returns false, and changes
// nothing, when the window is behind the ring: then the caller counts it elsewhere. The pointer is good until the next call.
func (r *Ring[T]) At(index int64) (*T, bool) {
	switch {
	case !r.begun:
		r.head, r.begun = index, true
	case index > r.head:
		r.step(index)
	case index <= r.head-r.slots:
		return nil, false
	}
	return r.slot(index), true
}

// Peek returns the bucket of a window if the ring holds it, without stepping and without allocating.
func (r *Ring[T]) Peek(index int64) (*T, bool) {
	if !r.Holds(index) {
		return nil, false
	}
	pos := r.position(index)
	if r.blocks[pos/blockSlots] == nil {
		return nil, false
	}
	return r.slot(index), true
}

// Holds says whether the window lies in the ring as it stands.
func (r *Ring[T]) Holds(index int64) bool {
	return r.begun && index <= r.head && index > r.head-r.slots
}

// Head returns the newest index and whether there is one.
func (r *Ring[T]) Head() (int64, bool) { return r.head, r.begun }

// Oldest returns the smallest index that the ring holds now.
func (r *Ring[T]) Oldest() int64 { return r.head - r.slots + 1 }

// Each calls f with every bucket in an allocated block, oldest first. f may change the bucket.
func (r *Ring[T]) Each(f func(index int64, bucket *T)) {
	if !r.begun {
		return
	}
	for index := r.Oldest(); index <= r.head; index++ {
		if bucket, ok := r.Peek(index); ok {
			f(index, bucket)
		}
	}
}

// step moves the head to a newer index and clears what it passes. A step of a ring's length or more clears the whole ring once.
func (r *Ring[T]) step(index int64) {
	first, last := r.head+1, index
	if last-first >= r.slots || last-first < 0 { // the second: the difference overflowed
		first = last - r.slots + 1
	}
	for i := first; i <= last; i++ {
		r.clear(i)
	}
	r.head = index
}

// clear empties the slot that index is about to use. What lies in it is the window one ring length before, or older when the ring has
// stepped over several lengths; the name told to forget is the one that the ring held.
func (r *Ring[T]) clear(index int64) {
	pos := r.position(index)
	block := r.blocks[pos/blockSlots]
	if block == nil {
		return
	}
	bucket := &block[pos%blockSlots]
	if r.forget != nil {
		r.forget(r.heldAt(pos), bucket)
	}
	var empty T
	*bucket = empty
}

// heldAt returns the index that the ring, as it stands, holds at a position.
func (r *Ring[T]) heldAt(pos int64) int64 {
	return r.head - floorMod(r.head-pos, r.slots)
}

func (r *Ring[T]) slot(index int64) *T {
	pos := r.position(index)
	block := &r.blocks[pos/blockSlots]
	if *block == nil {
		*block = new([blockSlots]T)
	}
	return &(*block)[pos%blockSlots]
}

func (r *Ring[T]) position(index int64) int64 { return floorMod(index, r.slots) }

func floorMod(a, b int64) int64 {
	if m := a % b; m < 0 {
		return m + b
	} else {
		return m
	}
}
