package cmd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/internal/testkit"
)

// A program reads a topic and writes each record to another one, in transactions, and the node is killed again and again while they
// begin, run and end. When it is over each record is there once, and the group has read all of them.
func TestTransactionsAcrossKills(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a process for seconds")
	}
	n := testkit.StartNode(t, "")
	n.Run("", "topics", "create", "in", "--partitions", "3")
	n.Run("", "topics", "create", "out", "--partitions", "3")
	const records = 6000
	addr := n.Kafka // stays, so that clients find the node again
	feed(t, addr, records)

	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var copier sync.WaitGroup
	copier.Go(func() { copyInTransactions(ctx, t, addr, records) })
	done := make(chan struct{})
	go func() { copier.Wait(); close(done) }()
	kills := 0
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(time.Duration(300+rand.IntN(700)) * time.Millisecond):
			if kills == killRounds(t) {
				continue
			}
			n.Kill()
			n.Restart("--kafka", addr)
			kills++
		}
	}
	if kills == 0 {
		t.Error("all was copied before the first kill")
	}
	got := readCommitted(t, addr, records)
	for i := range records {
		if c := got[fmt.Sprint("r", i)]; c != 1 {
			t.Errorf("record %d is there %d times after %d kills", i, c, kills)
		}
	}
}

func feed(t *testing.T, seed string, records int) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(seed), kgo.DefaultProduceTopic("in"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range records {
		c.Produce(t.Context(), &kgo.Record{Value: fmt.Append(nil, "r", i)}, nil)
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// copyInTransactions copies until the records are committed. A session that fails is replaced, as a program that is started again.
func copyInTransactions(ctx context.Context, t *testing.T, seed string, records int) {
	for ctx.Err() == nil {
		s, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(seed), kgo.TransactionalID("copy"), kgo.ConsumerGroup("copy"), kgo.ConsumeTopics("in"),
			kgo.DefaultProduceTopic("out"), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(time.Second), kgo.RetryTimeout(20*time.Second))
		if err != nil {
			t.Error(err)
			return
		}
		finished, err := copyWith(ctx, s, records)
		s.Close()
		if finished {
			return
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Logf("the copier starts again: %v", err)
		}
	}
	t.Error("not everything was copied in time")
}

// copyWith copies until the offsets that the session has committed say that everything is.
func copyWith(ctx context.Context, s *kgo.GroupTransactSession, records int) (finished bool, err error) {
	for {
		poll, cancel := context.WithTimeout(ctx, time.Second)
		fetches := s.PollRecords(poll, 100)
		cancel()
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if fetches.NumRecords() == 0 {
			if committedOf(s) == records {
				return true, nil
			}
			continue
		}
		if err := s.Begin(); err != nil {
			return false, err
		}
		fetches.EachRecord(func(r *kgo.Record) { s.Produce(ctx, &kgo.Record{Value: r.Value}, nil) })
		if _, err := s.End(ctx, kgo.TryCommit); err != nil {
			return false, err
		}
	}
}

func committedOf(s *kgo.GroupTransactSession) (n int) {
	for _, o := range s.Client().CommittedOffsets()["in"] {
		n += int(max(o.Offset, 0))
	}
	return n
}

// readCommitted reads all records of "out" as those do who read committed ones only, and fails when more than n come.
func readCommitted(t *testing.T, seed string, n int) map[string]int {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(seed), kgo.ConsumeTopics("out"), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := map[string]int{}
	total := 0
	for {
		patience := time.Minute
		if total >= n {
			patience = time.Second // for one too many
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		fetches := c.PollFetches(ctx)
		cancel()
		if fetches.NumRecords() == 0 {
			if total != n {
				t.Errorf("read %d records, want %d", total, n)
			}
			return got
		}
		fetches.EachRecord(func(r *kgo.Record) { got[string(r.Value)]++; total++ })
	}
}
