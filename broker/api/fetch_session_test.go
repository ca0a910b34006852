package api

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchRequest asks for partitions of the topic t from the given offsets on.
func fetchRequest(version int16, id, epoch int32, offsets map[int32]int64, forget ...int32) *kmsg.FetchRequest {
	q := kmsg.NewPtrFetchRequest()
	q.Version, q.SessionID, q.SessionEpoch = version, id, epoch
	t := kmsg.NewFetchRequestTopic()
	t.Topic = "t"
	for n := range int32(len(offsets) + 1000) {
		if offset, ok := offsets[n]; ok {
			p := kmsg.NewFetchRequestTopicPartition()
			p.Partition, p.FetchOffset, p.PartitionMaxBytes = n, offset, 1000
			t.Partitions = append(t.Partitions, p)
		}
	}
	if len(offsets) > 0 {
		q.Topics = append(q.Topics, t)
	}
	if len(forget) > 0 {
		f := kmsg.NewFetchRequestForgottenTopic()
		f.Topic, f.Partitions = "t", forget
		q.ForgottenTopics = append(q.ForgottenTopics, f)
	}
	return q
}

// answered is what a fetch would find in the partitions that it asks for.
func answered(x *exchange, highWatermark func(n int32) int64) []polled {
	parts := make([]polled, len(x.wants))
	for i, w := range x.wants {
		parts[i] = polled{key: w.key, highWatermark: highWatermark(w.key.number)}
	}
	return parts
}

// shown lists the numbers of the partitions that an answer has.
func shown(parts []polled) []int32 {
	list := []int32{}
	for i := range parts {
		if !parts[i].unchanged {
			list = append(list, parts[i].key.number)
		}
	}
	return list
}

func ten(int32) int64 { return 10 }

// opened makes a session over the partitions and returns its id.
func opened(t *testing.T, c *sessions, now time.Time, partitions int32) int32 {
	t.Helper()
	offsets := make(map[int32]int64)
	for n := range partitions {
		offsets[n] = 10
	}
	x, err := c.begin(fetchRequest(12, 0, 0, offsets), now)
	if err != nil {
		t.Fatal(err)
	}
	parts := answered(x, ten)
	id, err := c.finish(x, parts, now)
	if err != nil || len(shown(parts)) != int(partitions) {
		t.Fatalf("%v, %d partitions were shown, want %d", err, len(shown(parts)), partitions)
	}
	return id
}

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestSessionShowsWhatHasChanged(t *testing.T) {
	c := newSessions(10, 100, newMetrics(nil))
	id := opened(t, c, noon, 4)
	if id <= 0 {
		t.Fatalf("session %d", id)
	}
	epoch := int32(0)
	for _, step := range []struct {
		name   string
		change func(*polled)
		want   []int32
	}{
		{"nothing", func(*polled) {}, []int32{}},
		{"records in 1", func(p *polled) {
			if p.key.number == 1 {
				p.bytes, p.highWatermark = 100, 11
			}
		}, []int32{1}},
		{"the end of 1 is back", func(*polled) {}, []int32{1}},
		{"a log start in 2", func(p *polled) {
			if p.key.number == 2 {
				p.logStart = 5
			}
		}, []int32{2}},
		{"a last stable offset in 0", func(p *polled) {
			if p.key.number == 2 {
				p.logStart = 5
			} else if p.key.number == 0 {
				p.lastStable = 1
			}
		}, []int32{0}},
		{"it is back", func(p *polled) {
			if p.key.number == 2 {
				p.logStart = 5
			}
		}, []int32{0}},
		{"an error in 3", func(p *polled) {
			if p.key.number == 2 {
				p.logStart = 5
			} else if p.key.number == 3 {
				p.fail(kerr.NotLeaderForPartition)
			}
		}, []int32{3}},
		{"the same error", func(p *polled) {
			if p.key.number == 2 {
				p.logStart = 5
			} else if p.key.number == 3 {
				p.fail(kerr.NotLeaderForPartition)
			}
		}, []int32{3}},
		{"the error is over", func(p *polled) {
			if p.key.number == 2 {
				p.logStart = 5
			}
		}, []int32{3}},
	} {
		epoch++
		x, err := c.begin(fetchRequest(12, id, epoch, nil), noon)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		parts := answered(x, ten)
		for i := range parts {
			step.change(&parts[i])
		}
		got, err := c.finish(x, parts, noon)
		if err != nil || got != id || !slices.Equal(shown(parts), step.want) {
			t.Errorf("%s: session %d, %v, partitions %v, want %v", step.name, got, err, shown(parts), step.want)
		}
	}
}

