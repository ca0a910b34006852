package compact

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/vfs"
)

var errCut = errors.New("power cut")

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func logConfig(fsys vfs.FS) seglog.Config {
	return seglog.Config{FS: fsys, Dir: "p", SegmentBytes: 900, Shared: seglog.NewShared(seglog.Limits{OpenSegments: 2})}
}

// kept is a record as it was written.
type kept struct {
	offset int64
	key    string
	value  []byte // nil: a tombstone
	timeMs int64
}

// world is a log and what it must say.
type world struct {
	t       testing.TB
	rng     *rand.Rand
	log     *seglog.Log
	index   uint64
	term    uint32
	terms   map[uint64]uint32
	next    int64
	all     map[int64]kept   // committed records by offset
	newest  map[string]kept  // of each key
	seq     map[int64]int32  // of producers
	last    map[int64]int64  // offset of the last batch of producers
	open    map[int64]int64  // first offset of transactions that go on
	pending map[int64][]kept // records of those
	aborted []seglog.Aborted
}

func newWorld(t testing.TB, fsys vfs.FS, seed uint64) *world {
	t.Helper()
	l, err := seglog.Open(logConfig(fsys))
	must(t, err)
	return &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)), log: l, term: 1, terms: map[uint64]uint32{}, all: map[int64]kept{}, newest: map[string]kept{},
		seq: map[int64]int32{}, last: map[int64]int64{}, open: map[int64]int64{}, pending: map[int64][]kept{},
	}
}

func (w *world) append(kind seglog.Kind, data []byte) error {
	w.index++
	w.terms[w.index] = w.term
	return w.log.Append([]seglog.Entry{{Index: w.index, Term: w.term, Kind: kind, Data: data}})
}

var codecs = []record.Codec{record.None, record.None, record.Gzip, record.Zstd}

// step appends something.
func (w *world) step(keys int) error {
	switch n := w.rng.IntN(20); {
	case n == 0:
		w.term++
		return w.append(seglog.KindConfig+1, nil)
	case n == 1:
		return w.append(seglog.KindConfig, []byte("members"))
	case n < 5 && len(w.open) > 0:
		for id := range w.open {
			return w.end(id, w.rng.IntN(2) == 0)
		}
	}
	id := int64(w.rng.IntN(6)) - 3 // half of the batches have no producer
	b := record.NewBuilder(codecs[w.rng.IntN(len(codecs))])
	inTxn := id >= 1
	if id >= 0 {
		b.SetProducer(id, 0, w.seq[id])
	} else {
		id = record.NoProducer
	}
	if inTxn {
		b.SetTransactional()
	}
	count := 1 + w.rng.IntN(4)
	var recs []kept
	for i := range count {
		k := kept{offset: w.next + int64(i), key: fmt.Sprint("key-", w.rng.IntN(keys)), timeMs: 1_000_000 + int64(w.rng.IntN(500))}
		if w.rng.IntN(5) > 0 {
			k.value = fmt.Appendf(nil, "value at %d %s", k.offset, bytes.Repeat([]byte("x"), w.rng.IntN(40)))
		}
		b.Append(record.Record{Key: []byte(k.key), Value: k.value, TimestampMs: k.timeMs})
		recs = append(recs, k)
	}
	data, err := b.Build()
	must(w.t, err)
	if err := w.append(seglog.KindBatch, data); err != nil {
		return err
	}
	if id >= 0 {
		w.seq[id] += int32(count)
		w.last[id] = w.next
	}
	if inTxn {
		if _, on := w.open[id]; !on {
			w.open[id] = w.next
		}
		w.pending[id] = append(w.pending[id], recs...)
	} else {
		w.commit(recs)
	}
	w.next += int64(count)
	return nil
}

func (w *world) commit(recs []kept) {
	for _, k := range recs {
		w.all[k.offset] = k
		if k.offset >= w.newest[k.key].offset {
			w.newest[k.key] = k
		}
	}
}

