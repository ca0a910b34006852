package cmd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/internal/testkit"
)

// The delivery modes of a log, each with a consumer that dies between reading and its next step, and a node that is killed:
// TestAtLeastOnceAcrossKills and TestAtMostOnceAcrossKills here, exactly once in TestTransactionsAcrossKills.

// mode is a producer and a consumer that go well together.
type mode struct {
	produce     []kgo.Opt
	commitFirst bool // before the records are worked on
}

// delivered is what became of the records of one run.
type delivered struct {
	acknowledged map[string]bool // by the node; for acks=0: handed to it
	worked       map[string]int  // how often the consumer has worked on each
	kills        int             // of the node
	deaths       int             // of the consumer
}

func TestAtLeastOnceAcrossKills(t *testing.T) {
	got := deliver(t, mode{produce: []kgo.Opt{kgo.RequiredAcks(kgo.AllISRAcks()), kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1)}})
	for r := range got.acknowledged {
		if got.worked[r] == 0 {
			t.Errorf("%s was acknowledged and never worked on, after %d kills and %d deaths", r, got.kills, got.deaths)
		}
	}
}

func TestAtMostOnceAcrossKills(t *testing.T) {
	got := deliver(t, mode{commitFirst: true, produce: []kgo.Opt{kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite(), kgo.RecordRetries(0)}})
	for r, n := range got.worked {
		if n > 1 {
			t.Errorf("%s was worked on %d times, after %d kills and %d deaths", r, n, got.kills, got.deaths)
		}
	}
	if len(got.worked) == 0 {
		t.Error("no record came through at all")
	}
}

// deliver sends and works on records until both node and consumer have died a few times, and then what is left.
func deliver(t *testing.T, m mode) delivered {
	t.Helper()
	if testing.Short() {
		t.Skip("kills a process for seconds")
	}
	n := testkit.StartNode(t, "")
	n.Run("", "topics", "create", "work", "--partitions", "3")
	got := delivered{acknowledged: make(map[string]bool), worked: make(map[string]int)}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()

	sending, stopSending := context.WithCancel(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { got.acknowledged = sendWork(sending, t, n.Kafka, m.produce) })
	finish := make(chan struct{})
	var worked atomic.Int64
	parts.Go(func() { got.worked, got.deaths = work(ctx, t, n.Kafka, m.commitFirst, &worked, finish) })
	addr := n.Kafka
	for ; got.kills < killRounds(t) && ctx.Err() == nil; got.kills++ {
		reach := worked.Load() + int64(200+rand.IntN(400)) // so that work is done between any two kills
		testkit.Wait(t, "work between two kills", time.Minute, func() bool { return worked.Load() >= reach })
		n.Kill()
		n.Restart("--kafka", addr)
	}
	stopSending()
	close(finish)
	parts.Wait()
	if ctx.Err() != nil {
		t.Fatal("not done in time")
	}
	t.Logf("%d sent, %d worked on, %d kills of the node, %d deaths of the consumer", len(got.acknowledged), len(got.worked), got.kills, got.deaths)
	if got.kills == 0 || got.deaths == 0 {
		t.Error("nobody died")
	}
	return got
}

// sendWork sends numbered records until ctx ends and returns those that were acknowledged.
func sendWork(ctx context.Context, t *testing.T, seed string, opts []kgo.Opt) map[string]bool {
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(seed), kgo.DefaultProduceTopic("work"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.MaxBufferedRecords(500))...)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer c.Close()
	var mu sync.Mutex
	acknowledged := make(map[string]bool)
	pace := time.NewTicker(200 * time.Microsecond)
	defer pace.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprint("record ", i)
		// The record outlives ctx: what was given away is waited for below.
		c.Produce(context.WithoutCancel(ctx), kgo.StringRecord(name), func(_ *kgo.Record, err error) {
			if err == nil {
				mu.Lock()
				acknowledged[name] = true
				mu.Unlock()
			}
		})
		<-pace.C
	}
	if err := c.Flush(context.WithoutCancel(ctx)); err != nil {
		t.Errorf("flush: %v", err)
	}
	return acknowledged
}

// work reads, commits and works on records, and dies now and then between two of those. Its successor has the same instance id, as a
// program that is started again. Once finish is closed it lives, until nothing is left.
func work(ctx context.Context, t *testing.T, seed string, commitFirst bool, worked *atomic.Int64, finish <-chan struct{}) (done map[string]int, deaths int) {
	done = make(map[string]int)
	for ctx.Err() == nil {
		life := new(lifeline)
		c, err := kgo.NewClient(kgo.SeedBrokers(seed), kgo.ConsumerGroup("workers"), kgo.InstanceID("the one"), kgo.ConsumeTopics("work"), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.Dialer(life.dial), kgo.SessionTimeout(6*time.Second))
		if err != nil {
			t.Error(err)
			return done, deaths
		}
		over := workWith(ctx, c, commitFirst, done, worked, finish)
		life.cut()
		c.Close()
		if over {
			return done, deaths
		}
		deaths++
	}
	return done, deaths
}

// workWith returns true when finish is closed and all records are committed, and false to die.
func workWith(ctx context.Context, c *kgo.Client, commitFirst bool, done map[string]int, worked *atomic.Int64, finish <-chan struct{}) (over bool) {
	dieAfter := 2 + rand.IntN(6)
	for polls := 0; ctx.Err() == nil; {
		poll, cancel := context.WithTimeout(ctx, 3*time.Second)
		fetches := c.PollRecords(poll, 50)
		cancel()
		if fetches.NumRecords() == 0 {
			select {
			case <-finish:
				if lagOf(ctx, c) == 0 {
					return true
				}
			default:
			}
			continue
		}
		polls++
		ending := false
		select {
		case <-finish:
			ending = true
		default:
		}
		do := func() {
			fetches.EachRecord(func(r *kgo.Record) { done[string(r.Value)]++; worked.Add(1) })
		}
		if !commitFirst {
			do()
		}
		if !ending && polls > dieAfter && !commitFirst {
			return false
		}
		commit, cancel := context.WithTimeout(ctx, 20*time.Second)
		err := c.CommitRecords(commit, fetches.Records()...)
		cancel()
		if err != nil {
			return false // a consumer that can't commit starts again from what is committed
		}
		if commitFirst {
			if !ending && polls > dieAfter {
				return false
			}
			do()
		}
	}
	return false
}

// lagOf is how many records the group has not committed, -1 when that can't be known at the moment.
func lagOf(ctx context.Context, c *kgo.Client) int64 {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	lags, err := kadm.NewClient(c).Lag(ctx, "workers")
	of := lags["workers"]
	if err != nil || of.Error() != nil {
		return -1
	}
	return of.Lag.Total()
}

// lifeline dials for a client until it is cut: then no byte of that client reaches anybody, as if its process were gone.
type lifeline struct {
	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

var errDead = errors.New("the process is gone")

func (l *lifeline) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.dead {
		c.Close()
		err = errDead
	}
	if err != nil {
		return nil, err
	}
	l.conns = append(l.conns, c)
	return c, nil
}

func (l *lifeline) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	for _, c := range l.conns {
		c.Close()
	}
}
