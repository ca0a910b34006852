package ring

import (
	"math"
	"math/rand/v2"
	"testing"
)

// counter is the ring as the tests use it: add to a window, read the windows behind a moment.
type counter struct {
	ring *Ring[int]
	late int
}

func newCounter(slots int) *counter { return &counter{ring: New[int](slots, nil)} }

func (c *counter) add(index int64) {
	if bucket, ok := c.ring.At(index); ok {
		*bucket++
	} else {
		c.late++
	}
}

// sum reads at a moment: the windows (now-slots, now]. It reads by index, so a value decays by time alone.
func (c *counter) sum(now int64, windows int64) int {
	total := 0
	for i := now - windows + 1; i <= now; i++ {
		if bucket, ok := c.ring.Peek(i); ok {
			total += *bucket
		}
	}
	return total
}

func TestReusedBucketIsCleared(t *testing.T) { // B135
	c := newCounter(1)
	for i := range int64(10) {
		c.add(i)
	}
	if got := c.sum(9, 1); got != 1 {
		t.Errorf("sum = %d, want 1", got)
	}
}

func TestSilenceLongerThanTheRingClearsAll(t *testing.T) { // B136, B137, B149
	for _, silence := range []int64{9, 10, 11, 60, 600, 6000, math.MaxInt64 / 2} {
		c := newCounter(10)
		for i := range int64(10) {
			c.add(i)
		}
		now := 9 + silence
		if got, want := c.sum(now, 10), max(0, int(10-silence)); got != want {
			t.Errorf("silence %d: sum before the next hit = %d, want %d", silence, got, want)
		}
		c.add(now)
		if got, want := c.sum(now, 10), max(0, int(10-silence))+1; got != want {
			t.Errorf("silence %d: sum = %d, want %d", silence, got, want)
		}
	}
}

func TestEveryStrideCountsTrue(t *testing.T) { // B139
	for stride := int64(1); stride <= 130; stride++ {
		c := newCounter(60)
		var now int64
		for i := range int64(500) {
			now = i * stride
			c.add(now)
		}
		want := 0
		for i := range int64(500) {
			if i*stride > now-60 {
				want++
			}
		}
		if got := c.sum(now, 60); got != want {
			t.Errorf("stride %d: sum = %d, want %d", stride, got, want)
		}
	}
}

func TestTheHitThatOpensABucketIsInTheSum(t *testing.T) { // B142
	c := newCounter(MinuteSlots)
	c.add(1000)
	if got := c.sum(1000, 1); got != 1 {
		t.Errorf("sum = %d, want 1", got)
	}
}

func TestClockStepsBackHarmlessly(t *testing.T) { // B143
	c := newCounter(60)
	c.add(1000)
	c.add(1000 - 59)
	c.add(1000 - 60)
	c.add(1000 - 120)
	c.add(-5)
	c.add(math.MinInt64 + 100)
	if c.late != 4 {
		t.Errorf("late = %d, want 4", c.late)
	}
	if head, _ := c.ring.Head(); head != 1000 {
		t.Errorf("head = %d, want 1000", head)
	}
	if got := c.sum(1000, 60); got != 2 {
		t.Errorf("sum = %d, want 2", got)
	}
}

func TestOldHitsLeaveAShortWindow(t *testing.T) { // B146
	c := newCounter(DaySlots)
	for range 200 {
		c.add(20000)
	}
	c.add(20180)
	if got := c.sum(20181, 7); got != 1 {
		t.Errorf("7 days = %d, want 1", got)
	}
	if got := c.sum(20181, DaySlots); got != 201 {
		t.Errorf("all days = %d, want 201", got)
	}
}

