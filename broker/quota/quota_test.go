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
		got, _, ok := NewRules(order[i:]).find(state.QuotaProduce, "User:ada", "app")
		if !ok || got != float64(i+1) {
			t.Errorf("from %d on: %v, %v", i+1, got, ok)
		}
	}
	if _, _, ok := NewRules(order[:7]).find(state.QuotaProduce, "User:bob", "other"); !ok {
		t.Error("a default does not hold for others")
	}
	if _, _, ok := NewRules(order).find(state.QuotaFetch, "User:ada", "app"); ok {
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
		_, one, _ := r.find(state.QuotaProduce, "User:ada", "one")
		_, two, _ := r.find(state.QuotaProduce, "User:ada", "two")
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
				now = now.Add(max(m.Add(now, r, state.QuotaProduce, "User:ada", "", size), 100*time.Microsecond))
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
	if wait := m.Add(t0, r, state.QuotaProduce, "User:ada", "", 1e9); wait != window {
		t.Errorf("wait %v, want the longest, %v", wait, window)
	}
	if wait := m.Add(t0.Add(window), r, state.QuotaProduce, "User:ada", "", 1); wait != 0 {
		t.Errorf("after a window: wait %v", wait)
	}
	if wait := m.Add(t0, r, state.QuotaProduce, "User:bob", "", 1); wait != 0 {
		t.Errorf("another user waits %v", wait)
	}
}

func TestStrangersNamesTakeBoundedMemory(t *testing.T) {
	r := NewRules([]state.Quota{limit(nil, new(""), 10)})
	m := NewMeter()
	for i := range 3 * maxMeasured {
		m.Add(t0, r, state.QuotaProduce, "User:ada", fmt.Sprint(i), 1)
	}
	if len(m.used) > maxMeasured {
		t.Errorf("%d windows", len(m.used))
	}
}
