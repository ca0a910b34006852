package state

import (
	"maps"
	"slices"
	"time"

	"github.com/weir-analytics/weir/raftfsm/command"
)

// DayOf returns the calendar day of t in t's location.
func DayOf(t time.Time) Day { return Day(t.Format(time.DateOnly)) }

// NeededDays returns, in ascending order, the days that need a salt at now: for each zone, and UTC, its local days from yesterday to the
// day after tomorrow.
func NeededDays(now time.Time, zones []*time.Location) []Day {
	set := map[Day]bool{}
	for _, zone := range append([]*time.Location{time.UTC}, zones...) {
		local := now.In(zone)
		for offset := -1; offset <= 2; offset++ {
			// Noon, so that no change of the clocks moves the result to another day.
			set[DayOf(time.Date(local.Year(), local.Month(), local.Day()+offset, 12, 0, 0, 0, zone))] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// SaltChanges returns which of the needed days have no salt yet, and which days with a salt are over. Both ascend. A day that lies
// beyond the needed ones is kept: it may belong to a site that was just removed, and will be needed soon.
func (s *State) SaltChanges(needed []Day) (missing, over []Day) {
	for _, day := range needed {
		if _, ok := s.Salts[day]; !ok {
			missing = append(missing, day)
		}
	}
	for _, day := range slices.Sorted(maps.Keys(s.Salts)) {
		if len(needed) > 0 && day < needed[0] {
			over = append(over, day)
		}
	}
	return missing, over
}

func (s *State) agreeSalts(cmd command.AgreeSalts) (any, error) {
	if err := s.addSalts(cmd.Add); err != nil {
		return nil, err
	}
	s.Salts = maps.Clone(s.Salts)
	for _, day := range cmd.Erase {
		delete(s.Salts, Day(day))
	}
	return nil, nil
}

// addSalts adds the salts of days that have none. A salt that exists stays: visitor ids made with it are in use.
func (s *State) addSalts(salts command.Salts) error {
	if len(salts) == 0 {
		return nil
	}
	s.Salts = maps.Clone(s.Salts)
	for day, key := range salts {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			return invalid("salts", "%q is no day: want 2006-01-02", day)
		}
		if _, ok := s.Salts[Day(day)]; !ok {
			s.Salts[Day(day)] = Salt{Key: key}
		}
	}
	return nil
}
