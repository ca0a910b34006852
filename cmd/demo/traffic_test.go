package demo

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

var day = time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)

func TestTheSameSeedGivesTheSameTraffic(t *testing.T) {
	site := Sites()[0]
	a := New(7).Between(site, day, day.AddDate(0, 0, 1), 1)
	b := New(7).Between(site, day, day.AddDate(0, 0, 1), 1)
	if !reflect.DeepEqual(a, b) {
		t.Error("two runs differ")
	}
}

func TestADayHasTrafficInEachHourAndInOrder(t *testing.T) {
	for _, site := range Sites() {
		hits := New(1).Between(site, day, day.AddDate(0, 0, 1), 1)
		hours := map[int]int{}
		for i, h := range hits {
			hours[h.At.Hour()]++
			if h.At.Before(day) || !h.At.Before(day.AddDate(0, 0, 1)) || i > 0 && h.At.Before(hits[i-1].At) {
				t.Fatalf("%s: hit %d is at %s", site.Name, i, h.At)
			}
			if _, err := netip.ParseAddr(h.Address); err != nil {
				t.Fatal(err)
			}
		}
		if len(hours) != 24 {
			t.Errorf("%s: %d hours have hits, want 24", site.Name, len(hours))
		}
	}
}

func TestLinesAreWellFormed(t *testing.T) {
	sites := Sites()
	var log, clicks bytes.Buffer
	if err := WriteLog(&log, New(1).Between(sites[0], day, day.Add(2*time.Hour), 1)); err != nil {
		t.Fatal(err)
	}
	if line, _, _ := strings.Cut(log.String(), "\n"); strings.Count(line, `"`) != 6 || !strings.Contains(line, "[04/Mar/2026:0") {
		t.Errorf("log line %q", line)
	}
	if err := WriteClicks(&clicks, New(1).Between(sites[2], day, day.Add(2*time.Hour), 1)); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(clicks.String()) {
		var doc map[string]string
		if err := json.Unmarshal([]byte(line), &doc); err != nil || doc["link"] == "" || doc["ts"] == "" {
			t.Fatalf("click line %q: %v", line, err)
		}
	}
}
