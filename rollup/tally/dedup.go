package tally

import (
	"encoding/binary"

	"github.com/dchest/siphash"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/rollup/visit"
)

// Bounds of the memory for client ids, for each partition. An id is remembered for at least WindowHours after it was received, or until
// MaxIDs later ones have come, whichever is first. 16 bytes in memory for each.
const (
	WindowHours = 24
	MaxIDs      = 1 << 19
	blockIDs    = MaxIDs / 8
)

// dedup knows which hits were seen. It is a function of the events that went through it, in their order.
//
// Sequences are known by the highest one of each source, for ever. Client ids are known by a 64-bit keyed hash, in blocks by the hour in
// which they were received; whole blocks are forgotten.
type dedup struct {
	key     [16]byte
	sources map[string]*uint64
	blocks  []Block // oldest first
	ids     idSet
	scratch []byte

	lastSource string // the source of the hit before, and its entry
	lastSeq    *uint64

	change Change // since the last save
}

// Block is a run of client ids that were received in one hour, as hashes.
type Block struct {
	Hour int64 // hours since 1970
	N    int   // number of the block in the hour, from 0
	IDs  []uint64
}

// Change is what was learned since the last save.
type Change struct {
	Position   int64             // every event before this offset is taken into account
	ReceivedMs int64             // the latest time of receipt among them
	Sources    map[string]uint64 // new highest sequences
	Added      []Block           // ids that are new, by block
	Dropped    []Block           // blocks that are forgotten; without their ids
	Visits     []visit.Saved     // visitors that changed
}

// Saved is all that was saved.
type Saved struct {
	Position   int64
	ReceivedMs int64
	Sources    map[string]uint64
	Blocks     []Block // oldest first
	Visits     []visit.Saved
}

func newDedup(key [16]byte, saved Saved) *dedup {
	d := &dedup{key: key, sources: make(map[string]*uint64, len(saved.Sources)), blocks: saved.Blocks}
	for source, seq := range saved.Sources {
		d.sources[source] = &seq
	}
	for _, b := range saved.Blocks {
		for _, id := range b.IDs {
			d.ids.add(id)
		}
	}
	return d
}

// repeat says whether a hit was seen before, and notes it. receivedMs is the latest time of receipt up to and with the hit. A hit
// without an identity is never a repeat.
func (d *dedup) repeat(h *hit.Hit, receivedMs int64) bool {
	switch {
	case h.ClientID != "":
		return d.repeatID(d.hash(h.SiteID, h.ClientID), floorDiv(receivedMs, 3_600_000))
	case h.ID.Source != "" && h.ID.Seq != 0:
		return d.repeatSequence(h.ID.Source, h.ID.Seq)
	default:
		return false
	}
}

func (d *dedup) hash(site uint32, id string) uint64 {
	d.scratch = binary.LittleEndian.AppendUint32(d.scratch[:0], site)
	d.scratch = append(d.scratch, id...)
	return siphash.Hash(binary.LittleEndian.Uint64(d.key[:8]), binary.LittleEndian.Uint64(d.key[8:]), d.scratch)
}

func (d *dedup) repeatSequence(source string, seq uint64) bool {
	if source != d.lastSource || d.lastSeq == nil {
		high := d.sources[source]
		if high == nil {
			high = new(uint64)
			source = string([]byte(source)) // it may point into a record
			d.sources[source] = high
		}
		d.lastSource, d.lastSeq = string([]byte(source)), high
	}
	if seq <= *d.lastSeq {
		return true
	}
	*d.lastSeq = seq
	if d.change.Sources == nil {
		d.change.Sources = map[string]uint64{}
	}
	d.change.Sources[d.lastSource] = seq
	return false
}

func (d *dedup) repeatID(id uint64, hour int64) bool {
	for len(d.blocks) > 0 && d.blocks[0].Hour+WindowHours < hour {
		d.forgetOldest()
	}
	if !d.ids.add(id) {
		return true
	}
	b := d.blockFor(hour)
	b.IDs = append(b.IDs, id)
	if n := len(d.change.Added); n == 0 || d.change.Added[n-1].Hour != b.Hour || d.change.Added[n-1].N != b.N {
		d.change.Added = append(d.change.Added, Block{Hour: b.Hour, N: b.N})
	}
	added := &d.change.Added[len(d.change.Added)-1]
	added.IDs = append(added.IDs, id)
	return false
}

// blockFor returns the block to which the next id goes, after forgetting what is too much. hour never falls.
func (d *dedup) blockFor(hour int64) *Block {
	n := len(d.blocks)
	if n > 0 && d.blocks[n-1].Hour == hour && len(d.blocks[n-1].IDs) < blockIDs {
		return &d.blocks[n-1]
	}
	next := Block{Hour: hour}
	if n > 0 && d.blocks[n-1].Hour == hour {
		next.N = d.blocks[n-1].N + 1
	}
	d.blocks = append(d.blocks, next)
	for d.ids.n > MaxIDs {
		d.forgetOldest()
	}
	return &d.blocks[len(d.blocks)-1]
}

func (d *dedup) forgetOldest() {
	oldest := d.blocks[0]
	for _, id := range oldest.IDs {
		d.ids.remove(id)
	}
	d.blocks = append(d.blocks[:0], d.blocks[1:]...)
	for len(d.change.Added) > 0 && d.change.Added[0].Hour == oldest.Hour && d.change.Added[0].N == oldest.N {
		d.change.Added = d.change.Added[1:]
	}
	d.change.Dropped = append(d.change.Dropped, Block{Hour: oldest.Hour, N: oldest.N})
}

// all returns what is known. It shares the ids with dedup.
func (d *dedup) all(position, receivedMs int64) Saved {
	saved := Saved{Position: position, ReceivedMs: receivedMs, Sources: make(map[string]uint64, len(d.sources)), Blocks: d.blocks}
	for source, seq := range d.sources {
		saved.Sources[source] = *seq
	}
	return saved
}

// takeChange returns what was learned since the last call.
func (d *dedup) takeChange(position, receivedMs int64) Change {
	change := d.change
	change.Position, change.ReceivedMs = position, receivedMs
	d.change = Change{}
	return change
}

// idSet is a set of 64-bit hashes: open addressing, and on removal what follows moves up, so that no marks are left behind.
type idSet struct {
	slots []uint64 // 0 is free
	n     int
}

func (s *idSet) add(id uint64) bool {
	if id == 0 {
		id = 1
	}
	if 2*(s.n+1) > len(s.slots) {
		s.grow()
	}
	mask := uint64(len(s.slots) - 1)
	at := id & mask
	for ; s.slots[at] != 0; at = (at + 1) & mask {
		if s.slots[at] == id {
			return false
		}
	}
	s.slots[at] = id
	s.n++
	return true
}

func (s *idSet) grow() {
	old := s.slots
	s.slots, s.n = make([]uint64, max(64, 2*len(old))), 0
	for _, id := range old {
		if id != 0 {
			s.add(id)
		}
	}
}

func (s *idSet) remove(id uint64) {
	if id == 0 {
		id = 1
	}
	if s.n == 0 {
		return
	}
	mask := uint64(len(s.slots) - 1)
	at := id & mask
	for s.slots[at] != id {
		if s.slots[at] == 0 {
			return
		}
		at = (at + 1) & mask
	}
	s.n--
	free := at
	for at = (at + 1) & mask; s.slots[at] != 0; at = (at + 1) & mask {
		home := s.slots[at] & mask
		if (at-home)&mask >= (at-free)&mask { // it may move up to the free slot without passing its home
			s.slots[free] = s.slots[at]
			free = at
		}
	}
	s.slots[free] = 0
}
