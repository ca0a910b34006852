package ingest

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-analytics/weir/raftfsm/state"
)

type discard struct{}

func (discard) Append(context.Context, string, int32, []Record) (int64, error) { return 0, nil }

const pageview = `{"n":"pageview","u":"https://shop.example.com/"}`

func TestHitsThatCameTogetherAreWrittenTogether(t *testing.T) {
	f := start(t, nil)
	f.log.gate = make(chan struct{}, 100)
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if w := f.send("POST", "/api/event", pageview); w.Code != 202 {
				t.Errorf("got %d", w.Code)
			}
		})
	}
	for len(f.log.hits()) < 200 {
		select {
		case f.log.gate <- struct{}{}:
		default: // enough are waiting; sending one more would block for ever once all hits are written
			runtime.Gosched()
		}
	}
	wg.Wait()
	if f.log.batches > 150 {
		t.Errorf("%d batches for 200 hits of one visitor", f.log.batches)
	}
}

func TestSequencesGrowWithinAPartition(t *testing.T) {
	f := start(t, nil)
	var wg sync.WaitGroup
	for n := range 300 {
		wg.Go(func() { f.send("POST", "/api/event", pageview, "X-Forwarded-For", fmt.Sprintf("81.2.%d.1", n%9)) })
	}
	wg.Wait()
	for number, hits := range f.log.parts {
		last := uint64(0)
		for _, h := range hits {
			if h.ID.Seq <= last {
				t.Fatalf("partition %d: %d after %d", number, h.ID.Seq, last)
			}
			last = h.ID.Seq
		}
	}
}

func TestARefusedWriteIsTriedAgain(t *testing.T) {
	f := start(t, nil)
	f.log.fail = func(_ int32, attempt int) error {
		if attempt == 1 {
			return fmt.Errorf("electing: %w", ErrNotWritten)
		}
		return nil
	}
	if w := f.send("POST", "/api/event", pageview); w.Code != 202 || len(f.log.hits()) != 1 {
		t.Errorf("got %d, %d hits", w.Code, len(f.log.hits()))
	}
}

func TestTheAnswerTellsNotWrittenFromUnknown(t *testing.T) {
	for name, test := range map[string]struct {
		err           error
		want, dropped string
	}{
		"not written": {ErrNotWritten, "nothing was written", "not-written"},
		"unknown":     {ErrOutcomeUnknown, "cannot tell", "write-unknown"},
		"anything":    {errors.New("odd"), "cannot tell", "write-unknown"},
	} {
		f := start(t, nil)
		f.log.fail = func(int32, int) error { return test.err }
		w := f.send("POST", "/api/event", pageview)
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), test.want) || w.Header().Get("X-Weir-Dropped") != test.dropped {
			t.Errorf("%s: got %d %s %v", name, w.Code, w.Body, w.Header())
		}
		if status, a := postClicks(t, f, `{"link":"a","host":"s.example.com"}`); status != 503 || a.Accepted != 0 || a.Error == nil {
			t.Errorf("%s: clicks: got %d %+v", name, status, a)
		}
	}
}

func TestABatchWrittenInPartIsNotCalledUnwritten(t *testing.T) {
	f := start(t, nil)
	f.log.fail = func(partition int32, _ int) error {
		if partition == 3 {
			return ErrNotWritten
		}
		return nil
	}
	var lines strings.Builder
	for i := range 64 { // visitors enough for every partition
		fmt.Fprintf(&lines, `{"link":"a","host":"s.example.com","ip":"192.0.2.%d"}`+"\n", i)
	}
	w := f.send("POST", "/api/clicks", lines.String())
	if n := len(f.log.hits()); n == 0 || n == 64 {
		t.Fatalf("%d of 64 clicks were written, want a part", n)
	}
	if w.Code != 503 || w.Header().Get("X-Weir-Dropped") != "write-unknown" {
		t.Errorf("got %d %s %s", w.Code, w.Header().Get("X-Weir-Dropped"), w.Body)
	}
}

func TestAStoppedPartitionRefusesAtOnce(t *testing.T) {
	f := start(t, func(c *Config) { c.AppendTimeout = time.Hour })
	f.log.fail = func(int32, int) error { return fmt.Errorf("disk: %w", ErrRefused) }
	for range 3 {
		if w := f.send("POST", "/api/event", pageview); w.Code != 503 || w.Header().Get("X-Weir-Dropped") != "not-written" {
			t.Errorf("got %d %v", w.Code, w.Header())
		}
	}
	f.log.fail = func(_ int32, try int) error { // it was not said what became of the first attempt
		if try == 4 {
			return ErrOutcomeUnknown
		}
		if try < 7 {
			return ErrRefused
		}
		return nil
	}
	if w := f.send("POST", "/api/event", pageview); w.Code != 202 {
		t.Errorf("got %d %v", w.Code, w.Header())
	}
}

