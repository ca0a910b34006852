package quota

import (
	"fmt"
	"testing"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
)

var t0 = time.Unix(1_700_000_000, 0)

func limit(user, client *string, bytes float64) state.Quota {
	return state.Quota{Entity: state.QuotaEntity{User: user, ClientID: client}, Limits: map[string]float64{state.QuotaProduce: bytes}}
}

func TestTheMostExactLimitCounts(t *testing.T) {
	ada, app, all := new("User:ada"), new("app"), new("")
	order := []state.Quota{
		limit(ada, app, 1), limit(ada, all, 2), limit(ada, nil, 3), limit(all, app, 4), limit(all, all, 5), limit(all, nil, 6), limit(nil, app, 7), limit(nil, all, 8),
	}
	for i := range order {
		got, _, ok := NewRules(order[i:]).find(state.QuotaProduce, Client{"User:ada", "app"})
		if !ok || got != float64(i+1) {
			t.Errorf("from %d on: %v, %v", i+1, got, ok)
		}
	}
	if _, _, ok := NewRules(order[:7]).find(state.QuotaProduce, Client{"User:bob", "other"}); !ok {
		t.Error("a default does not hold for others")
	}
	if _, _, ok := NewRules(order).find(state.QuotaFetch, Client{"User:ada", "app"}); ok {
		t.Error("a limit of writing holds for reading")
	}
}

func TestWhoSharesALimit(t *testing.T) {
	for _, c := range []struct {
		name   string
		quota  state.Quota
		shared bool // of ada's two client ids
	}{
		{"of the user", limit(new("User:ada"), nil, 1), true},
		{"of users by default", limit(new(""), nil, 1), true},
		{"of user and client ids by default", limit(new("User:ada"), new(""), 1), false},
		{"of client ids by default", limit(nil, new(""), 1), false},
	} {
		r := NewRules([]state.Quota{c.quota})
		_, one, _ := r.find(state.QuotaProduce, Client{"User:ada", "one"})
		_, two, _ := r.find(state.QuotaProduce, Client{"User:ada", "two"})
		if (one == two) != c.shared {
			t.Errorf("%s: shared %v, want %v", c.name, one == two, c.shared)
		}
	}
}

// A client that waits as long as it is told gets on at its limit, whatever the size of its requests.
func TestWhoWaitsAsToldGetsTheRateOfTheLimit(t *testing.T) {
	const rate = 1 << 20
	r := NewRules([]state.Quota{limit(new("User:ada"), nil, rate)})
	for _, size := range []float64{1 << 10, 100 << 10, 1 << 20, 20 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			m, now, sent := NewMeter(), t0, 0.0
			for now.Sub(t0) < 10*time.Minute {
				sent += size
				now = now.Add(max(m.Add(now, r, state.QuotaProduce, Client{"User:ada", ""}, size), 100*time.Microsecond))
			}
			if got := sent / now.Sub(t0).Seconds() / rate; got < .95 || got > 1.1+size/(rate*window.Seconds()) {
				t.Errorf("%.2f times the limit", got)
			}
		})
	}
}

func TestWhatIsPastIsForgotten(t *testing.T) {
	r := NewRules([]state.Quota{limit(new(""), nil, 10)})
	m := NewMeter()
	ada := Client{User: "User:ada"}
	m.Add(t0, r, state.QuotaProduce, ada, 300)
	if wait := m.Add(t0, r, state.QuotaProduce, ada, 0); wait != time.Second {
		t.Errorf("after a window's worth: wait %v, want 1s", wait)
	}
	if wait := m.Add(t0.Add(window), r, state.QuotaProduce, ada, 1); wait != 0 {
		t.Errorf("after a window: wait %v", wait)
	}
	if wait := m.Add(t0, r, state.QuotaProduce, Client{User: "User:bob"}, 1); wait != 0 {
		t.Errorf("another user waits %v", wait)
	}
}

