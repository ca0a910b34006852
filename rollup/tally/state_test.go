package tally

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/weir-analytics/weir/rollup/visit"
)

// known makes something up that tally may know.
func known(r *rand.Rand, position int64, ids int) Saved {
	s := Saved{Position: position, ReceivedMs: received, Sources: map[string]uint64{}}
	for i := range r.IntN(20) {
		s.Sources[fmt.Sprint("node-", i)] = r.Uint64()
	}
	for i := range 3 {
		b := Block{Hour: int64(i), N: r.IntN(2)}
		for range 1 + ids/3 {
			b.IDs = append(b.IDs, r.Uint64())
		}
		s.Blocks = append(s.Blocks, b)
	}
	for range r.IntN(50) {
		s.Visits = append(s.Visits, visit.Saved{Site: r.Uint32(), Visitor: r.Uint64(), Data: make([]byte, r.IntN(300)+1)})
	}
	return s
}

func same(t *testing.T, got *Saved, want Saved) {
	t.Helper()
	if got == nil {
		t.Fatal("nothing was found")
	}
	order := func(a, b visit.Saved) int { return int(int64(a.Site) - int64(b.Site)) }
	slices.SortFunc(got.Visits, order)
	slices.SortFunc(want.Visits, order)
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got  %.300v\nwant %.300v", *got, want)
	}
}

func TestAStateIsWholeOrNotThere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	for ids := range 3 {
		want := known(r, 100, 100_000*ids)
		values := pieces(want, 7)
		if ids == 2 && len(values) < 3 {
			t.Errorf("%d ids are in %d records", 200_000, len(values))
		}
		for _, v := range values {
			if len(v) > 800_000 {
				t.Errorf("a record of %d bytes", len(v))
			}
		}
		g := gathering{atMost: 100}
		for _, v := range values[:len(values)-1] {
			g.add(v)
		}
		if g.best != nil {
			t.Error("a part was taken for the whole")
		}
		g.add(values[len(values)-1])
		same(t, g.best, want)
	}
}

func TestTheLatestStateThatCountsIsTaken(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 8))
	old, last, ahead := known(r, 100, 150_000), known(r, 200, 150_000), known(r, 300, 10)
	g := gathering{atMost: 250}
	a, b := pieces(old, 1), pieces(last, 2)
	g.add([]byte("garbage"))
	g.add(b[1])                          // the first piece was deleted by retention
	for i := range max(len(a), len(b)) { // two members write at the same time
		if i < len(b) {
			g.add(b[i])
		}
		if i < len(a) {
			g.add(a[i])
		}
	}
	for _, v := range pieces(ahead, 3) {
		g.add(v)
	}
	for _, v := range pieces(old, 4) { // a member that is behind writes late
		g.add(v)
	}
	same(t, g.best, last)
}

// FuzzParsePiece: no panic; what is accepted is written again and read as the same.
func FuzzParsePiece(f *testing.F) {
	small := Saved{Position: 5, ReceivedMs: received, Sources: map[string]uint64{"node": 7}, Blocks: []Block{{Hour: 9, N: 1, IDs: []uint64{1, 1 << 63}}},
		Visits: []visit.Saved{{Site: 1, Visitor: 2, Data: []byte("data")}}}
	f.Add(pieces(small, 1)[0])
	f.Add(pieces(Saved{}, 1)[0])
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePiece(data)
		if err != nil {
			if !errors.Is(err, ErrNotState) {
				t.Fatal(err)
			}
			return
		}
		back, err := ParsePiece(AppendPiece(nil, p))
		if err != nil || !reflect.DeepEqual(p, back) {
			t.Fatalf("%v: %+v became %+v", err, p, back)
		}
		if _, err := json.Marshal(p); err != nil && p.ReceivedMs > -1<<40 && p.ReceivedMs < 1<<47 {
			t.Fatal(err)
		}
	})
}
