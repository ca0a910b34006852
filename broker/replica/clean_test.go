package replica

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/vfs"
)

// keyed makes a batch of one record; an empty value is a tombstone. With an id
// it is of an idempotent producer.
func keyed(t testing.TB, key, value string, id int64, seq int32) []byte {
	t.Helper()
	b := record.NewBuilder(record.None)
	if id > 0 {
		b.SetProducer(id, 0, seq)
	}
	r := record.Record{Key: []byte(key), TimestampMs: 1_000_000}
	if value != "" {
		r.Value = []byte(value)
	}
	b.Append(r)
	return build(t, b)
}

// newest reads a partition as a client does: the last value of each key, "-" for
// a tombstone, and how many records there are.
func newest(t testing.TB, r *Replica) (map[string]string, int) {
	t.Helper()
	got, n := map[string]string{}, 0
	for at := r.LogStart(); at < r.HighWatermark(); {
		b, err := r.Read(at, 4096)
		if err != nil || len(b) == 0 {
			t.Fatalf("read at %d of %d: %d bytes, %v", at, r.HighWatermark(), len(b), err)
		}
		for len(b) > 0 {
			h, rest, err := record.Parse(b)
			must(t, err)
			at, b = h.NextOffset(), rest
			must(t, record.ForEach(h.Raw, func(rec record.Record) error {
				n++
				got[string(rec.Key)] = string(rec.Value)
				if rec.Value == nil {
					got[string(rec.Key)] = "-"
				}
				return nil
			}))
		}
	}
	return got, n
}

func compacted(cfg Config) Config {
	cfg.SegmentBytes, cfg.Compact, cfg.DirtyRatio, cfg.DeleteRetention = 800, true, 0.5, time.Hour
	cfg.cleanEvery = time.Hour // the tests clean
	return cfg
}

func cleanNow(t testing.TB, r *Replica) {
	t.Helper()
	plan, due := r.cleaningDue(1) // as if a tombstone's time had come
	if !due {
		t.Fatalf("nothing to clean: %+v", plan)
	}
	res, err := r.clean(plan)
	must(t, err)
	if res.End == 0 {
		t.Fatalf("got %+v", res)
	}
}

func TestACleanedPartitionKeepsTheNewestAndItsProducers(t *testing.T) {
	mem := vfs.NewMem()
	n := newNode(t, mem, "d")
	clock := newClock(1_000_000)
	cfg := compacted(n.config(0))
	cfg.Now = clock.now
	r := n.open(cfg)
	want := map[string]string{}
	seq := int32(0)
	for i := range 80 {
		key, value := fmt.Sprint("k", i%7), fmt.Sprint("v", i)
		if i%11 == 3 {
			value = ""
		}
		put(t, r, keyed(t, key, value, 5, seq))
		seq++
		if want[key] = value; value == "" {
			want[key] = "-"
		}
	}
	put(t, r, keyed(t, "once", "v", 6, 0)) // a producer that is silent from here on
	want["once"] = "v"
	for i := range 10 {
		put(t, r, keyed(t, "filler", fmt.Sprint(i), 0, 0))
		want["filler"] = fmt.Sprint(i)
	}
	check := func(what string, most int) {
		t.Helper()
		got, records := newest(t, r)
		if fmt.Sprint(got) != fmt.Sprint(want) || records > most {
			t.Fatalf("%s: %d records, at most %d; got %v, want %v", what, records, most, got, want)
		}
	}
	before := r.SizeBytes()
	cleanNow(t, r)
	check("cleaned", 25)
	if r.SizeBytes() > before/2 {
		t.Errorf("%d bytes of %d are left", r.SizeBytes(), before)
	}
	clock.add(2 * time.Hour)
	cleanNow(t, r)
	for key, value := range want {
		if value == "-" {
			delete(want, key)
		}
	}
	check("tombstones gone", 25)
	must(t, r.Close())

	// Without a checkpoint everything follows from what is left of the log.
	disk := mem.Crash(nil)
	list, err := listSaved(disk, cfg.Dir, ckptPrefix)
	must(t, err)
	for _, index := range list {
		must(t, disk.Remove(cfg.Dir+"/"+savedName(ckptPrefix, index)))
	}
	m := newNode(t, disk, "d")
	cfg = compacted(m.config(0))
	cfg.Now = clock.now
	r = m.open(cfg)
	check("after a start", 25)
	if res, err := r.Append(t.Context(), keyed(t, "k2", "again", 5, seq-1)).Result(); err != nil || !res.Duplicate {
		t.Errorf("a repeat of the last batch: %+v, %v", res, err)
	}
	refusedAs(t, r, keyed(t, "k2", "x", 5, seq+3), ErrOutOfOrderSequence)
	if res, err := r.Append(t.Context(), keyed(t, "once", "again", 6, 0)).Result(); err != nil || !res.Duplicate {
		t.Errorf("a repeat of the silent one: %+v, %v", res, err)
	}
	put(t, r, keyed(t, "k2", "next", 5, seq))
	want["k2"] = "next"
	check("goes on", 26)
}

