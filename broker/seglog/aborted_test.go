package seglog

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"testing"

	"github.com/weir-analytics/weir/internal/vfs"
)

// markedLog is a log of batches of one record, a few to a segment; every third
// is taken for the marker that aborts the two before it.
func markedLog(t testing.TB, fsys vfs.FS, batches int) (*Log, []Aborted) {
	t.Helper()
	l := openLog(t, fsys, 400)
	var all []Aborted
	for i := range batches {
		must(t, l.Append([]Entry{{Index: uint64(i + 1), Term: 1, Kind: KindBatch, Data: batch(t, 1, 1000, fmt.Sprint(i))}}))
		if o := int64(i); i%3 == 2 {
			all = append(all, Aborted{ProducerID: o, FirstOffset: o - 2, LastOffset: o, LastStableOffset: o + 1})
			l.AddAborted(all[len(all)-1:])
		}
	}
	if len(l.Segments()) < 4 {
		t.Fatalf("%d segments are too few for the test", len(l.Segments()))
	}
	return l, all
}

func abortedOf(t testing.TB, l *Log, from, to int64) []Aborted {
	t.Helper()
	list, err := l.AbortedIn(from, to)
	must(t, err)
	return list
}

func exists(fsys vfs.FS, name string) bool {
	_, err := fsys.Open(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// The bytes are those of Kafka's TransactionIndex.
func TestAbortedEntryIsThatOfKafka(t *testing.T) {
	a := Aborted{ProducerID: 1, FirstOffset: 2, LastOffset: 0x0304, LastStableOffset: 5}
	const want = "0000" + "0000000000000001" + "0000000000000002" + "0000000000000304" + "0000000000000005"
	if got := hex.EncodeToString(appendAborted(nil, a)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAbortedTransactionsAreFoundByRange(t *testing.T) {
	mem := vfs.NewMem()
	l, all := markedLog(t, mem, 30)
	check := func(l *Log) {
		t.Helper()
		for from := range int64(30) {
			for to := from + 1; to <= 30; to++ {
				var want []Aborted
				for _, a := range all {
					if a.LastOffset >= from && a.FirstOffset < to {
						want = append(want, a)
					}
				}
				if got := abortedOf(t, l, from, to); !reflect.DeepEqual(got, want) && len(got)+len(want) > 0 {
					t.Fatalf("[%d, %d): got %v, want %v", from, to, got, want)
				}
			}
		}
	}
	check(l) // from memory
	sums, err := l.SyncAborted(15)
	must(t, err)
	check(l) // from both
	n := uint32(0)
	for _, s := range sums {
		n += s.Count
	}
	if n != 5 { // markers at 2, 5, 8, 11, 14
		t.Errorf("%d entries are durable, want 5: those below the offset", n)
	}
	crashed := openLog(t, mem.Crash(nil), 400)
	if unusable, err := crashed.LoadAborted(sums); unusable != nil || err != nil {
		t.Fatalf("got %v, %v", unusable, err)
	}
	crashed.AddAborted(all[5:]) // what the owner applies again
	check(crashed)
	sums, err = l.SyncAborted(30)
	must(t, err)
	check(l) // from files
	must(t, l.Close())
	l = openLog(t, mem, 400)
	if unusable, err := l.LoadAborted(sums); unusable != nil || err != nil {
		t.Fatalf("got %v, %v", unusable, err)
	}
	check(l)
	l.ResetAborted(all)
	check(l)
	again, err := l.SyncAborted(30)
	if err != nil || !reflect.DeepEqual(again, sums) {
		t.Errorf("made anew: got %v, %v, want %v", again, err, sums)
	}
	check(l)
	verifyLog(t, l)
}

func TestAbortedIndexGoesWithItsSegment(t *testing.T) {
	mem := vfs.NewMem()
	l, all := markedLog(t, mem, 30)
	_, err := l.SyncAborted(30)
	must(t, err)
	segs := l.Segments()
	first, third := l.path(segs[0].Base)+extTxn, l.path(segs[2].Base)+extTxn
	if !exists(mem, first) || !exists(mem, third) {
		t.Fatal("the files are not there")
	}
	start := l.SetLogStart(segs[2].Base)
	if ok, err := l.Retire(30, nil); !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if exists(mem, first) || !exists(mem, third) {
		t.Error("the wrong files are gone")
	}
	if _, err := l.AbortedIn(0, 30); !errors.Is(err, ErrOffsetRange) {
		t.Errorf("deleted offsets: got %v", err)
	}
	if got := abortedOf(t, l, start, 30); len(got) == 0 || got[len(got)-1] != all[len(all)-1] {
		t.Errorf("got %v", got)
	}
	must(t, l.ResetTo(Anchor{Index: 100, Term: 1, NextOffset: segs[2].Base}, segs[2].Base))
	if got := abortedOf(t, l, segs[2].Base, 1000); len(got) != 0 || exists(mem, third) {
		t.Errorf("after beginning anew: got %v", got)
	}
}

// Removing the newest entries leaves the index of what stays. To remove a marker
// that the owner has told of is to lose what a group agreed on.
func TestAbortedIndexAndRemovedEntries(t *testing.T) {
	for _, synced := range []bool{false, true} {
		mem := vfs.NewMem()
		l, all := markedLog(t, mem, 30)
		for i := 30; i < 40; i++ { // not agreed on
			must(t, l.Append([]Entry{{Index: uint64(i + 1), Term: 1, Kind: KindBatch, Data: batch(t, 1, 1000, fmt.Sprint(i))}}))
		}
		if synced {
			_, err := l.SyncAborted(30)
			must(t, err)
		}
		must(t, l.TruncateFrom(32))
		if got := abortedOf(t, l, 0, 31); !reflect.DeepEqual(got, all) {
			t.Errorf("got %v, want %v", got, all)
		}
		sums, err := l.SyncAborted(31)
		must(t, err)
		crashed := openLog(t, mem.Crash(nil), 400)
		if unusable, err := crashed.LoadAborted(sums); unusable != nil || err != nil {
			t.Fatalf("got %v, %v", unusable, err)
		}
		if got := abortedOf(t, crashed, 0, 31); !reflect.DeepEqual(got, all) {
			t.Errorf("after a crash: got %v, want %v", got, all)
		}
		if err := l.TruncateFrom(30); !errors.Is(err, ErrFailed) || !errors.Is(err, ErrCorrupt) {
			t.Errorf("removing a marker: got %v", err)
		}
	}
}

func TestUnusableAbortedIndexIsNamed(t *testing.T) {
	mem := vfs.NewMem()
	l, _ := markedLog(t, mem, 30)
	sums, err := l.SyncAborted(30)
	must(t, err)
	must(t, l.Close())
	name := l.path(sums[1].Base) + extTxn
	for what, damage := range map[string]func(*vfs.Mem){
		"missing":     func(m *vfs.Mem) { must(t, m.Remove(name)) },
		"cut":         func(m *vfs.Mem) { m.Corrupt(name, func(b []byte) []byte { return b[:len(b)-1] }) },
		"changed":     func(m *vfs.Mem) { m.Corrupt(name, func(b []byte) []byte { b[20] ^= 4; return b }) },
		"another one": func(m *vfs.Mem) { m.Corrupt(name, func(b []byte) []byte { return make([]byte, len(b)) }) },
	} {
		disk := mem.Crash(nil)
		damage(disk)
		l := openLog(t, disk, 400)
		if unusable, err := l.LoadAborted(sums); unusable == nil || err != nil {
			t.Errorf("%s: got %v, %v", what, unusable, err)
		}
	}
	// Sums of segments that were deleted since are of no interest, those of
	// segments that are not there are.
	l = openLog(t, mem, 400)
	if unusable, err := l.LoadAborted(append([]AbortedSum{{Base: 1, Count: 1}}, sums...)); unusable == nil || err != nil {
		t.Errorf("no such segment: got %v, %v", unusable, err)
	}
	l.SetLogStart(sums[1].Base)
	if _, err := l.Retire(30, nil); err != nil {
		t.Fatal(err)
	}
	if unusable, err := l.LoadAborted(sums); unusable != nil || err != nil {
		t.Errorf("deleted segments: got %v, %v", unusable, err)
	}
}

// Property: any bytes are parsed without a panic, and what is accepted is
// written again as the same bytes.
func FuzzAborted(f *testing.F) {
	f.Add(appendAborted(appendAborted(nil, Aborted{1, 2, 3, 4}), Aborted{1, 4, 7, 8}))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, ok := parseAborted(b)
		if !ok {
			return
		}
		var again []byte
		for _, a := range list {
			again = appendAborted(again, a)
		}
		if string(again) != string(b) {
			t.Fatalf("got %x, want %x", again, b)
		}
	})
}
