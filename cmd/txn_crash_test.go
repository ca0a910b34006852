package cmd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/internal/testkit"
)

const movesTopic = "moves"

// moves is a producer's transactions: how many records each has, and what is known of its end.
type moves struct {
	id   string
	rng  *rand.Rand
	size map[string]int
	end  map[string]txnEnd
}

// txnEnd is what a producer knows of a transaction.
type txnEnd int

const (
	notCommitted txnEnd = iota // nobody ever asked to commit it
	unknownEnd                 // asked to commit it, and got no answer
	committedEnd
)

func transactional(t *testing.T, n *testkit.Node, id string) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(n.Kafka), kgo.TransactionalID(id), kgo.DefaultProduceTopic(movesTopic), kgo.MetadataMinAge(100*time.Millisecond),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RetryTimeout(3*time.Second), kgo.RecordDeliveryTimeout(3*time.Second), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run makes transactions, every third of which it aborts, until ctx ends or the node does not answer.
func (m *moves) run(ctx context.Context, c *kgo.Client, round int) {
	for i := 0; ctx.Err() == nil; i++ {
		name, size := fmt.Sprintf("%s-%d-%d", m.id, round, i), 1+m.rng.IntN(6)
		m.size[name], m.end[name] = size, notCommitted
		if c.BeginTransaction() != nil {
			return
		}
		recs := make([]*kgo.Record, size)
		for k := range recs {
			recs[k] = &kgo.Record{Value: []byte(name), Partition: m.rng.Int32N(3)}
		}
		if c.ProduceSync(ctx, recs...).FirstErr() != nil {
			return
		}
		try := kgo.TryCommit
		if i%3 == 2 {
			try = kgo.TryAbort
		} else {
			m.end[name] = unknownEnd
		}
		if c.EndTransaction(ctx, try) != nil {
			return
		}
		if try == kgo.TryCommit {
			m.end[name] = committedEnd
		}
	}
}

// Readers of committed records see each transaction whole or not at all after kill -9 under load: what was acknowledged as committed once,
// what was aborted or left open never.
func TestKillUnderTransactions(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a process for seconds")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	n := testkit.StartNode(t, "")
	createMoves(t, n)
	var all []*moves
	for i := range 4 {
		all = append(all, &moves{
			id: fmt.Sprint("mover", i), rng: rand.New(rand.NewPCG(seed, uint64(10+i))), size: map[string]int{}, end: map[string]txnEnd{},
		})
	}
	for round := range killRounds(t) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var clients []*kgo.Client
		for _, m := range all {
			c := transactional(t, n, m.id)
			clients = append(clients, c)
			wg.Go(func() { m.run(ctx, c, round) })
		}
		<-time.After(700*time.Millisecond + time.Duration(rng.Int64N(int64(1500*time.Millisecond))))
		n.Kill()
		cancel()
		for _, c := range clients { // what was sent once is tried for ever otherwise
			c.Close()
		}
		wg.Wait()
		n.Restart()
	}
	for _, m := range all { // whoever comes back under its id ends what it left open
		c := transactional(t, n, m.id)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, _, err := c.ProducerID(ctx); err != nil {
			t.Errorf("%s does not come back: %v", m.id, err)
		}
		cancel()
		c.Close()
	}
	committed, uncommitted := readMoves(t, n, kgo.ReadCommitted()), readMoves(t, n, kgo.ReadUncommitted())
	ended, aborted := 0, 0
	for _, m := range all {
		for name, size := range m.size {
			got := committed[name]
			switch end := m.end[name]; {
			case end == committedEnd && got != size:
				t.Errorf("transaction %s was committed with %d records, %d are read", name, size, got)
			case end == notCommitted && got != 0:
				t.Errorf("transaction %s was not committed, and %d of its %d records are read", name, got, size)
			case got != 0 && got != size:
				t.Errorf("transaction %s is read in part: %d of %d records", name, got, size)
			case end == committedEnd:
				ended++
			case end == notCommitted && uncommitted[name] == size:
				aborted++
			}
		}
	}
	t.Logf("%d transactions were committed, %d aborted", ended, aborted)
	if ended < 10 || aborted < 5 {
		t.Error("too few for a load")
	}
}

func createMoves(t *testing.T, n *testkit.Node) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(n.Kafka))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	small := "65536"
	if _, err := kadm.NewClient(c).CreateTopic(t.Context(), 3, -1, map[string]*string{"segment.bytes": &small}, movesTopic); err != nil {
		t.Fatal(err)
	}
}

// readMoves counts the records of every transaction, up to the end of all partitions.
func readMoves(t *testing.T, n *testkit.Node, level kgo.IsolationLevel) map[string]int {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(n.Kafka), kgo.ConsumeTopics(movesTopic), kgo.FetchIsolationLevel(level), kgo.KeepControlRecords())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	adm := kadm.NewClient(c)
	ends, err := adm.ListEndOffsets(ctx, movesTopic)
	if err != nil {
		t.Fatal(err)
	}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	testkit.Wait(t, "every transaction to end", 30*time.Second, func() bool {
		stable, err := adm.ListCommittedOffsets(ctx, movesTopic)
		if err != nil {
			return false
		}
		all := true
		stable.Each(func(o kadm.ListedOffset) { all = all && o.Offset >= left[o.Partition] })
		return all
	})
	count := map[string]int{}
	for len(left) > 0 {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("read with offsets %v still to come: %v", left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				count[strings.TrimSpace(string(r.Value))]++
			}
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return count
}
