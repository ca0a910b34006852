package ingest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-analytics/weir/ingest/hit"
)

// slowLog is an Appender that takes its time, and knows how many writes are under way.
type slowLog struct {
	takes   func(partition int32, attempt int) (time.Duration, error)
	mu      sync.Mutex
	tries   map[int32]int
	writing int
	most    int
	batches int
}

func (l *slowLog) Append(ctx context.Context, _ string, partition int32, _ []Record) (int64, error) {
	l.mu.Lock()
	l.writing++
	l.most = max(l.most, l.writing)
	l.batches++
	l.tries[partition]++
	takes, err := l.takes(partition, l.tries[partition])
	l.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		err = ErrOutcomeUnknown
	}
	l.mu.Lock()
	l.writing--
	l.mu.Unlock()
	return 0, err
}

// onSlowLog runs a test against the partitions of a queue in virtual time.
func onSlowLog(t *testing.T, takes func(partition int32, attempt int) (time.Duration, error), test func(l *slowLog, parts []*partition)) {
	synctest.Test(t, func(t *testing.T) {
		l := &slowLog{takes: takes, tries: map[int32]int{}}
		cfg := Default()
		cfg.Appender = l
		q := newQueue(&cfg, newMetrics(&cfg, new(atomic.Int64)), "test", nil)
		parts, err := q.partitions(testState())
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { q.run(ctx); close(ended) }()
		test(l, parts)
		stop()
		<-ended
	})
}

// written queues a hit and returns how long it took until it was committed.
func written(t *testing.T, p *partition) time.Duration {
	began := time.Now()
	b, err := p.add(&hit.Hit{SiteID: 1}, sourceEvent, anyFailures, false)
	if err != nil {
		t.Error(err)
		return 0
	}
	p.flush()
	if <-b.done; b.err != nil {
		t.Error(b.err)
	}
	return time.Since(began)
}

func TestFewPartitionsWriteAtATime(t *testing.T) {
	const senders, each = 64, 50
	takes := func(int32, int) (time.Duration, error) { return time.Millisecond, nil }
	onSlowLog(t, takes, func(l *slowLog, parts []*partition) {
		var wg sync.WaitGroup
		for n := range senders {
			wg.Go(func() {
				for range each {
					written(t, parts[n%len(parts)])
				}
			})
		}
		wg.Wait()
		if l.most > turnsAtOnce {
			t.Errorf("%d partitions wrote at a time, want at most %d", l.most, turnsAtOnce)
		}
		if mean := senders * each / l.batches; mean < 7 {
			t.Errorf("%d hits in a batch of 8 senders, want nearly all of them", mean)
		}
	})
}

func TestAHitThatComesAloneDoesNotWait(t *testing.T) {
	takes := func(int32, int) (time.Duration, error) { return time.Millisecond, nil }
	onSlowLog(t, takes, func(_ *slowLog, parts []*partition) {
		if took := written(t, parts[3]); took != time.Millisecond {
			t.Errorf("committed after %s, want what the append takes", took)
		}
	})
}

func TestPartitionsThatHangHoldNobodyUp(t *testing.T) {
	takes := func(partition int32, _ int) (time.Duration, error) {
		if partition < turnsAtOnce {
			return 3 * time.Second, nil
		}
		return time.Millisecond, nil
	}
	onSlowLog(t, takes, func(_ *slowLog, parts []*partition) {
		var wg sync.WaitGroup
		for n := range turnsAtOnce {
			wg.Go(func() { written(t, parts[n]) })
		}
		synctest.Wait()
		if took := written(t, parts[5]); took > turnWait+time.Millisecond {
			t.Errorf("committed after %s while two others hang", took)
		}
		wg.Wait()
		for range 2 { // once they are known to be slow they take no turn
			for n := range turnsAtOnce {
				wg.Go(func() { written(t, parts[n]) })
			}
			synctest.Wait()
			if took := written(t, parts[5]); took != time.Millisecond {
				t.Errorf("committed after %s while two others are slow", took)
			}
			wg.Wait()
		}
	})
}

func TestAPartitionThatIsTriedAgainHoldsNoTurn(t *testing.T) {
	takes := func(partition int32, attempt int) (time.Duration, error) {
		if partition < turnsAtOnce && attempt < 8 {
			return 0, ErrNotWritten
		}
		return time.Millisecond, nil
	}
	onSlowLog(t, takes, func(_ *slowLog, parts []*partition) {
		var wg sync.WaitGroup
		for n := range turnsAtOnce {
			wg.Go(func() { written(t, parts[n]) })
		}
		synctest.Wait()
		if took := written(t, parts[5]); took != time.Millisecond {
			t.Errorf("committed after %s while two others are tried again", took)
		}
		wg.Wait()
	})
}
