package seglog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-analytics/weir/internal/finding"
	"github.com/weir-analytics/weir/internal/vfs"
)

// inspect lists the damage that is found in a log, and notes if asked to.
func inspect(t testing.TB, fsys vfs.FS, notes bool) (found []string, r Report) {
	t.Helper()
	r, err := Inspect(fsys, "p", Inspection{Found: func(f finding.Finding) {
		if notes || !f.Note {
			found = append(found, f.String())
		}
	}})
	must(t, err)
	return found, r
}

// A log with sealed segments, a log start that has moved, and one that was not closed.
func sampleLog(t *testing.T, clean bool) *vfs.Mem {
	mem := vfs.NewMem()
	l := openLog(t, mem, 500)
	s := newScript(t)
	for i := range 14 {
		must(t, l.Append(s.step(i)))
	}
	l.SetLogStart(8)
	_, err := l.Retire(s.index, nil)
	must(t, err)
	if clean {
		must(t, l.Close())
	}
	return mem.Crash(killed)
}

func lastSegment(names []string) (stem string) {
	for _, name := range names {
		if base, ok := parseSegmentName(name); ok {
			stem = segmentName(base)
		}
	}
	return stem
}

// Every flipped bit of a sealed segment is found, in the file and near the byte
// where it is.
func TestInspectFindsEveryFlippedBit(t *testing.T) {
	mem := sampleLog(t, true)
	if found, r := inspect(t, mem, false); len(found) > 0 || r.Segments < 3 {
		t.Fatalf("a whole log: %q, %+v", found, r)
	}
	names, err := mem.List("p")
	must(t, err)
	last := lastSegment(names)
	for _, name := range names {
		if name == metaName || strings.HasSuffix(name, extTime) {
			continue // has a twin; is left out when it does not fit
		}
		size := 0
		mem.Corrupt("p/"+name, func(b []byte) []byte { size = len(b); return b })
		for bit := 0; bit < size*8; bit += 7 {
			disk := mem.Crash(killed)
			disk.Corrupt("p/"+name, func(b []byte) []byte { b[bit/8] ^= 1 << (bit % 8); return b })
			atEnd := name == last+extRix && bit/8 >= size-rixTrailerSize // without its trailer it is a segment that was not closed
			if found, _ := inspect(t, disk, atEnd); len(found) == 0 || !strings.Contains(found[0], name[:20]) {
				t.Fatalf("%s, bit %d of byte %d: found %q", name, bit%8, bit/8, found)
			}
		}
	}
}

// Damage in two places of two segments is told in two lines, each with its place.
func TestInspectGoesOnBehindDamage(t *testing.T) {
	mem := sampleLog(t, true)
	names, err := mem.List("p")
	must(t, err)
	var logs []string
	for _, name := range names {
		if strings.HasSuffix(name, extLog) {
			logs = append(logs, name)
		}
	}
	want := []string{}
	for _, name := range logs[:2] {
		size := 0
		mem.Corrupt("p/"+name, func(b []byte) []byte { size = len(b); b[len(b)-1] ^= 1; return b })
		if size > 0 {
			want = append(want, "p/"+name)
		}
	}
	found, _ := inspect(t, mem, false)
	if len(found) != len(want) {
		t.Fatalf("found %q, want one line for each of %q", found, want)
	}
	for i, line := range found {
		if !strings.Contains(line, want[i]) || !strings.Contains(line, "at byte") || !strings.Contains(line, "backup") {
			t.Errorf("got %q, want a place in %s and advice", line, want[i])
		}
	}
}

// What an unclean stop leaves is no damage, at whatever byte of the newest
// write the files end.
func TestInspectTakesAnUnfinishedWriteForWhatItIs(t *testing.T) {
	mem := sampleLog(t, false)
	names, err := mem.List("p")
	must(t, err)
	last := lastSegment(names)
	for _, c := range []struct {
		ext  string
		lost int
	}{{extRix, slotSize}, {extRix, 2 * slotSize}} {
		for cut := 0; cut <= c.lost; cut++ {
			disk := mem.Crash(killed)
			disk.Corrupt("p/"+last+c.ext, func(b []byte) []byte { return b[:len(b)-cut] })
			if found, _ := inspect(t, disk, false); len(found) > 0 {
				t.Fatalf("%s shorter by %d bytes: %q", c.ext, cut, found)
			}
		}
	}
}

// The index by time is compared with the batches, not only with itself.
func TestInspectComparesTheTimeIndex(t *testing.T) {
	mem := vfs.NewMem()
	l := openLog(t, mem, 0)
	for i := range 8 {
		must(t, l.Append([]Entry{{Index: uint64(i + 1), Term: 1, Kind: KindBatch, Data: batch(t, 1, int64(1000+i), strings.Repeat(fmt.Sprint(i), timeIndexBytes))}}))
	}
	must(t, l.Close())
	mem.Corrupt("p/"+segmentName(0)+extTime, func(b []byte) []byte {
		if len(b) < 3*timeEntrySize {
			t.Fatalf("an index of %d bytes", len(b))
		}
		b[timeEntrySize+7]-- // still grows, and is too early
		return b
	})
	if found, _ := inspect(t, mem, false); len(found) != 1 || !strings.Contains(found[0], extTime) || !strings.Contains(found[0], "delete this file") {
		t.Errorf("found %q", found)
	}
}
