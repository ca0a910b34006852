package replica

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/vfs"
	"github.com/weir-analytics/weir/raftfsm/hardstate"
)

// damageStep is how many bits lie between two that are flipped: WEIR_DAMAGE_STEP, or one that takes seconds.
func damageStep(t *testing.T) int {
	if step, err := strconv.Atoi(os.Getenv("WEIR_DAMAGE_STEP")); err == nil && step > 0 {
		return step
	}
	return 211
}

// storedPartition is a disk with a partition of several segments whose log start
// has moved, with transactions that were committed, aborted and left open. It
// was closed, or the process was killed.
func storedPartition(t *testing.T, clean bool) (mem *vfs.Mem, committed []string) {
	mem = vfs.NewMem()
	n := newNode(t, mem, "d")
	cfg := n.config(0)
	cfg.SegmentBytes = 600
	r := n.open(cfg)
	seq := map[int64]int32{}
	for i := range 12 {
		put(t, r, batchOf(t, fmt.Sprint("plain ", i)))
		id := int64(i%2 + 1)
		put(t, r, inTxn(t, id, 0, seq[id], 1))
		seq[id]++
		endTxn(t, r, mark(id, 0, i%3 > 0, 1))
	}
	_, err := r.SetLogStart(t.Context(), 8)
	must(t, err)
	must(t, r.checkpoint())
	must(t, r.retire())
	put(t, r, batchOf(t, "after the checkpoint"))
	put(t, r, inTxn(t, 9, 0, 0, 1))
	committed, err = allCommitted(r)
	must(t, err)
	if clean {
		must(t, r.Close())
		return mem.Crash(nil), committed
	}
	return mem.Crash(func() bool { return true }), committed
}

// allCommitted reads up to the last stable offset, or to the first error.
func allCommitted(r *Replica) (all []string, err error) {
	for at := r.LogStart(); at < r.LastStableOffset(); {
		values, next, err := committedFrom(r, at)
		if err != nil {
			return all, err
		}
		all, at = append(all, values...), next
	}
	return all, nil
}

// checkDamage opens a damaged partition: it refuses with words, or stops, or has
// every committed record and shows none that was aborted, or answers an error in
// the place of those that are damaged. It deletes no file that holds records.
func checkDamage(t *testing.T, disk *vfs.Mem, committed []string, what string) {
	t.Helper()
	before, err := disk.List("d/0")
	must(t, err)
	defer func() {
		after, err := disk.List("d/0")
		must(t, err)
		for _, name := range before {
			if (strings.HasSuffix(name, ".log") || strings.HasSuffix(name, ".rix") || strings.HasSuffix(name, ".data")) && !slices.Contains(after, name) {
				t.Fatalf("%s: %s is gone", what, name)
			}
		}
	}()
	loud := func(err error) bool {
		return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrLostData) || errors.Is(err, hardstate.ErrCorrupt) || errors.Is(err, ErrStopped)
	}
	var refused error
	n := newNodeWith(t, disk, "d", func(err error) { refused = err })
	if refused != nil {
		if !loud(refused) {
			t.Fatalf("%s: %v", what, refused)
		}
		return
	}
	cfg := n.config(0)
	cfg.SegmentBytes = 600
	r, err := Open(cfg)
	if err != nil {
		if !loud(err) {
			t.Fatalf("%s: %v", what, err)
		}
		return
	}
	defer r.Close()
	end := time.After(30 * time.Second)
	for {
		changed := r.Changed()
		if _, _, serving := r.Leader(); serving || r.Err() != nil {
			break
		}
		select {
		case <-changed:
		case <-end:
			t.Fatalf("%s: it neither serves nor stops", what)
		}
	}
	if err := r.Err(); err != nil {
		if !loud(err) {
			t.Fatalf("%s: stopped with %v", what, err)
		}
		return
	}
	got, err := allCommitted(r)
	if err != nil {
		if !loud(err) {
			t.Fatalf("%s: reading: %v", what, err)
		}
		return
	}
	if !slices.Equal(got, committed) {
		t.Fatalf("%s: got %q, want %q", what, got, committed)
	}
}

func partitionFiles(t *testing.T, mem *vfs.Mem) (files []string) {
	names, err := mem.List("d/0")
	must(t, err)
	for _, name := range names {
		files = append(files, "d/0/"+name)
	}
	return append(files, "d/hardstate.wal")
}

func TestDamageByFlippedBitsIsHarmlessOrLoud(t *testing.T) {
	for _, clean := range []bool{true, false} {
		mem, committed := storedPartition(t, clean)
		checkDamage(t, mem.Crash(nil), committed, fmt.Sprint("whole, closed: ", clean))
		step := damageStep(t)
		for i, file := range partitionFiles(t, mem) {
			size := 0
			mem.Corrupt(file, func(b []byte) []byte { size = len(strings.TrimRight(string(b), "\x00")); return b })
			for bit := i % step; bit < size*8; bit += step {
				disk := mem.Crash(nil)
				disk.Corrupt(file, func(b []byte) []byte { b[bit/8] ^= 1 << (bit % 8); return b })
				checkDamage(t, disk, committed, fmt.Sprintf("%s byte %d bit %d, closed: %v", file, bit/8, bit%8, clean))
			}
		}
	}
}

// Any file that ends early. What a killed process has written is acknowledged
// with its slot, so that a shorter file is never taken for a whole one.
func TestDamageByTruncationAtEveryByteIsHarmlessOrLoud(t *testing.T) {
	for _, clean := range []bool{true, false} {
		mem, committed := storedPartition(t, clean)
		step := max(1, damageStep(t)/16)
		for i, file := range partitionFiles(t, mem) {
			size := 0
			mem.Corrupt(file, func(b []byte) []byte { size = len(b); return b })
			for at := size - 1 - i%step; at >= max(0, size-2000); at -= step {
				disk := mem.Crash(nil)
				disk.Corrupt(file, func(b []byte) []byte { return b[:at] })
				checkDamage(t, disk, committed, fmt.Sprintf("%s cut at byte %d of %d, closed: %v", file, at, size, clean))
			}
		}
	}
}