func TestAFullQueueRefuses(t *testing.T) {
	f := start(t, func(c *Config) { c.QueueBytes = 1 << 20; c.AppendTimeout = time.Minute })
	f.log.gate = make(chan struct{})
	line := `{"link":"a","host":"s.example.com","ua":"` + chrome + `","dest":"https://shop.example.com/` + strings.Repeat("x", 900) + `"}` + "\n"
	w := f.send("POST", "/api/clicks?ack=none", strings.Repeat(line, 2000))
	// Clicks before the one that was refused are queued and will be written: nobody may say that nothing was.
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "write-unknown") {
		t.Errorf("clicks that fill the queue: got %d %s", w.Code, w.Body)
	}
	if w := f.send("POST", "/api/clicks", line); w.Code != 503 || !strings.Contains(w.Body.String(), "queue-full") {
		t.Errorf("clicks while the queue is full: got %d %s", w.Code, w.Body)
	}
	if w := f.send("POST", "/api/event", pageview); w.Code != 503 || w.Header().Get("X-Weir-Dropped") != "queue-full" {
		t.Errorf("event: got %d %v", w.Code, w.Header())
	}
	close(f.log.gate)
	for deadline := time.Now().Add(5 * time.Second); f.send("POST", "/api/event", pageview).Code != 202; {
		if time.Now().After(deadline) {
			t.Fatal("still refused after the log takes hits again")
		}
	}
}

func TestWhatIsBehindAFailedBatchFailsToo(t *testing.T) {
	f := start(t, func(c *Config) { c.AppendTimeout = 50 * time.Millisecond })
	f.log.gate = make(chan struct{})
	codes := make(chan int, 20)
	var wg sync.WaitGroup
	for range 20 { // one visitor: one partition
		wg.Go(func() { codes <- f.send("POST", "/api/event", pageview).Code })
	}
	wg.Wait()
	for range 20 {
		if code := <-codes; code != 503 {
			t.Errorf("got %d", code)
		}
	}
	if n := len(f.log.hits()); n != 0 {
		t.Errorf("%d hits written behind a gap", n)
	}
}

func TestAStopWritesWhatIsQueuedAndRefusesTheRest(t *testing.T) {
	f := start(t, func(c *Config) { c.AppendTimeout = time.Minute })
	f.log.gate = make(chan struct{}, 1000)
	if w := f.send("POST", "/api/event?ack=none", pageview); w.Code != 202 {
		t.Fatalf("got %d", w.Code)
	}
	for range 100 {
		f.log.gate <- struct{}{}
	}
	f.stop()
	if n := len(f.log.hits()); n != 1 {
		t.Errorf("%d hits", n)
	}
	if w := f.send("POST", "/api/event", pageview); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("after the stop: got %d", w.Code)
	}
}

func TestBeforeTheTopicExistsHitsAreRefused(t *testing.T) {
	s := testState("shop.example.com")
	s.Topics = map[string]state.Topic{}
	f := start(t, func(c *Config) { c.Sites = fixedSites{s} })
	if w := f.send("POST", "/api/event", pageview); w.Code != 503 || !strings.Contains(w.Body.String(), "starting") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestASenderThatLeavesGetsNoAnswerAndKeepsItsHit(t *testing.T) {
	f := start(t, func(c *Config) { c.AppendTimeout = time.Minute })
	f.log.gate = make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(context.Background())
	r := httptest.NewRequest("POST", "/api/event", strings.NewReader(pageview)).WithContext(ctx)
	cancel()
	f.record(r)
	f.log.gate <- struct{}{}
	f.stop()
	if n := len(f.log.hits()); n != 1 {
		t.Errorf("%d hits", n)
	}
}

func TestWrongLimitsAreNamed(t *testing.T) {
	cfg := Default()
	if err := cfg.Validate(); err == nil {
		t.Error("no Sites and no Appender were taken")
	}
	cfg.Sites, cfg.Appender = fixedSites{testState()}, discard{}
	cfg.QueueBytes = 5
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "queue bytes is 5, allowed is 1048576 to") {
		t.Errorf("got %v", err)
	}
}

func TestAgentsAreBounded(t *testing.T) {
	var c agents
	for n := range 100_000 {
		c.get(fmt.Appendf(nil, "Mozilla/5.0 (X11; Linux x86_64; rv:%d.0) Gecko/20100101 Firefox/%d.0", n, n))
	}
	kept := 0
	for i := range c.shards {
		kept += len(c.shards[i].young) + len(c.shards[i].old)
	}
	if kept > 16*2*shardAgents {
		t.Errorf("%d agents are kept", kept)
	}
	a := c.get([]byte(chrome))
	if a != c.get([]byte(chrome)) || a.Browser != "Chrome" || a.botKind != "" {
		t.Errorf("got %+v", a)
	}
}