func TestSessionIsChangedByRequests(t *testing.T) {
	c := newSessions(10, 100, newMetrics(nil))
	id := opened(t, c, noon, 3)
	x, err := c.begin(fetchRequest(12, id, 1, map[int32]int64{1: 77, 5: 88}, 0, 99), noon)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[int32]int64)
	for _, w := range x.wants {
		got[w.key.number] = w.offset
	}
	if len(got) != 3 || got[1] != 77 || got[2] != 10 || got[5] != 88 {
		t.Errorf("partitions and offsets %v", got)
	}
	if c.partitions != 3 {
		t.Errorf("%d partitions are counted", c.partitions)
	}
	if _, err := c.finish(x, answered(x, ten), noon); err != nil {
		t.Fatal(err)
	}
	if x, err = c.begin(fetchRequest(12, id, 2, nil, 1, 2, 5), noon); err != nil {
		t.Fatal(err)
	}
	if got, err := c.finish(x, nil, noon); got != 0 || err != nil || c.partitions != 0 || len(c.byID) != 0 {
		t.Errorf("an emptied session: %d, %v, %d sessions with %d partitions are left", got, err, len(c.byID), c.partitions)
	}
}

func TestSessionRefuses(t *testing.T) {
	for _, tc := range []struct {
		name           string
		version        int16
		otherID, epoch int32
		want           error
		alive          bool
	}{
		{name: "an unknown id", version: 12, otherID: 1, epoch: 1, want: kerr.FetchSessionIDNotFound, alive: true},
		{name: "an epoch again", version: 12, epoch: 2, want: kerr.InvalidFetchSessionEpoch, alive: true},
		{name: "names become ids", version: 13, epoch: 1, want: kerr.FetchSessionTopicIDError, alive: true},
		{name: "closed", version: 12, epoch: -1},
		{name: "begun anew", version: 12, epoch: 0},
	} {
		c := newSessions(10, 100, newMetrics(nil))
		id := opened(t, c, noon, 2)
		_, err := c.begin(fetchRequest(tc.version, id^tc.otherID, tc.epoch, nil), noon)
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
		if c.byID[id] != nil != tc.alive {
			t.Errorf("%s: the session is alive: %v, want %v", tc.name, !tc.alive, tc.alive)
		}
	}
}

