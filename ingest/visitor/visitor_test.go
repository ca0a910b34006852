package visitor

import (
	"net/netip"
	"testing"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
)

func testState() *state.State {
	s := &state.State{Salts: map[state.Day]state.Salt{}}
	for i, day := range []state.Day{"2026-02-02", "2026-02-03", "2026-02-04"} {
		s.Salts[day] = state.Salt{Key: [16]byte{byte(i + 1)}}
	}
	s.ImportKey = [32]byte{9}
	return s
}

func at(t *testing.T, text string) int64 {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment.UnixMilli()
}

var berlin = state.Site{ID: 1, Timezone: "Europe/Berlin"}

func who(addr, agent string) Who {
	return Who{Addr: netip.MustParseAddr(addr), Agent: AgentSum(agent)}
}

func TestOneVisitorHasOneIDADay(t *testing.T) {
	days := NewDays(testState())
	w := who("81.2.69.142", "Firefox")
	morning, next := days.IDs(&berlin, at(t, "2026-02-03T06:00:00+01:00"), w)
	evening, _ := days.IDs(&berlin, at(t, "2026-02-03T23:29:00+01:00"), w)
	if morning != evening || morning == 0 || next != 0 {
		t.Errorf("%x and %x, next %x", morning, evening, next)
	}
	other, _ := days.IDs(&state.Site{ID: 2, Timezone: "Europe/Berlin"}, at(t, "2026-02-03T06:00:00+01:00"), w)
	if other == morning {
		t.Error("two sites share an id")
	}
	for _, different := range []Who{who("81.2.69.143", "Firefox"), who("81.2.69.142", "Chrome"), {Name: "host.example"}, {Agent: AgentSum("Firefox")}} {
		if got, _ := days.IDs(&berlin, at(t, "2026-02-03T06:00:00+01:00"), different); got == morning {
			t.Errorf("%+v has the same id", different)
		}
	}
}

func TestTheDayTurnsAtTheSitesMidnight(t *testing.T) {
	days := NewDays(testState())
	w := who("2001:218::1", "Firefox")
	before, beforeNext := days.IDs(&berlin, at(t, "2026-02-03T23:55:00+01:00"), w)
	after, afterNext := days.IDs(&berlin, at(t, "2026-02-04T00:01:00+01:00"), w)
	if before == after {
		t.Error("the id did not change at midnight")
	}
	if beforeNext != after {
		t.Error("the hit before midnight does not carry the id of the day after")
	}
	if afterNext != 0 {
		t.Error("a hit after midnight carries a second id")
	}
	auckland := state.Site{ID: 1, Timezone: "Pacific/Auckland"}
	day3, _ := days.IDs(&auckland, at(t, "2026-02-03T10:00:00Z"), w) // 23:00 in Auckland
	day4, _ := days.IDs(&auckland, at(t, "2026-02-03T11:30:00Z"), w)
	if day3 == day4 {
		t.Error("the id did not change at midnight in Auckland")
	}
}

func TestDaysWithoutASaltAreDerived(t *testing.T) {
	days := NewDays(testState())
	w := who("81.2.69.142", "Firefox")
	first, _ := days.IDs(&berlin, at(t, "2015-05-17T10:05:00Z"), w)
	second, _ := NewDays(testState()).IDs(&berlin, at(t, "2015-05-17T12:05:00Z"), w)
	otherDay, _ := days.IDs(&berlin, at(t, "2015-05-18T10:05:00Z"), w)
	if first != second || first == otherDay || first == 0 {
		t.Errorf("%x, %x, %x", first, second, otherDay)
	}
}

func TestNobodyIsNoVisitor(t *testing.T) {
	if a, b := NewDays(testState()).IDs(&berlin, at(t, "2026-02-03T23:55:00+01:00"), Who{}); a != 0 || b != 0 {
		t.Errorf("%x, %x", a, b)
	}
}

func TestDaysWithoutMidnightStartLater(t *testing.T) {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Skip("no time zone database:", err)
	}
	got := startOfDay(2018, 11, 4, zone) // clocks went from 00:00 to 01:00
	if got.Format("2006-01-02 15:04") != "2018-11-04 01:00" {
		t.Errorf("got %v", got)
	}
}

func TestPartitionsStayAndSpread(t *testing.T) {
	key := Key{7}
	counts := make([]int, 8)
	for i := range 8000 {
		w := Who{Addr: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), Agent: 5}
		p := Partition(key, 1, w, 8)
		if p != Partition(key, 1, w, 8) {
			t.Fatal("not stable")
		}
		counts[p]++
	}
	for p, n := range counts {
		if n < 850 || n > 1150 {
			t.Errorf("partition %d has %d of 8000", p, n)
		}
	}
}

func TestNothingIsAllocatedPerHit(t *testing.T) {
	days := NewDays(testState())
	w := who("81.2.69.142", "Firefox")
	ms := at(t, "2026-02-03T06:00:00+01:00")
	if n := testing.AllocsPerRun(100, func() {
		days.IDs(&berlin, ms, w)
		Partition(Key{1}, 1, w, 8)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkIDs(b *testing.B) {
	days := NewDays(testState())
	w := who("81.2.69.142", "Firefox")
	b.ReportAllocs()
	for b.Loop() {
		days.IDs(&berlin, 1770109257000, w)
		Partition(Key{1}, 1, w, 8)
	}
}
