package seglog

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weir-analytics/weir/internal/vfs"
)

// Property: any bytes are read without a panic, and what is accepted is encoded
// as the same bytes again.
func FuzzDecoders(f *testing.F) {
	f.Add(appendSlot(nil, slot{term: 1, kind: KindBatch, pos: 2, size: 3, rel: 4, count: 5}, 0))
	f.Add(rixHead{base: 7, firstIndex: 8, prevTerm: 9}.encode())
	f.Add(summary{slots: 1, logSize: 2, next: 3, minTimeMs: 4, maxTimeMs: 5}.encode())
	f.Add(appendInternal(nil, internalRecord{index: 1, term: 2, kind: kindNoop, next: 3, data: []byte("x")}))
	m, err := meta{seq: 3, anchor: Anchor{Index: 4, Term: 5, NextOffset: 6, Config: []byte("c"), ConfigIndex: 2}, logStart: 7}.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(m)
	f.Add(encodeTimeIndex([]timeEntry{{1, 2}, {3, 4}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := parseSlot(b, 0); ok && !bytes.Equal(appendSlot(nil, s, 0), b[:slotSize]) {
			t.Errorf("slot %+v", s)
		}
		if r, n, ok := parseInternal(b); ok {
			again, _, ok := parseInternal(appendInternal(nil, r))
			if !ok || n != recordHeader+len(r.data) || again.index != r.index || !bytes.Equal(again.data, r.data) {
				t.Errorf("internal entry %+v", r)
			}
		}
		if h, err := parseRixHead(b); err == nil {
			if again, err := parseRixHead(h.encode()); err != nil || again != h {
				t.Errorf("head %+v", h)
			}
		}
		if s, ok := parseSummary(b); ok {
			if again, ok := parseSummary(s.encode()); !ok || again != s {
				t.Errorf("summary %+v", s)
			}
		}
		if m, ok := parseMeta(b); ok {
			enc, err := m.encode()
			if again, ok := parseMeta(enc); err == nil && (!ok || again.anchor.Index != m.anchor.Index || again.logStart != m.logStart) {
				t.Errorf("meta %+v", m)
			}
		}
		if e, ok := parseTimeIndex(b); ok && !bytes.Equal(encodeTimeIndex(e), b) {
			t.Errorf("time index %v", e)
		}
	})
}

// Property: whatever the bytes of the files, Open neither panics nor makes
// entries up: what it has is a prefix of what was written, or it refuses.
func FuzzRecover(f *testing.F) {
	mem := vfs.NewMem()
	l, err := Open(config(mem, 0))
	if err != nil {
		f.Fatal(err)
	}
	s := newScript(f)
	for i := range 5 {
		if err := l.Append(s.step(i)); err != nil {
			f.Fatal(err)
		}
	}
	base := "p/" + segmentName(0)
	files := []string{base + extLog, base + extRix, base + extData, "p/" + metaName}
	f.Add(byte(0), uint16(100), []byte{1, 2, 3})
	f.Add(byte(1), uint16(64), []byte{0, 0, 0, 0, 0})
	f.Add(byte(2), uint16(0), []byte{0xff})
	f.Add(byte(3), uint16(8192), []byte("WMET"))
	f.Fuzz(func(t *testing.T, which byte, at uint16, patch []byte) {
		disk := mem.Crash(killed)
		disk.Corrupt(files[which%4], func(b []byte) []byte {
			if which >= 128 { // cut instead
				return b[:min(int(at), len(b))]
			}
			if int(at) < len(b) {
				copy(b[at:], patch)
			}
			return b
		})
		l, err := Open(config(disk, 0))
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		last := l.Bounds().LastIndex
		if last > s.index {
			t.Fatalf("%d entries of %d", last, s.index)
		}
		for _, w := range s.made[:last] {
			if got, err := l.Entry(w.Index); err == nil && !bytes.Equal(got.Data, w.Data) {
				t.Fatalf("entry %d: other bytes than were written", w.Index)
			} else if err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
		}
	})
}

func FuzzCompactedSlot(f *testing.F) {
	f.Add(appendCompactedSlot(nil, slot{term: 3, kind: KindHole, rel: 7, count: 90, index: 4, entries: 30}, 2), 2)
	f.Add(appendCompactedSlot(nil, slot{term: 3, kind: KindBatch, pos: 9, size: 61, rel: 7, count: 1, index: 4, entries: 1}, 0), 0)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if s, ok := parseCompactedSlot(b, n); ok {
			if again := appendCompactedSlot(nil, s, n); string(again) != string(b[:compactedSlot]) {
				t.Errorf("slot %+v is written as %x, was %x", s, again, b[:compactedSlot])
			}
		}
		if end, ok := HoleEnd(b); ok && string(holeData(end)) != string(b) {
			t.Errorf("hole up to %d is written as %x, was %x", end, holeData(end), b)
		}
	})
}
