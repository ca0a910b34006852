package led

import (
	"slices"
	"testing"
	"time"
)

func TestABatchTakesWhatFitsAndKeepsApartWhatMustBeAlone(t *testing.T) {
	type write struct {
		name  string
		bytes int
		alone bool
	}
	tests := []struct {
		name   string
		writes []write
		want   [][]string
	}{
		{"what fits goes together", []write{{"a", 4, false}, {"b", 6, false}, {"c", 1, false}}, [][]string{{"a", "b"}, {"c"}}},
		{"one that is too large goes by itself", []write{{"a", 30, false}, {"b", 1, false}}, [][]string{{"a"}, {"b"}}},
		{"one that is alone keeps its place", []write{{"a", 1, false}, {"b", 1, true}, {"c", 1, false}}, [][]string{{"a"}, {"b"}, {"c"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := NewQueue[string]()
			for _, w := range tt.writes {
				q.Add(w.name, w.bytes, w.alone)
			}
			for i, want := range tt.want {
				if got := q.Take(10); !slices.Equal(got, want) {
					t.Fatalf("batch %d holds %v, want %v", i, got, want)
				}
			}
			if got := q.Take(10); len(got) > 0 || q.Bytes() != 0 {
				t.Fatalf("%v and %d bytes are left in the queue, want nothing", got, q.Bytes())
			}
		})
	}
}

func TestAQueueIsWrittenOnceItsLastBatchIsSettledOrDropped(t *testing.T) {
	for name, end := range map[string]func(*Queue[string]){
		"settled": (*Queue[string]).Settled,
		"dropped": func(q *Queue[string]) { q.Drop() },
	} {
		t.Run(name, func(t *testing.T) {
			q := NewQueue[string]()
			q.Add("a", 1, false)
			written := q.Written()
			q.Take(10)
			select {
			case <-written:
				t.Fatal("a queue whose last batch is being written says that it is written")
			default:
			}
			end(&q)
			select {
			case <-written:
			default:
				t.Fatal("nothing is queued or being written, and the queue does not say so")
			}
		})
	}
}

func TestAnAlarmLooksAtTheEarliestDeadlineAndAtEveryInterval(t *testing.T) {
	start := time.Unix(1000, 0)
	a := NewAlarm(time.Minute)
	a.Expire(start)
	a.WakeBy(start.Add(20 * time.Second))
	a.WakeBy(start.Add(10 * time.Second))
	a.WakeBy(start.Add(30 * time.Second))
	var looked []bool
	look := func(expire bool) { looked = append(looked, expire) }
	for _, step := range []struct{ at, next time.Duration }{
		{0, 10 * time.Second},
		{10 * time.Second, 50 * time.Second},
		{time.Minute, time.Minute},
	} {
		if got := a.Tick(start.Add(step.at), look); got != step.next {
			t.Errorf("after %v the next look is in %v, want %v", step.at, got, step.next)
		}
	}
	if want := []bool{false, true}; !slices.Equal(looked, want) {
		t.Errorf("looked with expire %v, want %v", looked, want)
	}
}
