package refusals

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (l *Ledger) mustAdd(t testing.TB, source string, site uint32, reason string, at time.Time, count uint64) {
	t.Helper()
	value, err := json.Marshal(refusal{site, reason, at.Truncate(time.Minute), count})
	if err == nil {
		err = l.Add(fmt.Sprintf("%d|%s|%s|%s", site, reason, at.Format("2006-01-02T15:04Z"), source), value, at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheLastNumberOfASourceCountsAndSourcesAddUp(t *testing.T) {
	l := NewLedger()
	for _, count := range []uint64{3, 17, 17, 5} { // the last one is old news that came late
		l.mustAdd(t, "n1", 1, "future", noon, count)
	}
	l.mustAdd(t, "n2", 1, "future", noon, 2)
	l.mustAdd(t, "n1", 1, "invalid", noon.Add(time.Minute), 40)
	l.mustAdd(t, "n1", 2, "rate", noon, 9)
	got, since := l.Sum(1, noon, noon.Add(time.Hour))
	if !slices.Equal(got, []Count{{"invalid", 40}, {"future", 19}}) || !since.Equal(noon) {
		t.Errorf("got %v since %s", got, since)
	}
	if got, _ := l.Sum(1, noon.Add(time.Minute), noon.Add(time.Hour)); !slices.Equal(got, []Count{{"invalid", 40}}) {
		t.Errorf("from a minute later: got %v", got)
	}
	if got, _ := l.Sum(0, noon, noon.Add(time.Hour)); len(got) != 0 {
		t.Errorf("of no site: got %v", got)
	}
}

// TestSumsAreWholeAsTimePasses compares with a plain list of everything, over two months of random refusals.
func TestSumsAreWholeAsTimePasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	l := NewLedger()
	type fact struct {
		at    time.Time
		count uint64
	}
	var all []fact
	at := noon
	for range 20_000 {
		at = at.Add(time.Duration(rng.IntN(9)) * time.Minute)
		n := uint64(rng.IntN(50) + 1)
		l.mustAdd(t, fmt.Sprint(len(all)), 1, "invalid", at, n)
		all = append(all, fact{at, n})
	}
	for _, ago := range []time.Duration{7 * time.Minute, 2 * time.Hour, 48 * time.Hour, 31 * 24 * time.Hour} {
		from := at.Add(-ago)
		if ago > 2*time.Hour {
			from = from.Truncate(15 * time.Minute)
		}
		want := int64(0)
		for _, f := range all {
			if !f.at.Before(from) {
				want += int64(f.count)
			}
		}
		if got, _ := l.Sum(1, from, at.Add(time.Minute)); len(got) != 1 || got[0].Count != want {
			t.Errorf("the last %s: got %v, want %d", ago, got, want)
		}
	}
	if len(l.open) > 100 || l.slots > 8_000 {
		t.Errorf("%d numbers and %d slots are kept", len(l.open), l.slots)
	}
}

func TestMemoryIsBoundedAndSaysSo(t *testing.T) {
	l := NewLedger()
	for i := range 3 * maxSlots / 2 {
		at := noon.Add(time.Duration(i/2000) * time.Minute * 15)
		p := pair{uint32(i % 2000), "invalid"}
		l.newest = max(l.newest, at.Unix())
		if l.since == 0 {
			l.since = l.newest
		}
		l.put(p, at.Unix(), 1)
		if l.slots > maxSlots {
			l.sweep()
		}
	}
	if l.slots > maxSlots || l.since <= noon.Unix() {
		t.Errorf("%d slots are kept, since %d", l.slots, l.since-noon.Unix())
	}
}

// A record from a clock that was years ahead does not make all the others too old to count.
func TestAMinuteAheadOfTheClockIsLeftOut(t *testing.T) {
	l := NewLedger()
	ahead := []byte(`{"site_id":1,"reason":"invalid","minute":"2038-01-19T03:14:00Z","count":5}`)
	if err := l.Add("ahead", ahead, noon); err == nil {
		t.Error("a minute of 2038 was taken in 2026")
	}
	l.mustAdd(t, "n1", 1, "invalid", noon, 7)
	if got, since := l.Sum(1, noon, noon.AddDate(20, 0, 0)); !slices.Equal(got, []Count{{"invalid", 7}}) || !since.Equal(noon) {
		t.Errorf("got %v since %s", got, since)
	}
	if err := l.Add("a clock that is a little ahead", []byte(`{"site_id":1,"reason":"invalid","minute":"2026-03-01T12:30:00Z","count":1}`), noon); err != nil {
		t.Error(err)
	}
}

func FuzzAdd(f *testing.F) {
	f.Add("k", []byte(`{"version":1,"site":"a.example","site_id":1,"reason":"future","minute":"2026-03-01T09:05:00Z","count":17}`))
	f.Add("k", []byte(`{"reason":"x","minute":"9999-03-01T09:05:00Z","count":18446744073709551615}`))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		l := NewLedger()
		for range 2 {
			if l.Add(key, value, noon) != nil {
				return
			}
		}
		if l.slots > 1 || len(l.open) > 1 {
			t.Fatalf("%d slots, %d numbers of one record", l.slots, len(l.open))
		}
	})
}
