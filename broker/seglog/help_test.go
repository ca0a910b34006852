package seglog

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/vfs"
)

const kindNoop = KindConfig + 1

func openLog(t testing.TB, fsys vfs.FS, segmentBytes int64) *Log {
	t.Helper()
	l, err := Open(config(fsys, segmentBytes))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func config(fsys vfs.FS, segmentBytes int64) Config {
	return Config{FS: fsys, Dir: "p", SegmentBytes: segmentBytes, Shared: NewShared(Limits{CacheBytes: 4 << 10, OpenSegments: 2})}
}

// batch makes a batch of n records that all have the time ms; text makes it
// recognisable.
func batch(t testing.TB, n int, ms int64, text string) []byte {
	t.Helper()
	b := record.NewBuilder(record.None)
	for i := range n {
		b.Append(record.Record{Value: fmt.Appendf(nil, "%s %d", text, i), TimestampMs: ms})
	}
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// script is a reproducible stream of entries: batches of 1 to 3 records with
// internal entries between them and a new term now and then.
type script struct {
	t     testing.TB
	index uint64
	term  uint32
	next  int64
	made  []Entry // as they must come back
}

func newScript(t testing.TB) *script { return &script{t: t, term: 1} }

func (s *script) entry(kind Kind) Entry {
	s.index++
	e := Entry{Index: s.index, Term: s.term, Kind: kind, BaseOffset: s.next}
	if kind == KindBatch {
		e.Count = int32(s.index%3) + 1
		e.Data = batch(s.t, int(e.Count), int64(1000+s.index), fmt.Sprint("entry ", s.index))
		s.next += int64(e.Count)
	} else {
		e.Data = bytes.Repeat([]byte{byte(s.index)}, int(s.index%5)*7)
	}
	keep := e
	keep.Data = bytes.Clone(e.Data)
	if kind == KindBatch {
		record.SetPlace(keep.Data, keep.BaseOffset, int32(keep.Term))
	}
	s.made = append(s.made, keep)
	return e
}

// step returns the entries of the next append.
func (s *script) step(i int) []Entry {
	switch i % 6 {
	case 0:
		s.term++
		return []Entry{s.entry(kindNoop)}
	case 1:
		return []Entry{s.entry(KindBatch), s.entry(KindBatch)}
	case 2:
		return []Entry{s.entry(KindBatch), s.entry(KindConfig), s.entry(KindBatch)}
	case 3:
		return []Entry{s.entry(KindBatch)}
	case 4:
		return []Entry{s.entry(kindNoop), s.entry(KindBatch), s.entry(KindBatch), s.entry(kindNoop)}
	default:
		return []Entry{s.entry(KindBatch), s.entry(KindBatch), s.entry(KindBatch)}
	}
}

// checkLog verifies that the log holds exactly the entries want, by index and
// by offset.
func checkLog(t testing.TB, l *Log, want []Entry) {
	t.Helper()
	b := l.Bounds()
	wantLast, wantNext := b.Anchor.Index, b.Anchor.NextOffset
	if len(want) > 0 {
		e := want[len(want)-1]
		wantLast, wantNext = e.Index, e.BaseOffset+int64(e.Count)
	}
	if b.LastIndex != wantLast || b.NextOffset != wantNext {
		t.Fatalf("log ends with entry %d, offset %d; want %d, %d", b.LastIndex, b.NextOffset, wantLast, wantNext)
	}
	for _, w := range want {
		if w.Index <= b.Anchor.Index {
			continue
		}
		got, err := l.Entry(w.Index)
		if err != nil {
			t.Fatalf("entry %d: %v", w.Index, err)
		}
		if got.Index != w.Index || got.Term != w.Term || got.Kind != w.Kind || !bytes.Equal(got.Data, w.Data) ||
			got.BaseOffset != w.BaseOffset || got.Count != w.Count {
			t.Fatalf("entry %d: got %+v, want %+v", w.Index, got, w)
		}
	}
	var all []byte
	for _, w := range want {
		if w.Kind == KindBatch && w.BaseOffset >= b.Anchor.NextOffset {
			all = append(all, w.Data...)
		}
	}
	if got := readAllOffsets(t, l, max(b.LogStart, b.Anchor.NextOffset), wantNext); b.LogStart <= b.Anchor.NextOffset && !bytes.Equal(got, all) {
		t.Fatalf("reading by offset gives %d bytes, want %d", len(got), len(all))
	}
}

func readAllOffsets(t testing.TB, l *Log, from, limit int64) []byte {
	t.Helper()
	var all []byte
	for from < limit {
		b, err := l.Read(from, 200, limit)
		if err != nil || len(b) == 0 {
			t.Fatalf("read at %d of %d: %d bytes, %v", from, limit, len(b), err)
		}
		all = append(all, b...)
		for len(b) > 0 {
			h, rest, err := record.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			from, b = h.NextOffset(), rest
		}
	}
	return all
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// verifyLog checks the files of a log that is at rest.
func verifyLog(t testing.TB, l *Log) {
	t.Helper()
	b := l.Bounds()
	r, err := Verify(l.cfg.FS, l.cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Entries != int(b.LastIndex-b.Anchor.Index) || r.Next != b.NextOffset {
		t.Fatalf("verify finds %+v, the log is %+v", r, b)
	}
}