// What is larger than a window is owed in full, from whatever connection one asks and however often.
func TestMoreThanAWindowIsOwed(t *testing.T) {
	r := NewRules([]state.Quota{limit(new(""), nil, 10)})
	for _, step := range []time.Duration{time.Second, 7 * time.Second, 40 * time.Second} {
		m := NewMeter()
		ada := Client{User: "User:ada"}
		if wait := m.Add(t0, r, state.QuotaProduce, ada, 1000); wait != 71*time.Second {
			t.Fatalf("100 seconds' worth: wait %v, want 71s", wait)
		}
		for at := step; at < 3*time.Minute; at += step {
			want := max(71*time.Second-at, 0)
			if wait := m.Add(t0.Add(at), r, state.QuotaProduce, ada, 0); wait != want {
				t.Errorf("in steps of %v, after %v: wait %v, want %v", step, at, wait, want)
			}
		}
		if wait := m.Add(t0.Add(time.Hour), r, state.QuotaProduce, ada, 1e9); wait != longest {
			t.Errorf("a limit far too low: wait %v, want the longest, %v", wait, longest)
		}
	}
}

// A reader that is told to wait takes nothing, and gets on at the rate of its limit also when one batch is more than a window holds.
func TestWhatIsTakenStaysWithinTheLimit(t *testing.T) {
	const rate = 1 << 20
	r := NewRules([]state.Quota{limit(new("User:ada"), nil, rate)})
	ada := Client{User: "User:ada"}
	for _, size := range []float64{16 << 10, 100 << 10, 1 << 20, 20 << 20, 50 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			m, now, got := NewMeter(), t0, 0.0
			for now.Sub(t0) < 10*time.Minute {
				wait := m.Take(now, r, state.QuotaProduce, ada, size)
				if wait == 0 {
					got += size
				}
				now = now.Add(max(wait, 10*time.Millisecond))
			}
			if got := got / now.Sub(t0).Seconds() / rate; got < .6 || got > 1.1+size/(rate*window.Seconds()) {
				t.Errorf("%.2f times the limit", got)
			}
		})
	}
}

func TestAChangedLimitBeginsAnew(t *testing.T) {
	m, ada := NewMeter(), Client{User: "User:ada"}
	if wait := m.Add(t0, NewRules([]state.Quota{limit(new(""), nil, 1)}), state.QuotaProduce, ada, 1e6); wait != longest {
		t.Errorf("wait %v, want the longest, %v", wait, longest)
	}
	if wait := m.Add(t0, NewRules([]state.Quota{limit(new(""), nil, 1e6)}), state.QuotaProduce, ada, 0); wait != 0 {
		t.Errorf("after the limit was raised: wait %v", wait)
	}
}

func TestWhatIsLeft(t *testing.T) {
	r := NewRules([]state.Quota{limit(new("User:ada"), nil, 10)})
	m := NewMeter()
	ada := Client{User: "User:ada"}
	for _, c := range []struct {
		add, most, want float64
	}{{0, 1000, 290}, {0, 100, 100}, {90, 1000, 200}, {1000, 1000, 0}} {
		m.Add(t0, r, state.QuotaProduce, ada, c.add)
		if got := m.Left(t0, r, state.QuotaProduce, ada, c.most); got != c.want {
			t.Errorf("after %v more, of %v: %v, want %v", c.add, c.most, got, c.want)
		}
	}
	if got := m.Left(t0, r, state.QuotaProduce, Client{User: "User:bob"}, 1e12); got != 1e12 {
		t.Errorf("without a limit: %v", got)
	}
}

// A goroutine that computes is charged for that, one that waits is not.
func TestTheStopwatchMeasuresWork(t *testing.T) {
	if !CanTime {
		t.Skip("this system does not tell a thread's processor time")
	}
	s := Start()
	defer s.Stop()
	time.Sleep(50 * time.Millisecond)
	if idle := s.Lap(); idle > 25*time.Millisecond {
		t.Errorf("waiting for 50 ms took %v of the processor", idle)
	}
	for began := time.Now(); time.Since(began) < 200*time.Millisecond; {
	}
	if busy := s.Lap(); busy < 5*time.Millisecond || busy > 300*time.Millisecond {
		t.Errorf("working for 200 ms took %v of the processor", busy)
	}
}

func TestStrangersNamesTakeBoundedMemory(t *testing.T) {
	r := NewRules([]state.Quota{limit(nil, new(""), 10)})
	m := NewMeter()
	for i := range 3 * maxMeasured {
		m.Add(t0, r, state.QuotaProduce, Client{"User:ada", fmt.Sprint(i)}, 1)
	}
	if len(m.used) > maxMeasured {
		t.Errorf("%d windows", len(m.used))
	}
}
