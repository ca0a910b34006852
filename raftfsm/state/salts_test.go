package state

import (
	"reflect"
	"testing"
	"time"

	"github.com/weir-analytics/weir/raftfsm/command"
)

func TestNeededDaysCoverEveryZone(t *testing.T) {
	kiritimati, err := time.LoadLocation("Pacific/Kiritimati") // UTC+14
	if err != nil {
		t.Skip("no zone database:", err)
	}
	midway, _ := time.LoadLocation("Pacific/Midway") // UTC-11
	now := time.Date(2026, 3, 1, 10, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		zones []*time.Location
		want  []Day
	}{
		{"UTC alone", nil, []Day{"2026-02-28", "2026-03-01", "2026-03-02", "2026-03-03"}},
		{"a day ahead", []*time.Location{kiritimati}, []Day{"2026-02-28", "2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"}},
		{"a day behind", []*time.Location{midway}, []Day{"2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02", "2026-03-03"}},
	} {
		if got := NeededDays(now, c.zones); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSaltsStayOnceAgreedAndGoWhenOver(t *testing.T) {
	s := New()
	s.Salts = map[Day]Salt{"2026-02-26": {}, "2026-02-28": {Key: [16]byte{1}}, "2026-03-09": {}}
	missing, over := s.SaltChanges([]Day{"2026-02-27", "2026-02-28"})
	if !reflect.DeepEqual(missing, []Day{"2026-02-27"}) || !reflect.DeepEqual(over, []Day{"2026-02-26"}) {
		t.Errorf("missing %v, over %v", missing, over)
	}
	s = run(t, s, command.AgreeSalts{Add: command.Salts{"2026-02-28": {9}, "2026-02-27": {2}}, Erase: []string{"2026-02-26"}})
	if salt, _ := s.Salt("2026-02-28"); salt.Key != [16]byte{1} {
		t.Error("an agreed salt was replaced")
	}
	if _, ok := s.Salt("2026-02-26"); ok {
		t.Error("a salt that was erased is still there")
	}
	if salt, _ := s.Salt("2026-02-27"); salt.Key != [16]byte{2} {
		t.Error("a missing salt was not added")
	}
}
