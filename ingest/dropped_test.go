package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// droppedLog is an Appender that keeps the numbers of refused hits, by key.
type droppedLog struct {
	hits    *memoryLog
	mu      sync.Mutex
	last    map[string]Dropped
	records int
	fail    error
}

func (l *droppedLog) Append(ctx context.Context, topic string, partition int32, records []Record) (int64, error) {
	if topic != TopicDropped {
		return l.hits.Append(ctx, topic, partition, records)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return 0, l.fail
	}
	for _, r := range records {
		var d Dropped
		if err := json.Unmarshal(r.Value, &d); err != nil || d.Key() != string(r.Key) {
			panic(string(r.Value))
		}
		l.last[d.Key()] = d
		l.records++
	}
	return 0, nil
}

// sums returns the numbers by site and reason.
func (l *droppedLog) sums() map[string]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	sums := map[string]uint64{}
	for _, d := range l.last {
		sums[d.Site+" "+d.Reason] += d.Count
	}
	return sums
}

func startDropping(t *testing.T, change func(*Config)) (*fixture, *droppedLog) {
	log := &droppedLog{hits: &memoryLog{parts: map[int32][]hit.Hit{}}, last: map[string]Dropped{}}
	f := start(t, func(c *Config) {
		s := testState("shop.example.com", "s.example.com")
		s.Topics[TopicDropped] = state.Topic{Name: TopicDropped, Partitions: 1}
		c.Sites, c.Appender = fixedSites{s}, log
		if change != nil {
			change(c)
		}
	})
	return f, log
}

func TestEveryRefusalIsCountedExactly(t *testing.T) {
	now := testNow
	var mu sync.Mutex
	f, log := startDropping(t, func(c *Config) {
		c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	ctx := context.Background()
	for n := range 1000 {
		f.send("POST", "/api/event", `{"n":"pageview","u":"https://nowhere.example/"}`)
		f.send("POST", "/api/event", `{"n":`)
		switch n {
		case 300:
			f.flushDrops(ctx)
		case 600: // a write that fails, or whose answer is lost, changes nothing
			log.mu.Lock()
			log.fail = errors.New("no answer")
			log.mu.Unlock()
			f.flushDrops(ctx)
			log.mu.Lock()
			log.fail = nil
			log.mu.Unlock()
			mu.Lock()
			now = now.Add(time.Minute)
			mu.Unlock()
		}
	}
	f.send("POST", "/api/clicks", `{"link":"a","site":"s.example.com","ts":"2030-01-01T00:00:00Z"}`)
	f.send("GET", "/matomo.php?idsite=1&rec=1&cip=1.2.3.4&url=https://shop.example.com/", "")
	f.importText(t, "no log line\n")
	f.flushDrops(ctx)
	got := log.sums()
	for key, want := range map[string]uint64{" unknown-site": 1000, " not-json": 1000, "s.example.com future": 1, "shop.example.com unauthorized": 1, "shop.example.com bad-line": 1} {
		if got[key] != want {
			t.Errorf("%s: got %d, want %d", key, got[key], want)
		}
	}
	if len(got) != 5 || log.records > 9 {
		t.Errorf("got %v in %d records", got, log.records)
	}
	mu.Lock()
	now = now.Add(2 * time.Minute)
	mu.Unlock()
	f.flushDrops(ctx)
	if len(f.drops.cells) != 0 {
		t.Errorf("%d numbers are kept that do not change any more", len(f.drops.cells))
	}
}

func TestAStopWritesTheLastNumbers(t *testing.T) {
	f, log := startDropping(t, nil)
	f.send("POST", "/api/event", `{"n":`)
	f.stop()
	if got := log.sums()[" not-json"]; got != 1 {
		t.Errorf("got %d", got)
	}
}

func TestSendersDoNotChooseHowMuchIsWritten(t *testing.T) {
	d := newDrops("n1")
	s := &state.State{Sites: map[state.SiteID]state.Site{}}
	for site := range state.SiteID(5000) {
		s.Sites[site+1] = state.Site{ID: site + 1, Name: "x"}
	}
	total := 0
	for site := range state.SiteID(5000) {
		for _, why := range reasons {
			d.add(site+1, why, 3, testNow, DroppedHit{"detail " + strings.Repeat("x", 5000)})
			total += 3
		}
	}
	if len(d.cells) > dropCells+len(reasons) {
		t.Errorf("%d numbers in memory", len(d.cells))
	}
	written, samples := 0, 0
	for {
		keys, records := d.due(s, testNow)
		if len(keys) == 0 {
			break
		}
		if len(records) > dropFlushCells {
			t.Fatalf("%d records at once", len(records))
		}
		for _, r := range records {
			written += int(r.Count)
			samples += len(r.Samples)
			for _, sample := range r.Samples {
				if len(sample.Detail) > 300 {
					t.Fatalf("a sample of %d bytes", len(sample.Detail))
				}
			}
		}
		d.wrote(keys, records)
	}
	if written != total || samples > len(reasons) {
		t.Errorf("%d of %d are counted, %d samples", written, total, samples)
	}
}

func TestSamplesTellNothingOfPeople(t *testing.T) {
	f, log := startDropping(t, nil)
	f.send("POST", "/api/event", `{"n":"pageview","u":"https://nowhere.example/","d":"ann@example.org"}`, "X-Forwarded-For", "81.2.69.142")
	f.send("POST", "/api/send", `{"type":"event","payload":{"website":"ann@example.org","url":"/"}}`, "X-Forwarded-For", "81.2.69.142")
	f.send("POST", "/api/event", `{"u":"https://shop.example.com/?email=ann@example.org"}`, "X-Forwarded-For", "81.2.69.142")
	f.flushDrops(context.Background())
	samples := 0
	for _, d := range log.last {
		for _, sample := range d.Samples {
			samples++
			if strings.Contains(sample.Detail, "ann") || strings.Contains(sample.Detail, "81.2") {
				t.Errorf("got %q", sample.Detail)
			}
		}
	}
	if samples == 0 {
		t.Error("no samples")
	}
}

func TestWithoutTheTopicMemoryIsBounded(t *testing.T) {
	f := start(t, nil)
	for minute := range 500 {
		f.drops.add(1, reasonInvalid, 1, testNow.Add(time.Duration(minute-500)*time.Minute), DroppedHit{})
	}
	f.flushDrops(context.Background())
	if len(f.drops.cells) > 61 {
		t.Errorf("%d numbers", len(f.drops.cells))
	}
	if specs := Topics(); len(specs) != 1 || specs[0].Name != TopicDropped || *specs[0].Configs["cleanup.policy"] != "delete" {
		t.Errorf("got %+v", specs)
	}
}
