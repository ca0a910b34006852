package broker

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// bothVersions runs fn with options that make franz-go use version 1 and 2 of transactions.
func bothVersions(t *testing.T, fn func(t *testing.T, opts ...kgo.Opt)) {
	t.Run("version1", func(t *testing.T) { fn(t, kgo.MaxVersions(kversion.V3_7_0())) })
	t.Run("version2", func(t *testing.T) { fn(t) })
}

func producerOf(t *testing.T, b *Broker, id string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return client(t, b, append([]kgo.Opt{kgo.TransactionalID(id), kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
}

// transact produces values in one transaction, to partition 0 and 1 in turn, and ends it.
func transact(t *testing.T, p *kgo.Client, end kgo.TransactionEndTry, values ...string) {
	t.Helper()
	if err := p.BeginTransaction(); err != nil {
		t.Fatalf("begin: %v", err)
	}
	write(t, p, values...)
	if err := p.EndTransaction(within(t), end); err != nil {
		t.Fatalf("end: %v", err)
	}
}

func write(t *testing.T, p *kgo.Client, values ...string) {
	t.Helper()
	var recs []*kgo.Record
	for i, v := range values {
		recs = append(recs, &kgo.Record{Value: []byte(v), Partition: int32(i % 2)})
	}
	if err := p.ProduceSync(within(t), recs...).FirstErr(); err != nil {
		t.Fatalf("produce: %v", err)
	}
}

// committed reads n records as a reader of committed ones does and checks that no other follows.
func committed(t *testing.T, b *Broker, topic string, n int) map[string]int {
	t.Helper()
	c := client(t, b, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	got := map[string]int{}
	for _, r := range poll(t, c, n) {
		got[string(r.Value)]++
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for _, r := range c.PollFetches(ctx).Records() {
		t.Errorf("more records than expected: %q", r.Value)
	}
	return got
}

func wantValues(t *testing.T, got map[string]int, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for _, v := range want {
		if got[v] != 1 {
			t.Errorf("%q was read %d times", v, got[v])
		}
	}
}

func describeTxn(t *testing.T, b *Broker, id string) kadm.DescribedTransaction {
	t.Helper()
	all, err := kadm.NewClient(client(t, b)).DescribeTransactions(within(t), id)
	if err != nil {
		t.Fatal(err)
	}
	return all[id]
}

func waitForTxn(t *testing.T, b *Broker, id, want string) kadm.DescribedTransaction {
	t.Helper()
	var d kadm.DescribedTransaction
	eventually(t, "the transaction to be "+want, func() bool { d = describeTxn(t, b, id); return d.State == want })
	return d
}

func TestCommittedTransactionsAreReadAndAbortedOnesAreNot(t *testing.T) {
	bothVersions(t, func(t *testing.T, opts ...kgo.Opt) {
		b, _ := start(t, nil)
		createTopic(t, b, "t", 2)
		p := producerOf(t, b, "tx", opts...)
		transact(t, p, kgo.TryCommit, "a", "b")
		transact(t, p, kgo.TryAbort, "c", "d")
		transact(t, p, kgo.TryCommit, "e", "f", "g")
		wantValues(t, committed(t, b, "t", 5), "a", "b", "e", "f", "g")
		d := waitForTxn(t, b, "tx", "CompleteCommit")
		wantEpoch := int16(3)
		if len(opts) > 0 {
			wantEpoch = 0
		}
		if d.ProducerEpoch != wantEpoch {
			t.Errorf("epoch %d after three transactions, want %d", d.ProducerEpoch, wantEpoch)
		}
	})
}

func TestAZombieIsFenced(t *testing.T) {
	bothVersions(t, func(t *testing.T, opts ...kgo.Opt) {
		b, _ := start(t, nil)
		createTopic(t, b, "t", 2)
		old := producerOf(t, b, "tx", opts...)
		if err := old.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		write(t, old, "lost", "lost too")
		transact(t, producerOf(t, b, "tx", opts...), kgo.TryCommit, "kept")
		err := old.EndTransaction(within(t), kgo.TryCommit)
		if !errors.Is(err, kerr.ProducerFenced) && !errors.Is(err, kerr.InvalidProducerEpoch) && !errors.Is(err, kerr.InvalidProducerIDMapping) {
			t.Errorf("a zombie commits: %v", err)
		}
		wantValues(t, committed(t, b, "t", 1), "kept")
	})
}

func TestATransactionThatTakesTooLongHoldsNobodyUp(t *testing.T) {
	bothVersions(t, func(t *testing.T, opts ...kgo.Opt) {
		b, _ := start(t, nil)
		createTopic(t, b, "t", 2)
		slow := producerOf(t, b, "slow", append(opts, kgo.TransactionTimeout(time.Second))...)
		if err := slow.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		write(t, slow, "too", "late")
		transact(t, producerOf(t, b, "fast", opts...), kgo.TryCommit, "in time")
		wantValues(t, committed(t, b, "t", 1), "in time")
		waitForTxn(t, b, "slow", "CompleteAbort")
		if err := slow.EndTransaction(within(t), kgo.TryCommit); err == nil {
			t.Error("a transaction was committed after it was aborted")
		}
	})
}

func TestATransactionSurvivesARestart(t *testing.T) {
	bothVersions(t, func(t *testing.T, opts ...kgo.Opt) {
		dir, ctl := t.TempDir(), newController(t)
		b := startIn(t, dir, ctl, nil)
		createTopic(t, b, "t", 2)
		addr := b.Addr().String()
		p := producerOf(t, b, "tx", append(opts, kgo.RetryTimeout(20*time.Second))...)
		transact(t, p, kgo.TryCommit, "a")
		if err := p.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		write(t, p, "b", "c")
		stopNow(b)
		b = startIn(t, dir, ctl, func(c *Config) { c.Listeners = []Listener{Plaintext(addr)} })
		write(t, p, "d", "e")
		if err := p.EndTransaction(within(t), kgo.TryCommit); err != nil {
			t.Fatalf("end after the restart: %v", err)
		}
		wantValues(t, committed(t, b, "t", 5), "a", "b", "c", "d", "e")
	})
}

// Records are copied from one topic to another by two members of a group that leave and come in the middle: each arrives once.
func TestConsumeTransformProduceIsExactlyOnce(t *testing.T) {
	bothVersions(t, func(t *testing.T, opts ...kgo.Opt) {
		const n = 400
		b, _ := start(t, nil)
		createTopic(t, b, "in", 4)
		createTopic(t, b, "out", 2)
		feed := client(t, b, kgo.DefaultProduceTopic("in"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
		for i := range n {
			feed.Produce(t.Context(), &kgo.Record{Value: fmt.Appendf(nil, "r%d", i)}, nil)
		}
		if err := feed.Flush(within(t)); err != nil {
			t.Fatal(err)
		}
		copied := 0
		for life := range 4 {
			copied += copySome(t, b, life, (life+1)*n/4-copied, opts...)
		}
		got := committed(t, b, "out", n)
		for i := range n {
			if c := got[fmt.Sprintf("r%d", i)]; c != 1 {
				t.Errorf("r%d arrived %d times", i, c)
			}
		}
	})
}

// copySome copies until at least n records are committed by this life, aborting every third transaction, and says how many.
func copySome(t *testing.T, b *Broker, life, n int, opts ...kgo.Opt) (done int) {
	t.Helper()
	s, err := kgo.NewGroupTransactSession(append([]kgo.Opt{
		kgo.SeedBrokers(b.Addr().String()), kgo.TransactionalID(fmt.Sprintf("copy-%d", life%2)), kgo.ConsumerGroup("copy"), kgo.ConsumeTopics("in"),
		kgo.DefaultProduceTopic("out"), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxBytes(2000), kgo.MaxConcurrentFetches(1),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := within(t)
	for round := 0; done < n; round++ {
		fetches := s.PollRecords(ctx, 30)
		if err := fetches.Err(); err != nil {
			t.Fatalf("life %d, after %d records: %v", life, done, err)
		}
		if err := s.Begin(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { s.Produce(ctx, &kgo.Record{Value: r.Value}, nil) })
		ok, err := s.End(ctx, kgo.TransactionEndTry(round%3 != 2))
		if err != nil {
			t.Fatalf("life %d: end: %v", life, err)
		}
		if ok {
			done += fetches.NumRecords()
		}
	}
	return done
}

func TestAnAdministratorSeesAndEndsTransactions(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 2)
	p := producerOf(t, b, "tx")
	if err := p.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	write(t, p, "a", "b")
	adm := kadm.NewClient(client(t, b))
	listed, err := adm.ListTransactions(within(t), nil, nil)
	if err != nil || listed["tx"].State != "Ongoing" {
		t.Fatalf("listed %v, %v", listed, err)
	}
	d := describeTxn(t, b, "tx")
	if d.State != "Ongoing" || len(d.Topics["t"]) != 2 {
		t.Errorf("described as %+v", d)
	}
	// Looking for hanging transactions asks all partitions, also those of coordinators that were not needed yet.
	all := kmsg.NewPtrDescribeProducersRequest()
	for n := range int32(50) {
		all.Topics = append(all.Topics, kmsg.DescribeProducersRequestTopic{Topic: "__transaction_state", Partitions: []int32{n}})
	}
	found, err := all.RequestWith(within(t), client(t, b))
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range found.Topics {
		if p := topic.Partitions[0]; p.ErrorCode != 0 {
			t.Errorf("producers of partition %d of %s: %v", p.Partition, topic.Topic, kerr.ErrorForCode(p.ErrorCode))
		}
	}
	marked, err := adm.WriteTxnMarkers(within(t), kadm.TxnMarkers{
		ProducerID: d.ProducerID, ProducerEpoch: d.ProducerEpoch, Topics: kadm.TopicsSet{"t": {0: {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	parts := marked[d.ProducerID].Topics["t"].Partitions
	if parts[0].Err != nil {
		t.Errorf("marker: %v", parts[0].Err)
	}
	stable, err := adm.ListCommittedOffsets(within(t), "t")
	if err != nil {
		t.Fatal(err)
	}
	if freed, held := stable["t"][0].Offset, stable["t"][1].Offset; freed != 2 || held != 0 {
		t.Errorf("stable offsets %d and %d, want 2 where the transaction was aborted and 0 where it is open", freed, held)
	}

	fence := kmsg.NewPtrInitProducerIDRequest()
	fence.TransactionalID, fence.TransactionTimeoutMillis = kmsg.StringPtr("tx"), 1000
	resp, err := fence.RequestWith(within(t), client(t, b))
	if err != nil || resp.ErrorCode != 0 {
		t.Fatalf("fence: %v, code %d", err, resp.ErrorCode)
	}
	if err := p.EndTransaction(within(t), kgo.TryCommit); err == nil {
		t.Error("a fenced producer commits")
	}
	waitForTxn(t, b, "tx", "Empty")
}

func TestOffsetsOfAnOpenTransactionAreUnstable(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 2)
	adm := kadm.NewClient(client(t, b))
	p := producerOf(t, b, "tx")
	if err := p.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	write(t, p, "a")
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.Group = "tx", "g"
	commit.ProducerID, commit.ProducerEpoch, _ = p.ProducerID(within(t))
	commit.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Partition: 0, Offset: 7, LeaderEpoch: -1}}}}
	commit.Generation = -1
	raw := client(t, b, kgo.MaxVersions(kversion.V4_0_0()))
	resp, err := commit.RequestWith(within(t), raw)
	if err != nil || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatalf("TxnOffsetCommit: %v, %+v", err, resp)
	}
	fetch := func() kmsg.OffsetFetchResponseGroupTopicPartition {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.RequireStable = true
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group, g.Topics = "g", []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", Partitions: []int32{0}}}
		req.Groups = []kmsg.OffsetFetchRequestGroup{g}
		resp, err := req.RequestWith(within(t), raw)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Groups[0].Topics[0].Partitions[0]
	}
	if got := fetch(); got.ErrorCode != kerr.UnstableOffsetCommit.Code {
		t.Errorf("with the transaction open: %+v, want UNSTABLE_OFFSET_COMMIT", got)
	}
	if err := p.EndTransaction(within(t), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	waitForTxn(t, b, "tx", "CompleteCommit")
	if got := fetch(); got.ErrorCode != 0 || got.Offset != 7 {
		t.Errorf("after the commit: %+v, want offset 7", got)
	}
	offsets, err := adm.FetchOffsets(within(t), "g")
	if o, ok := offsets.Lookup("t", 0); err != nil || !ok || o.At != 7 {
		t.Errorf("offset %v, %v", o.At, err)
	}
}
