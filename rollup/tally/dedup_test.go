package tally

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weir-analytics/weir/ingest/hit"
)

// memory is a Store in memory.
type memory struct{ saved Saved }

func (m *memory) Load(int32) (Saved, bool, error) { return m.saved, m.saved.Position > 0, nil }
func (m *memory) Forget(int32) error              { m.saved = Saved{}; return nil }
func (m *memory) Save(_ int32, c Change) error {
	m.saved.Position, m.saved.ReceivedMs = c.Position, c.ReceivedMs
	if m.saved.Sources == nil {
		m.saved.Sources = map[string]uint64{}
	}
	maps.Copy(m.saved.Sources, c.Sources)
	for _, d := range c.Dropped {
		m.saved.Blocks = slices.DeleteFunc(m.saved.Blocks, func(b Block) bool { return b.Hour == d.Hour && b.N == d.N })
	}
	for _, a := range c.Added {
		at := slices.IndexFunc(m.saved.Blocks, func(b Block) bool { return b.Hour == a.Hour && b.N == a.N })
		if at < 0 {
			m.saved.Blocks = append(m.saved.Blocks, Block{Hour: a.Hour, N: a.N, IDs: slices.Clone(a.IDs)})
			continue
		}
		m.saved.Blocks[at].IDs = append(m.saved.Blocks[at].IDs, a.IDs...)
	}
	return nil
}

// TestRepeatsAreKnownOverRestarts: within the window every repeat is found and nothing else is called one, also when what is known is
// saved, loaded, and brought up to date by reading a part of the events again.
func TestRepeatsAreKnownOverRestarts(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		type event struct {
			hit      hit.Hit
			received int64
		}
		var log []event
		var store memory
		d := newDedup([16]byte{1}, Saved{})
		received := int64(1_760_000_000_000)
		seen := map[string]int64{} // client id -> when it was received last as new
		high := map[string]uint64{}
		serial := 0
		for step := range 4000 {
			received += rng.Int64N(60_000)
			if rng.IntN(300) == 0 {
				received += 30 * 3_600_000 // a quiet day
			}
			var h hit.Hit
			want := false
			switch rng.IntN(3) {
			case 0:
				h.ClientID = fmt.Sprint("id-", serial-rng.IntN(min(serial, 400)+1))
				serial++
				h.SiteID = uint32(rng.IntN(2))
				key := fmt.Sprint(h.SiteID, h.ClientID)
				before, known := seen[key]
				age := received - before
				switch {
				case known && age < WindowHours*3_600_000:
					want = true
				case known && age < (WindowHours+2)*3_600_000:
					continue // between the promise and the end of the block: either is fine, and depends on nothing but the events
				default:
					seen[key] = received
				}
			case 1:
				h.ID = hit.ID{Source: fmt.Sprint("s", rng.IntN(3)), Seq: uint64(1 + rng.IntN(1+step))}
				want = h.ID.Seq <= high[h.ID.Source]
				high[h.ID.Source] = max(high[h.ID.Source], h.ID.Seq)
			}
			if got := d.repeat(&h, received); got != want {
				t.Fatalf("seed %d step %d: repeat = %v, want %v for %+v", seed, step, got, want, h)
			}
			log = append(log, event{h, received})
			if rng.IntN(40) == 0 {
				if err := store.Save(0, d.takeChange(int64(len(log)), received)); err != nil {
					t.Fatal(err)
				}
			}
			if rng.IntN(200) == 0 { // restart
				saved := store.saved
				saved.Sources = maps.Clone(saved.Sources)
				saved.Blocks = slices.Clone(saved.Blocks)
				for i := range saved.Blocks {
					saved.Blocks[i].IDs = slices.Clone(saved.Blocks[i].IDs)
				}
				d = newDedup([16]byte{1}, saved)
				for _, e := range log[saved.Position:] {
					d.repeat(&e.hit, e.received)
				}
			}
		}
	}
}

func TestClientIDsAreBounded(t *testing.T) {
	d := newDedup([16]byte{}, Saved{})
	h := hit.Hit{SiteID: 1}
	for i := range MaxIDs + 3*blockIDs {
		h.ClientID = fmt.Sprint(i)
		if d.repeat(&h, 1_760_000_000_000) {
			t.Fatalf("id %d is called a repeat", i)
		}
	}
	if d.ids.n > MaxIDs+1 || len(d.ids.slots) > 4*MaxIDs {
		t.Errorf("%d ids in %d slots", d.ids.n, len(d.ids.slots))
	}
	h.ClientID = fmt.Sprint(MaxIDs + 3*blockIDs - 1)
	if !d.repeat(&h, 1_760_000_000_000) {
		t.Error("the last id is forgotten")
	}
	if h.ClientID = fmt.Sprint(MaxIDs); !d.repeat(&h, 1_760_000_000_000) {
		t.Error("an id among the last ones is forgotten")
	}
}

func TestIDsOfTwoSitesAreTwo(t *testing.T) {
	d := newDedup([16]byte{}, Saved{})
	if d.repeat(&hit.Hit{SiteID: 1, ClientID: "x"}, 0) || d.repeat(&hit.Hit{SiteID: 2, ClientID: "x"}, 0) {
		t.Error("ids are unique within a site only")
	}
}

func TestIDSetAgainstAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var s idSet
	want := map[uint64]bool{}
	for range 200_000 {
		id := uint64(rng.IntN(500)) * 64 // many clashes
		if rng.IntN(2) == 0 {
			if s.add(id) == want[max(id, 1)] {
				t.Fatalf("add(%d) says it was there: %v", id, want[max(id, 1)])
			}
			want[max(id, 1)] = true
		} else {
			s.remove(id)
			delete(want, max(id, 1))
		}
		if s.n != len(want) {
			t.Fatalf("%d ids, want %d", s.n, len(want))
		}
	}
	for id := range want {
		if s.add(id) {
			t.Fatalf("%d is missing", id)
		}
	}
}