func TestForgetNamesWhatTheRingHeld(t *testing.T) {
	held := map[int64]int{}
	r := New[int](7, func(index int64, bucket *int) {
		if *bucket != 0 {
			held[index] = *bucket
		}
	})
	for i := int64(-3); i < 4; i++ {
		b, _ := r.At(i)
		*b = int(i) + 100
	}
	r.At(5) // passes -3 and -2
	if len(held) != 2 || held[-3] != 97 || held[-2] != 98 {
		t.Fatalf("forgotten %v, want -3:97 -2:98", held)
	}
	r.At(1 << 40)
	if len(held) != 7 {
		t.Fatalf("forgotten %v, want all seven", held)
	}
	for i := int64(-3); i < 4; i++ {
		if held[i] != int(i)+100 {
			t.Errorf("forgotten[%d] = %d, want %d", i, held[i], i+100)
		}
	}
}

func TestPeekAllocatesNothing(t *testing.T) {
	r := New[int](HourSlots, nil)
	r.At(5000)
	if n := testing.AllocsPerRun(100, func() {
		for i := int64(4000); i < 6000; i++ {
			r.Peek(i)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	blocks := 0
	for _, b := range r.blocks {
		if b != nil {
			blocks++
		}
	}
	if blocks != 1 {
		t.Errorf("%d blocks allocated, want 1", blocks)
	}
}

// TestRandomWalkEqualsBruteForce: whatever the order of the windows, each bucket in the ring holds what was added to its window since it
// last entered the ring, and nothing else.
func TestRandomWalkEqualsBruteForce(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		slots := 1 + rng.IntN(70)
		forgotten := map[int64]int{}
		r := New[int](slots, func(index int64, bucket *int) { forgotten[index] += *bucket })
		all := map[int64]int{}
		added, late := 0, 0
		var head int64
		at := int64(rng.IntN(1000)) - 500
		for step := range 400 {
			switch rng.IntN(10) {
			case 0:
				at += int64(rng.IntN(3 * slots))
			case 1:
				at -= int64(rng.IntN(2 * slots))
			default:
				at += int64(rng.IntN(5)) - 2
			}
			if step == 0 || at > head {
				head = at
			}
			bucket, ok := r.At(at)
			if want := at > head-int64(slots); ok != want {
				t.Fatalf("seed %d: At(%d) = %v with head %d and %d slots", seed, at, ok, head, slots)
			}
			if !ok {
				late++
				continue
			}
			*bucket++
			added++
			all[at]++
		}
		for index, want := range all {
			if index <= head-int64(slots) {
				if forgotten[index] != want {
					t.Fatalf("seed %d: forgotten[%d] = %d, want %d", seed, index, forgotten[index], want)
				}
				continue
			}
			bucket, ok := r.Peek(index)
			if !ok || *bucket != want {
				t.Fatalf("seed %d: bucket %d holds %v, want %d", seed, index, bucket, want)
			}
		}
		sum := 0
		r.Each(func(_ int64, bucket *int) { sum += *bucket })
		for _, n := range forgotten {
			sum += n
		}
		if sum != added || added+late != 400 {
			t.Fatalf("seed %d: %d in ring and forgotten, want %d", seed, sum, added)
		}
	}
}

func TestJudge(t *testing.T) {
	const now = 1_760_000_000_000
	for _, tc := range []struct {
		name           string
		time, received int64
		want           Verdict
	}{
		{"now", now, now, Counts},
		{"five minutes ahead", now + MaxAheadMs, now, Counts},
		{"a millisecond more", now + MaxAheadMs + 1, now, Future},
		{"a day ahead", now + 86400000, now, Future},          // B147
		{"two years late", now - 2*365*86400000, now, Counts}, // B148: counted in its own window
		{"1995", 807256800000, now, Counts},
		{"clock never set", 0, now, Ancient},
		{"negative", -1, now, Ancient},
		{"smallest", math.MinInt64, now, Ancient},
		{"largest", math.MaxInt64, now, Future},
		{"receipt unknown", now, 0, Future},
	} {
		if got := Judge(tc.time, tc.received); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func BenchmarkAt(b *testing.B) {
	r := New[int](MinuteSlots, nil)
	b.ReportAllocs()
	for i := range b.N {
		bucket, _ := r.At(int64(i / 1000))
		*bucket++
	}
}