func TestWhatIsCleanedAndWhen(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	clock := newClock(1_000_000)
	cfg := compacted(n.config(0))
	cfg.Now = clock.now
	r := n.open(cfg)
	fill := func(n int) {
		for i := range n {
			put(t, r, keyed(t, fmt.Sprint("k", i%30), strings.Repeat("x", 20), 0, 0))
		}
	}
	due := func(want bool, what string) {
		t.Helper()
		if plan, got := r.cleaningDue(0); got != want {
			t.Errorf("%s: due %v, want %v: %+v", what, got, want, plan)
		}
	}
	due(false, "empty")
	fill(60)
	due(true, "all dirty")
	set := func(change func(*Settings)) {
		s := *r.settings.Load()
		change(&s)
		must(t, r.SetSettings(s))
	}
	set(func(s *Settings) { s.MinLag = time.Minute })
	due(false, "younger than min.compaction.lag.ms")
	clock.add(2 * time.Minute)
	due(true, "older than min.compaction.lag.ms")
	cleanNow(t, r)
	set(func(s *Settings) { s.MinLag, s.DirtyRatio = 0, 0.9 })
	fill(20)
	due(false, "less dirty than min.cleanable.dirty.ratio")
	set(func(s *Settings) { s.MaxLag = time.Hour })
	due(false, "younger than max.compaction.lag.ms")
	clock.add(2 * time.Hour)
	due(true, "older than max.compaction.lag.ms")
	put(t, r, inTxnKeyed(t))
	stable := r.LastStableOffset()
	fill(40)
	plan, _ := r.cleaningDue(0)
	if end := plan.Segments[len(plan.Segments)-1].NextOffset; end > stable || stable != r.HighWatermark()-41 {
		t.Errorf("would clean up to %d, the last stable offset is %d of %d", end, stable, r.HighWatermark())
	}
	set(func(s *Settings) { s.Compact = false })
	due(false, "not compacted")
}

func inTxnKeyed(t testing.TB) []byte {
	b := record.NewBuilder(record.None)
	b.SetProducer(9, 0, 0)
	b.SetTransactional()
	b.Append(record.Record{Key: []byte("k1"), Value: []byte("open"), TimestampMs: 1_000_000})
	return build(t, b)
}

// A follower that comes with an empty disk, or was away, gets what a cleaned
// leader has. Tombstones stay in a group of several.
func TestAFollowerOfACleanedLeader(t *testing.T) {
	c := newCluster(t)
	lead := c.leader()
	for _, r := range c.rs {
		s := *r.settings.Load()
		s.SegmentBytes, s.Compact, s.DeleteRetention = 800, true, 0
		must(t, r.SetSettings(s))
	}
	want := map[string]string{}
	add := func(from, to int) {
		for i := from; i < to; i++ {
			key, value := fmt.Sprint("k", i%6), fmt.Sprint("v", i)
			if i%10 == 4 {
				value = ""
			}
			for {
				_, err := lead.Append(t.Context(), keyed(t, key, value, 0, 0)).Result()
				if err == nil {
					break
				}
				if !errors.Is(err, ErrStopped) && !errors.Is(err, ErrNotLeader) && !errors.Is(err, ErrNotReady) && !errors.Is(err, ErrOutcomeUnknown) {
					t.Fatal(err)
				}
				lead = c.leader()
			}
			if want[key] = value; value == "" {
				want[key] = "-"
			}
		}
	}
	add(0, 30)
	for i := range 3 {
		c.caughtUp(i, lead.HighWatermark())
	}
	away := (c.index(lead) + 1) % 3
	c.kill(away)
	add(30, 90)
	cleanNow(t, lead)
	cleanNow(t, lead)
	c.start(away, false)
	c.caughtUp(away, lead.HighWatermark())
	lead = c.leader()
	cleanNow(t, lead)
	fresh := (c.index(lead) + 1) % 3
	c.kill(fresh)
	c.disks[fresh] = vfs.NewMem() // a test may do this: nobody votes meanwhile
	c.start(fresh, true)
	lead = c.leader()
	add(90, 95)
	for i := range 3 {
		c.caughtUp(i, lead.HighWatermark())
		if got, records := newest(t, c.rs[i]); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("node %d: %d records, got %v, want %v", i, records, got, want)
		}
	}
	if _, records := newest(t, c.rs[fresh]); records > 60 {
		t.Errorf("the new follower was sent %d records", records)
	}
	holes := 0
	for index := uint64(1); index <= c.rs[fresh].log.Bounds().LastIndex; index++ {
		e, err := c.rs[fresh].log.Entry(index)
		must(t, err)
		if e.Kind == seglog.KindHole {
			holes++
		}
	}
	if holes == 0 {
		t.Error("the new follower was sent no hole")
	}
}
