package replica

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/vfs"
)

func TestARetryGetsTheOriginalOffset(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	r := n.open(n.config(0))
	var base []int64
	for i := range 8 {
		base = append(base, put(t, r, from(t, 9, 0, int32(i*2), 2)).BaseOffset)
	}
	check := func(r *Replica) {
		t.Helper()
		for i := 3; i < 8; i++ { // five deep
			if got := put(t, r, from(t, 9, 0, int32(i*2), 2)); !got.Duplicate || got.BaseOffset != base[i] {
				t.Errorf("batch %d: got %+v, want offset %d again", i, got, base[i])
			}
		}
		for _, b := range [][]byte{from(t, 9, 0, 4, 2), from(t, 9, 0, 18, 2), from(t, 9, 0, 14, 1), from(t, 9, 0, 15, 2)} {
			if _, err := r.Append(context.Background(), b).Result(); !errors.Is(err, ErrOutOfOrderSequence) {
				t.Errorf("got %v", err)
			}
		}
		if r.HighWatermark() != 16 {
			t.Errorf("high watermark %d, want 16", r.HighWatermark())
		}
	}
	check(r)
	must(t, r.Close())
	r = n.open(n.config(0)) // from a checkpoint
	check(r)
	m := newNode(t, n.fsys.(*vfs.Mem).Crash(nil), "d") // from the log
	check(m.open(m.config(0)))
}

func TestRetriesOfWhatIsUnderWayAreAnsweredWithIt(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	r := n.open(n.config(0))
	var firsts, retries []*Pending
	for i := range 5 {
		firsts = append(firsts, r.Append(context.Background(), from(t, 9, 0, int32(i), 1)))
	}
	for i := range 5 {
		retries = append(retries, r.Append(context.Background(), from(t, 9, 0, int32(i), 1)))
	}
	for i := range 5 {
		a, err := firsts[i].Result()
		must(t, err)
		b, err := retries[i].Result()
		must(t, err)
		if a.BaseOffset != int64(i) || b.BaseOffset != a.BaseOffset || a.Duplicate || !b.Duplicate {
			t.Errorf("batch %d: got %+v and %+v", i, a, b)
		}
	}
	if got := len(values(t, r)); got != 5 {
		t.Errorf("%d records, want 5", got)
	}
}

func TestANewEpochFencesTheOld(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	r := n.open(n.config(0))
	put(t, r, from(t, 9, 1, 100, 1)) // unknown producer: any sequence
	put(t, r, from(t, 9, 1, 101, 1))
	if _, err := r.Append(context.Background(), from(t, 9, 2, 102, 1)).Result(); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("an epoch begins with sequence 0: got %v", err)
	}
	put(t, r, from(t, 9, 2, 0, 1))
	if _, err := r.Append(context.Background(), from(t, 9, 1, 102, 1)).Result(); !errors.Is(err, ErrInvalidProducerEpoch) {
		t.Errorf("the old producer: got %v", err)
	}
	put(t, r, from(t, 9, 2, 1, 1))
	put(t, r, from(t, 10, 0, 0, 1)) // another producer is not concerned
}

func TestSequencesWrap(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	r := n.open(n.config(0))
	put(t, r, from(t, 9, 0, math.MaxInt32-1, 2)) // MaxInt32-1, MaxInt32
	put(t, r, from(t, 9, 0, 0, 3))
	if got := put(t, r, from(t, 9, 0, math.MaxInt32-1, 2)); !got.Duplicate || got.BaseOffset != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestSilentProducersAreForgottenByCommand(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	c := newClock(1_700_000_000_000)
	cfg := n.config(0)
	cfg.Now = c.now
	r := n.open(cfg)
	put(t, r, from(t, 1, 0, 0, 1))
	c.add(20 * time.Hour)
	put(t, r, from(t, 2, 0, 0, 1))
	c.add(10 * time.Hour)
	must(t, r.proposeRetention(c.now()))
	put(t, r, from(t, 1, 0, 77, 1)) // forgotten: begins anew
	if _, err := r.Append(context.Background(), from(t, 2, 0, 77, 1)).Result(); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("still known: got %v", err)
	}
	m := newNode(t, n.fsys.(*vfs.Mem).Crash(nil), "d")
	r2 := m.open(m.config(0))
	r.mu.Lock()
	defer r.mu.Unlock()
	r2.mu.Lock()
	defer r2.mu.Unlock()
	for id, p := range r.st.producers {
		q := r2.st.producers[id]
		if q == nil || q.epoch != p.epoch || !reflect.DeepEqual(q.recent, p.recent) {
			t.Errorf("producer %d: got %+v, want %+v", id, q, p)
		}
	}
	if len(r2.st.producers) != len(r.st.producers) {
		t.Errorf("%d producers, want %d", len(r2.st.producers), len(r.st.producers))
	}
}

func TestForgettingSparesWhoHasSentSince(t *testing.T) {
	p := producers{}
	h := record.Batch{ProducerID: 5, BaseSequence: 0, BaseOffset: 10}
	p.apply(h, 1)
	list := p.silent(2, 10)
	h.BaseSequence, h.BaseOffset = 1, 20
	p.apply(h, 3)
	p.forget(list)
	if p[5] == nil {
		t.Error("forgotten although it sent a batch in between")
	}
}

// Property: any bytes are parsed without a panic, and what is accepted is
// encoded as something that means the same.
func FuzzSaved(f *testing.F) {
	s := &saved{index: 5, term: 2, next: 9, logStart: 3, config: []byte("c"), configIndex: 1, lastStampMs: 4, producers: producers{}}
	s.producers.apply(record.Batch{ProducerID: 5, ProducerEpoch: 2, BaseSequence: 7, LastOffsetDelta: 1, BaseOffset: 10}, 0)
	f.Add(s.encode())
	s.producers[5].txnStart, s.aborted = 10, []seglog.AbortedSum{{Base: 3, Count: 2, CRC: 1}}
	f.Add(s.encode())
	if v1, err := hex.DecodeString(savedV1); err == nil {
		f.Add(v1)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= 4 { // past the checksum, which no mutation keeps
			b = append([]byte(nil), b...)
			binary.BigEndian.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], castagnoli))
		}
		s, err := parseSaved(b, 0)
		if err != nil {
			return
		}
		again, err := parseSaved(s.encode(), 0)
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("%v: %+v, %+v", err, again, s)
		}
	})
}

// Property: any bytes are parsed without a panic and with bounded memory.
func FuzzCommand(f *testing.F) {
	f.Add(encodeSetLogStart(7))
	f.Add(encodeForget([]expired{{1, 2, 3}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCommand(b)
		if err == nil && len(c.forget)*expiredSize > len(b) {
			t.Fatalf("%d producers out of %d bytes", len(c.forget), len(b))
		}
	})
}