// end writes the marker of a transaction.
func (w *world) end(id int64, commit bool) error {
	m := record.Marker{ProducerID: id, Commit: commit, CoordinatorEpoch: 1}
	if err := w.append(seglog.KindBatch, m.Build(1_000_000)); err != nil {
		return err
	}
	if commit {
		w.commit(w.pending[id])
	} else {
		a := seglog.Aborted{ProducerID: id, FirstOffset: w.open[id], LastOffset: w.next}
		w.aborted = append(w.aborted, a)
		w.log.AddAborted([]seglog.Aborted{a})
	}
	w.last[id] = w.next
	delete(w.open, id)
	delete(w.pending, id)
	w.next++
	return nil
}

// fill appends so many steps and ends all transactions.
func (w *world) fill(steps, keys int) error {
	for range steps {
		if err := w.step(keys); err != nil {
			return err
		}
	}
	for _, id := range []int64{1, 2} {
		if _, on := w.open[id]; on {
			if err := w.end(id, w.rng.IntN(2) == 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) clean(now time.Time, mapBytes int64) (Result, error) {
	aborted, err := w.log.AbortedIn(w.log.Bounds().LogStart, w.next)
	if err != nil {
		return Result{}, err
	}
	return Clean(w.log, Look(w.log.Segments(), w.next, 0, now), Config{
		DeleteRetention: time.Hour, SegmentBytes: 900, MapBytes: mapBytes, Now: now, Aborted: aborted,
		Retain: func(h record.Batch) bool { return w.last[h.ProducerID] == h.BaseOffset },
		Pace:   func(int) error { return nil },
	})
}

// readLog reads the committed records as a client does, by offset.
func readLog(t testing.TB, l *seglog.Log, limit int64) (recs []kept, batches []record.Batch) {
	t.Helper()
	aborted, err := l.AbortedIn(l.Bounds().LogStart, limit)
	must(t, err)
	for at := l.Bounds().LogStart; at < limit; {
		b, err := l.Read(at, 300, limit)
		must(t, err)
		if len(b) == 0 {
			t.Fatalf("nothing at offset %d of %d: a reader would wait for ever", at, limit)
		}
		for len(b) > 0 {
			h, rest, err := record.Parse(b)
			must(t, err)
			if h.NextOffset() <= at {
				t.Fatalf("read at %d returned a batch that ends at %d", at, h.NextOffset())
			}
			at, b = h.NextOffset(), rest
			batches = append(batches, h)
			gone := slices.ContainsFunc(aborted, func(a seglog.Aborted) bool {
				return a.ProducerID == h.ProducerID && h.BaseOffset >= a.FirstOffset && h.BaseOffset < a.LastOffset
			})
			if h.Control() || h.Transactional() && gone {
				continue
			}
			must(t, record.ForEach(h.Raw, func(r record.Record) error {
				recs = append(recs, kept{h.BaseOffset + int64(r.OffsetDelta), string(r.Key), bytes.Clone(r.Value), r.TimestampMs})
				return nil
			}))
		}
	}
	return recs, batches
}

// check compares a log with what it must say: every record that is left is as
// it was written, and the newest of each key is there. Below cleanTo there is
// only one of each key; without tombstones those are gone.
func (w *world) check(l *seglog.Log, cleanTo int64, tombstones bool) (batches []record.Batch) {
	w.t.Helper()
	recs, batches := readLog(w.t, l, w.next)
	found := map[string]int{}
	newest := map[string]kept{}
	prev := int64(-1)
	for _, k := range recs {
		was, ok := w.all[k.offset]
		if !ok || was.key != k.key || !bytes.Equal(was.value, k.value) || (was.value == nil) != (k.value == nil) || was.timeMs != k.timeMs {
			w.t.Fatalf("offset %d: got %+v, want %+v (%v)", k.offset, k, was, ok)
		}
		if k.offset <= prev {
			w.t.Fatalf("offset %d after %d", k.offset, prev)
		}
		prev = k.offset
		newest[k.key] = k
		if k.offset < cleanTo {
			found[k.key]++
		}
	}
	for key, n := range found {
		if n > 1 {
			w.t.Errorf("%d records of %s below %d", n, key, cleanTo)
		}
	}
	for key, want := range w.newest {
		got, ok := newest[key]
		if want.value == nil && !ok && !tombstones {
			continue
		}
		if got.offset != want.offset || !ok {
			w.t.Errorf("newest of %s: got %+v, want %+v", key, got, want)
		}
	}
	return batches
}

// checkEntries finds every raft entry with its term, in order of offsets.
func (w *world) checkEntries(l *seglog.Log) {
	w.t.Helper()
	next := l.Bounds().Anchor.NextOffset
	for index := l.Bounds().Anchor.Index + 1; index <= w.index; index++ {
		e, err := l.Entry(index)
		must(w.t, err)
		if e.Index != index || e.Term != w.terms[index] || e.BaseOffset != next {
			w.t.Fatalf("entry %d: got %+v, want term %d at offset %d", index, e, w.terms[index], next)
		}
		next += int64(e.Count)
		if e.Kind == seglog.KindHole {
			if end, ok := seglog.HoleEnd(e.Data); !ok || end != next {
				w.t.Fatalf("entry %d: hole up to %d, next is %d", index, end, next)
			}
		}
	}
	if next != w.next {
		w.t.Fatalf("entries end at offset %d, want %d", next, w.next)
	}
	told := l.Bounds().Anchor.NextOffset
	must(w.t, l.ForEachHead(l.Bounds().Anchor.Index, w.index, func(e seglog.Entry) error {
		if e.BaseOffset != told {
			return fmt.Errorf("entry %d at offset %d, want %d", e.Index, e.BaseOffset, told)
		}
		told += int64(e.Count)
		return nil
	}))
}

var start = time.UnixMilli(2_000_000)

func TestCleanedLogsSayTheSame(t *testing.T) {
	for seed := range uint64(12) {
		mem := vfs.NewMem()
		w := newWorld(t, mem, seed)
		must(t, w.fill(150, 12))
		for round := range 3 {
			now := start.Add(time.Duration(round) * 10 * time.Minute)
			must(t, w.log.Roll())
			before := w.log.SizeBytes()
			res, err := w.clean(now, 0)
			must(t, err)
			if res.End != w.next || w.log.SizeBytes() >= before || res.Removed == 0 {
				t.Fatalf("seed %d: %d bytes of %d are left, %+v", seed, w.log.SizeBytes(), before, res)
			}
			w.check(w.log, w.next, true)
			w.checkEntries(w.log)
			must(t, w.fill(60, 12))
			w.check(w.log, res.End, true)
		}
		must(t, w.log.Roll())
		// Tombstones and markers are marked by now and go after an hour.
		for _, now := range []time.Time{start.Add(30 * time.Minute), start.Add(91 * time.Minute), start.Add(3 * time.Hour)} {
			_, err := w.clean(now, 0)
			must(t, err)
		}
		for _, h := range w.check(w.log, w.next, false) {
			must(t, record.ForEach(h.Raw, func(r record.Record) error {
				if r.Value == nil && h.LastOffset() != w.next-1 {
					t.Errorf("seed %d: the tombstone at %d is still there", seed, h.BaseOffset)
				}
				return nil
			}))
			if h.Control() && w.last[h.ProducerID] != h.BaseOffset && !slices.ContainsFunc(batchesOf(t, w.log, w.next), func(d record.Batch) bool {
				return d.ProducerID == h.ProducerID && d.Transactional() && !d.Control() && d.BaseOffset < h.BaseOffset
			}) {
				t.Errorf("seed %d: the marker at %d is still there", seed, h.BaseOffset)
			}
		}
		for id, last := range w.last {
			if !slices.ContainsFunc(batchesOf(t, w.log, w.next), func(h record.Batch) bool { return h.ProducerID == id && h.BaseOffset == last }) {
				t.Errorf("seed %d: the last batch of producer %d, at %d, is gone", seed, id, last)
			}
		}
		w.checkEntries(w.log)
		_, err := seglog.Verify(mem, "p")
		must(t, err)
		must(t, w.log.Close())
		l, err := seglog.Open(logConfig(mem))
		must(t, err)
		w.log = l
		w.check(l, w.next, false)
		w.checkEntries(l)
		must(t, w.fill(20, 12))
		w.check(l, 0, false)
		must(t, l.Close())
	}
}

func batchesOf(t testing.TB, l *seglog.Log, limit int64) []record.Batch {
	_, b := readLog(t, l, limit)
	return b
}

// With a map that holds few keys a round does what it can, and rounds come to
// the end.
func TestKeysThatDoNotFitAreLeftForTheNextRound(t *testing.T) {
	w := newWorld(t, vfs.NewMem(), 1)
	must(t, w.fill(300, 400))
	must(t, w.log.Roll())
	rounds := 0
	for end := int64(0); end < w.next; rounds++ {
		res, err := w.clean(start, 64*placeBytes)
		must(t, err)
		if res.End <= end {
			t.Fatalf("round %d came to %d after %d", rounds, res.End, end)
		}
		end = res.End
		w.check(w.log, end, true)
	}
	if rounds < 3 {
		t.Errorf("%d rounds: the map was not small", rounds)
	}
}

// Whatever the moment of a power cut in a round, the log says the same, and
// goes on.
func TestPowerCutAtEveryOperation(t *testing.T) {
	for at := 1; ; at++ {
		mem := vfs.NewMem()
		n, armed := 0, false
		w := newWorld(t, vfs.Hooked{FS: mem, Before: func(op vfs.Op, name string) error {
			if armed && op != vfs.OpRead && op != vfs.OpOpen {
				if n++; n >= at {
					return errCut
				}
			}
			return nil
		}}, 3)
		must(t, w.fill(60, 5))
		must(t, w.log.Roll())
		armed = true
		_, err := w.clean(start, 0)
		if err != nil && !errors.Is(err, errCut) {
			t.Fatalf("operation %d: %v", at, err)
		}
		if err != nil && !errors.Is(err, seglog.ErrFailed) { // nothing has happened
			w.check(w.log, 0, true)
		}
		for seed := range uint64(3) {
			rng := rand.New(rand.NewPCG(uint64(at), seed))
			disk := mem.Crash(func() bool { return rng.Uint64N(4) < seed })
			for second := 1; ; second += 19 { // another cut, in the recovery
				m := 0
				l, cutErr := seglog.Open(logConfig(vfs.Hooked{FS: disk, Before: func(op vfs.Op, name string) error {
					if op == vfs.OpRead || op == vfs.OpOpen {
						return nil
					}
					if m++; m >= second {
						return errCut
					}
					return nil
				}}))
				if cutErr == nil {
					must(t, l.Abandon())
					break
				}
				disk = disk.Crash(func() bool { return rng.Uint64N(2) == 0 })
			}
			l, openErr := seglog.Open(logConfig(disk))
			if openErr != nil {
				t.Fatalf("operation %d, seed %d: %v", at, seed, openErr)
			}
			after := *w
			after.log = l
			l.ResetAborted(after.aborted)
			after.check(l, 0, true)
			after.checkEntries(l)
			_, verifyErr := seglog.Verify(disk, "p")
			must(t, verifyErr)
			_, cleanErr := after.clean(start, 0)
			must(t, cleanErr)
			after.check(l, after.next, true)
			must(t, l.Close())
		}
		if err == nil {
			t.Logf("%d operations", at-1)
			return
		}
	}
}

// Readers, a writer and retention go on while rounds are made.
func TestReadersGoOnWhileARoundIsMade(t *testing.T) {
	w := newWorld(t, vfs.NewMem(), 9)
	must(t, w.fill(200, 10))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				limit := w.log.Bounds().NextOffset
				for at := w.log.Bounds().LogStart; at < limit; {
					b, err := w.log.Read(at, 200, limit)
					if errors.Is(err, seglog.ErrOffsetRange) {
						break // deleted meanwhile
					}
					if err != nil {
						t.Errorf("read at %d of %d: %v", at, limit, err)
						return
					}
					if len(b) == 0 {
						break // cleaned meanwhile: what is newer lies beyond the limit
					}
					for len(b) > 0 {
						h, rest, err := record.Parse(b)
						if err != nil {
							t.Error(err)
							return
						}
						at, b = h.NextOffset(), rest
					}
				}
				if _, err := w.log.AbortedIn(w.log.Bounds().LogStart, limit); err != nil && !errors.Is(err, seglog.ErrOffsetRange) {
					t.Error(err)
				}
				if _, _, _, err := w.log.OffsetForTime(1_000_250, limit); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 40 {
		must(t, w.fill(10, 10))
		must(t, w.log.Roll())
		_, err := w.clean(start.Add(time.Duration(i)*20*time.Minute), 0)
		must(t, err)
		if i%10 == 9 {
			w.log.SetLogStart(w.log.Segments()[0].NextOffset)
			_, err := w.log.Retire(w.index, nil)
			must(t, err)
		}
	}
	close(stop)
	wg.Wait()
	must(t, w.log.Close())
}

// A follower that has the first entries as they were, or none, gets the others
// from a log that was cleaned: what it has then says the same, also after a
// stop in the middle of it.
func TestAFollowerIsBroughtUpFromACleanedLog(t *testing.T) {
	for seed := range uint64(8) {
		w := newWorld(t, vfs.NewMem(), seed)
		must(t, w.fill(80, 6))
		var raw []seglog.Entry
		for index := uint64(1); index <= w.index; index++ {
			e, err := w.log.Entry(index)
			must(t, err)
			raw = append(raw, e)
		}
		must(t, w.log.Roll())
		for _, now := range []time.Time{start, start.Add(10 * time.Minute)} {
			_, err := w.clean(now, 0)
			must(t, err)
		}
		must(t, w.fill(5, 6))
		for has := 0; has <= len(raw); has += 7 {
			mem := vfs.NewMem()
			l, err := seglog.Open(logConfig(mem))
			must(t, err)
			must(t, l.Append(raw[:has]))
			for index := uint64(has) + 1; index <= w.index; index++ {
				e, err := w.log.Entry(index)
				must(t, err)
				e.Data = bytes.Clone(e.Data)
				must(t, l.Append([]seglog.Entry{{Index: e.Index, Term: e.Term, Kind: e.Kind, Data: e.Data}}))
				if index%16 == 0 { // killed
					mem = mem.Crash(func() bool { return true })
					l, err = seglog.Open(logConfig(mem))
					must(t, err)
				}
			}
			_, err = seglog.Verify(mem, "p")
			must(t, err)
			follower := *w
			follower.log = l
			l.ResetAborted(w.aborted)
			follower.check(l, 0, true)
			if l.Bounds().LastIndex != w.log.Bounds().LastIndex || l.Bounds().NextOffset != w.next {
				t.Fatalf("seed %d, %d entries of its own: %+v, want %+v", seed, has, l.Bounds(), w.log.Bounds())
			}
			must(t, l.Roll()) // the follower cleans as well
			_, err = follower.clean(start.Add(20*time.Minute), 0)
			must(t, err)
			follower.check(l, w.next, true)
			_, err = seglog.Verify(mem, "p")
			must(t, err)
			must(t, l.Close())
		}
	}
}