// Two connections that use one session by mistake: the one that is overtaken must not answer from what it believes.
func TestSessionOvertaken(t *testing.T) {
	c := newSessions(10, 100, newMetrics(nil))
	id := opened(t, c, noon, 2)
	first, err := c.begin(fetchRequest(12, id, 1, nil), noon)
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.begin(fetchRequest(12, id, 2, nil), noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.finish(first, answered(first, ten), noon); err != kerr.InvalidFetchSessionEpoch {
		t.Errorf("the first: %v", err)
	}
	if got, err := c.finish(second, answered(second, ten), noon); got != id || err != nil {
		t.Errorf("the second: session %d, %v", got, err)
	}
}

func TestSessionEpochsGoAround(t *testing.T) {
	c := newSessions(10, 100, newMetrics(nil))
	id := opened(t, c, noon, 1)
	c.byID[id].epoch = math.MaxInt32
	for _, epoch := range []int32{math.MaxInt32, 1, 2} {
		if _, err := c.begin(fetchRequest(12, id, epoch, nil), noon); err != nil {
			t.Errorf("epoch %d: %v", epoch, err)
		}
	}
}

func TestSessionsMakeRoom(t *testing.T) {
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	type made struct {
		at, used int // minutes
		size     int32
	}
	for _, tc := range []struct {
		name string
		old  []made
		next made
		room bool
		gone int // which of old
	}{
		{"there is room", []made{{0, 0, 1}, {0, 0, 1}}, made{0, 0, 1}, true, -1},
		{"all are young", []made{{0, 0, 1}, {0, 0, 1}, {0, 0, 1}}, made{1, 0, 5}, false, -1},
		{"one is not used any more", []made{{0, 8, 1}, {0, 2, 9}, {0, 9, 1}}, made{10, 0, 1}, true, 1},
		{"all are used: a larger one may come", []made{{0, 9, 5}, {0, 9, 4}, {9, 9, 1}}, made{10, 0, 5}, true, 1},
		{"all are used: one of the same size may not", []made{{0, 9, 5}, {0, 9, 5}, {9, 9, 1}}, made{10, 0, 5}, false, -1},
		{"too many partitions", []made{{0, 0, 50}}, made{1, 0, 51}, false, -1},
		{"old partitions go", []made{{0, 0, 50}, {0, 9, 40}}, made{10, 0, 51}, true, 0},
		{"more than all may have", []made{{0, 0, 50}}, made{10, 0, 101}, false, -1},
	} {
		c := newSessions(3, 100, newMetrics(nil))
		var ids []int32
		for _, m := range tc.old {
			ids = append(ids, opened(t, c, minute(m.at), m.size))
			c.byID[ids[len(ids)-1]].used = minute(m.used)
		}
		id := opened(t, c, minute(tc.next.at), tc.next.size)
		if id != 0 != tc.room {
			t.Errorf("%s: session %d, want room: %v", tc.name, id, tc.room)
		}
		for i, old := range ids {
			if c.byID[old] == nil != (i == tc.gone) {
				t.Errorf("%s: session %d is there: %v", tc.name, i, c.byID[old] != nil)
			}
		}
		sum := 0
		for _, s := range c.byID {
			sum += s.order.Len()
		}
		if sum != c.partitions {
			t.Errorf("%s: %d partitions, %d are counted", tc.name, sum, c.partitions)
		}
	}
}

func TestSessionThatGrowsTooLargeEnds(t *testing.T) {
	c := newSessions(3, 10, newMetrics(nil))
	id, other := opened(t, c, noon, 4), opened(t, c, noon, 4)
	more := map[int32]int64{10: 0, 11: 0, 12: 0}
	if _, err := c.begin(fetchRequest(12, id, 1, more), noon); err != kerr.FetchSessionIDNotFound || c.byID[id] != nil || c.byID[other] == nil || c.partitions != 4 {
		t.Errorf("%v, %d partitions", err, c.partitions)
	}
}

// Partitions that were served go to the end, so that with a small max_bytes each has its turn.
func TestSessionTakesTurns(t *testing.T) {
	c := newSessions(10, 100, newMetrics(nil))
	sources := []*source{newSource(t, 20, 1000), newSource(t, 20, 1000), newSource(t, 20, 1000)}
	id := opened(t, c, noon, 3)
	offsets := map[int32]int64{0: 0, 1: 0, 2: 0}
	var served []int32
	for epoch := int32(1); epoch <= 6; epoch++ {
		x, err := c.begin(fetchRequest(12, id, epoch, offsets), noon)
		if err != nil {
			t.Fatal(err)
		}
		p := pollOf(1500, 1500, 1, 64<<20) // room for one batch
		for _, w := range x.wants {
			p.parts = append(p.parts, polled{source: sources[w.key.number], key: w.key, epoch: -1, next: w.offset, room: 1500})
		}
		p.fill(t.Context())
		if _, err := c.finish(x, p.parts, noon); err != nil {
			t.Fatal(err)
		}
		clear(offsets)
		for _, part := range p.parts {
			if part.bytes > 0 {
				served = append(served, part.key.number)
				offsets[part.key.number] = part.next
			}
		}
	}
	if want := []int32{0, 1, 2, 0, 1, 2}; !slices.Equal(served, want) {
		t.Errorf("served in the order %v, want %v", served, want)
	}
}

// Whatever a client names, forgets and loses, what it knows from the answers of its session is what is there.
func TestSessionAtRandom(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		c := newSessions(4, 30, newMetrics(nil))
		now := noon
		ends := make([]int64, 12)
		type view struct {
			id, epoch int32
			wants     map[int32]int64
			knows     map[int32]int64
		}
		clients := make([]view, 5)
		for step := range 400 {
			now = now.Add(time.Duration(rnd.IntN(40)) * time.Second)
			ends[rnd.IntN(len(ends))] += rnd.Int64N(3)
			v := &clients[rnd.IntN(len(clients))]
			var x *exchange
			var err error
			if v.id == 0 || rnd.IntN(20) == 0 {
				v.wants, v.knows = make(map[int32]int64), make(map[int32]int64)
				for range 1 + rnd.IntN(8) {
					v.wants[rnd.Int32N(int32(len(ends)))] = 1
				}
				v.epoch = 0
				x, err = c.begin(fetchRequest(12, v.id, 0, v.wants), now)
			} else {
				changed, forget := make(map[int32]int64), []int32(nil)
				for range rnd.IntN(3) {
					n := rnd.Int32N(int32(len(ends)))
					if rnd.IntN(3) == 0 {
						forget = append(forget, n)
						delete(changed, n)
						delete(v.wants, n)
						delete(v.knows, n)
					} else if !slices.Contains(forget, n) {
						changed[n] = rnd.Int64N(100)
						v.wants[n] = changed[n]
					}
				}
				x, err = c.begin(fetchRequest(12, v.id, v.epoch, changed, forget...), now)
			}
			if err != nil {
				if err != kerr.FetchSessionIDNotFound {
					t.Fatalf("seed %d step %d: %v", seed, step, err)
				}
				*v = view{}
				continue
			}
			if len(x.wants) != len(v.wants) {
				t.Fatalf("seed %d step %d: %d partitions are asked for, want %d", seed, step, len(x.wants), len(v.wants))
			}
			parts := answered(x, func(n int32) int64 { return ends[n] })
			id, err := c.finish(x, parts, now)
			if err != nil || id != v.id && v.epoch > 0 && len(v.wants) > 0 {
				t.Fatalf("seed %d step %d: session %d, %v, want %d", seed, step, id, err, v.id)
			}
			for _, p := range parts {
				if !p.unchanged {
					v.knows[p.key.number] = p.highWatermark
				}
			}
			for _, w := range x.wants {
				if n := w.key.number; v.knows[n] != ends[n] || w.offset != v.wants[n] {
					t.Fatalf("seed %d step %d: partition %d: the client knows %d of %d, its offset is %d, want %d",
						seed, step, n, v.knows[n], ends[n], w.offset, v.wants[n])
				}
			}
			v.id, v.epoch = id, v.epoch+1
			if len(c.byID) > 4 || c.partitions > 30 {
				t.Fatalf("seed %d step %d: %d sessions, %d partitions", seed, step, len(c.byID), c.partitions)
			}
		}
	}
}
