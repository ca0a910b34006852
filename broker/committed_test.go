package broker

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/broker/wire"
)

// verifier is a coordinator that gives one answer and keeps what it was asked.
type verifier struct {
	mu     sync.Mutex
	answer *kerr.Error
	asked  []string
	before func(add bool) // called while it is asked
}

func (v *verifier) Verify(_ context.Context, id string, producer int64, epoch int16, topic string, partition int32, add bool) *kerr.Error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked = append(v.asked, fmt.Sprint(id, " ", producer, " ", epoch, " ", topic, " ", partition, " ", add))
	if v.before != nil {
		v.before(add)
	}
	return v.answer
}

func verifiedHandler(t *testing.T, b *Broker) (*api.Handler, *verifier) {
	t.Helper()
	v := &verifier{}
	cfg := api.Default()
	cfg.Transactions = v
	h, err := api.New(cfg, backend{b}, b.groups, b.txns)
	if err != nil {
		t.Fatal(err)
	}
	return h, v
}

// txnBatch is one record of a producer's transaction.
func txnBatch(t *testing.T, id int64, epoch int16, seq int32, value string) []byte {
	t.Helper()
	b := record.NewBuilder(record.None)
	b.SetProducer(id, epoch, seq)
	b.SetTransactional()
	b.Append(record.Record{Value: []byte(value), TimestampMs: time.Now().UnixMilli()})
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// produceTxn asks to append batches, the n-th to partition n of "t".
func produceTxn(t *testing.T, h *api.Handler, version int16, id *string, batches ...[]byte) []kmsg.ProduceResponseTopicPartition {
	t.Helper()
	q := kmsg.NewPtrProduceRequest()
	q.Version, q.Acks, q.TimeoutMillis, q.TransactionID = version, -1, 10000, id
	qt := kmsg.NewProduceRequestTopic()
	qt.Topic = "t"
	for n, b := range batches {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(n), b
		qt.Partitions = append(qt.Partitions, p)
	}
	q.Topics = append(q.Topics, qt)
	return ask(t, h, q).(*kmsg.ProduceResponse).Topics[0].Partitions
}

func partitionOf(t *testing.T, b *Broker, n int32) api.Partition {
	t.Helper()
	p, ok := b.view.Load().ByName["t"].Partition(n)
	if !ok {
		t.Fatalf("no partition %d", n)
	}
	return p
}

func endOf(t *testing.T, b *Broker, n int32, id int64, epoch int16, commit bool) {
	t.Helper()
	m := replica.Marker{ProducerID: id, ProducerEpoch: epoch, Commit: commit, CoordinatorEpoch: 1}
	if err := partitionOf(t, b, n).AppendMarker(within(t), m); err != nil {
		t.Fatal(err)
	}
}

func TestProduceInTransactions(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 2)
	h, v := verifiedHandler(t, b)
	id := "app"
	next := int64(100)
	control := func() []byte {
		b := replica.Marker{ProducerID: 5, Commit: true}.Build(time.Now().UnixMilli())
		return b
	}
	for _, c := range []struct {
		name    string
		version int16
		id      *string
		batches func() [][]byte
		answer  *kerr.Error
		want    []*kerr.Error
	}{
		{"without a transactional id", 9, nil, func() [][]byte { return [][]byte{txnBatch(t, next, 0, 0, "x"), batchOf(t)} }, nil,
			[]*kerr.Error{kerr.TransactionalIDAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed}},
		{"of two producers", 9, &id, func() [][]byte { return [][]byte{txnBatch(t, next, 0, 0, "x"), txnBatch(t, next+1, 0, 0, "x")} }, nil,
			[]*kerr.Error{kerr.InvalidProducerIDMapping, kerr.InvalidProducerIDMapping}},
		{"a marker from a client", 9, &id, func() [][]byte { return [][]byte{control()} }, nil, []*kerr.Error{kerr.InvalidRecord}},
		{"a marker without a transactional id", 9, nil, func() [][]byte { return [][]byte{control()} }, nil, []*kerr.Error{kerr.InvalidRecord}},
		{"not enlisted", 9, &id, func() [][]byte { return [][]byte{txnBatch(t, next, 0, 0, "x")} }, kerr.InvalidTxnState, []*kerr.Error{kerr.InvalidTxnState}},
		{"abortable, an old client", 10, &id, func() [][]byte { return [][]byte{txnBatch(t, next, 0, 0, "x")} }, kerr.TransactionAbortable, []*kerr.Error{kerr.InvalidTxnState}},
		{"abortable", 11, &id, func() [][]byte { return [][]byte{txnBatch(t, next, 0, 0, "x")} }, kerr.TransactionAbortable, []*kerr.Error{kerr.TransactionAbortable}},
		{"fenced", 12, &id, func() [][]byte { return [][]byte{txnBatch(t, next, 0, 0, "x")} }, kerr.ProducerFenced, []*kerr.Error{kerr.InvalidProducerEpoch}},
		{"the one before ends, an old client", 9, &id, func() [][]byte { return [][]byte{txnBatch(t, next, 0, 0, "x")} }, kerr.ConcurrentTransactions, []*kerr.Error{kerr.NotEnoughReplicas}},
		{"the one before ends", 12, &id, func() [][]byte { return [][]byte{txnBatch(t, next, 0, 0, "x")} }, kerr.ConcurrentTransactions, []*kerr.Error{kerr.ConcurrentTransactions}},
		{"a coordinator that loads", 12, &id, func() [][]byte { return [][]byte{txnBatch(t, next, 0, 0, "x")} }, kerr.CoordinatorLoadInProgress, []*kerr.Error{kerr.NotEnoughReplicas}},
		{"another id", 12, &id, func() [][]byte { return [][]byte{txnBatch(t, next, 0, 0, "x")} }, kerr.InvalidProducerIDMapping, []*kerr.Error{kerr.InvalidProducerIDMapping}},
		{"enlisted", 12, &id, func() [][]byte { return [][]byte{txnBatch(t, next, 0, 0, "x"), txnBatch(t, next, 0, 0, "x")} }, nil, []*kerr.Error{nil, nil}},
		{"outside of a transaction, with the id", 9, &id, func() [][]byte { return [][]byte{batchOf(t)} }, kerr.InvalidTxnState, []*kerr.Error{nil}},
	} {
		v.answer = c.answer
		for n, got := range produceTxn(t, h, c.version, c.id, c.batches()...) {
			want := int16(0)
			if c.want[n] != nil {
				want = c.want[n].Code
			}
			if got.ErrorCode != want {
				t.Errorf("%s: partition %d: %v, want %v", c.name, n, kerr.ErrorForCode(got.ErrorCode), c.want[n])
			}
		}
		next += 10
	}
}

func TestTheCoordinatorIsAskedOncePerTransactionAndPartition(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 2)
	h, v := verifiedHandler(t, b)
	id := "app"
	produce := func(want *kerr.Error, version int16, batches ...[]byte) {
		t.Helper()
		code := int16(0)
		if want != nil {
			code = want.Code
		}
		for _, p := range produceTxn(t, h, version, &id, batches...) {
			if p.ErrorCode != code {
				t.Errorf("got %v, want %v", kerr.ErrorForCode(p.ErrorCode), want)
			}
		}
	}
	produce(nil, 11, txnBatch(t, 7, 3, 0, "a"), txnBatch(t, 7, 3, 0, "b"))
	produce(nil, 11, txnBatch(t, 7, 3, 1, "c"), txnBatch(t, 7, 3, 1, "d"))
	endOf(t, b, 0, 7, 4, true)
	produce(kerr.InvalidProducerEpoch, 12, txnBatch(t, 7, 3, 2, "late"))
	produce(nil, 12, txnBatch(t, 7, 4, 0, "e"))
	want := []string{"app 7 3 t 0 false", "app 7 3 t 1 false", "app 7 3 t 0 true", "app 7 3 t 0 false", "app 7 4 t 0 true", "app 7 4 t 0 false"}
	if !slices.Equal(v.asked, want) {
		t.Errorf("asked %q, want %q", v.asked, want)
	}
	// The transaction ends between the answer of the coordinator and the log.
	endOf(t, b, 0, 7, 4, true)
	v.before = func(add bool) {
		if add {
			return
		}
		endOf(t, b, 0, 7, 4, true) // a repeat changes nothing
		m := replica.Marker{ProducerID: 7, ProducerEpoch: 4, Commit: false, CoordinatorEpoch: 2}
		if err := partitionOf(t, b, 0).AppendMarker(within(t), m); err != nil {
			t.Error(err)
		}
	}
	produce(kerr.InvalidTxnState, 12, txnBatch(t, 7, 4, 1, "late"))
	if p := partitionOf(t, b, 0); p.OpenTxn(7, 4) || p.LastStableOffset() != p.HighWatermark() {
		t.Error("a late batch began a transaction")
	}
	// The one before ends while the partition waits to be part of the next one.
	v.before = func(add bool) {
		if m := (replica.Marker{ProducerID: 7, ProducerEpoch: 5, CoordinatorEpoch: 2}); add {
			if err := partitionOf(t, b, 0).AppendMarker(within(t), m); err != nil {
				t.Error(err)
			}
		}
	}
	produce(nil, 12, txnBatch(t, 7, 5, 0, "next"))
}

// consumed reads n values of "t" from the start.
func consumed(t *testing.T, b *Broker, level kgo.IsolationLevel, n int) []string {
	t.Helper()
	var values []string
	for _, r := range poll(t, client(t, b, kgo.ConsumeTopics("t"), kgo.FetchIsolationLevel(level)), n) {
		values = append(values, string(r.Value))
	}
	return values
}

func TestReadersOfCommittedRecords(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 1)
	h, _ := verifiedHandler(t, b)
	id := "app"
	produce := func(batch []byte) {
		t.Helper()
		if got := produceTxn(t, h, 9, &id, batch)[0]; got.ErrorCode != 0 {
			t.Fatal(kerr.ErrorForCode(got.ErrorCode))
		}
	}
	produce(txnBatch(t, 1, 0, 0, "aborted 0"))
	produce(txnBatch(t, 2, 0, 0, "committed 1"))
	produce(txnBatch(t, 1, 0, 1, "aborted 2"))
	endOf(t, b, 0, 1, 0, false) // 3
	produce(txnBatch(t, 1, 0, 2, "committed 4"))
	endOf(t, b, 0, 2, 0, true)               // 5
	endOf(t, b, 0, 1, 0, true)               // 6
	produce(txnBatch(t, 3, 0, 0, "open 7"))  // holds what follows
	produce(txnBatch(t, 2, 0, 1, "waits 8")) // committed, but later
	endOf(t, b, 0, 2, 0, true)               // 9
	produce(txnBatch(t, 4, 0, 0, "gone 10")) // aborted, but later
	endOf(t, b, 0, 4, 0, false)              // 11

	if got, want := consumed(t, b, kgo.ReadUncommitted(), 7), []string{"aborted 0", "committed 1", "aborted 2", "committed 4", "open 7", "waits 8", "gone 10"}; !slices.Equal(got, want) {
		t.Errorf("uncommitted: got %q, want %q", got, want)
	}
	committed := client(t, b, kgo.ConsumeTopics("t"), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(100*time.Millisecond))
	var got []string
	for len(got) < 2 {
		for _, r := range poll(t, committed, 1) {
			got = append(got, string(r.Value))
		}
	}
	if !slices.Equal(got, []string{"committed 1", "committed 4"}) {
		t.Errorf("committed: got %q", got)
	}
	offsets := func(isolation int8, at int64) int64 {
		t.Helper()
		q := kmsg.NewPtrListOffsetsRequest()
		q.Version, q.IsolationLevel = 7, isolation
		qt, qp := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
		qt.Topic, qp.Timestamp = "t", at
		qt.Partitions = append(qt.Partitions, qp)
		q.Topics = append(q.Topics, qt)
		p := ask(t, h, q).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
		if p.ErrorCode != 0 {
			t.Fatal(kerr.ErrorForCode(p.ErrorCode))
		}
		return p.Offset
	}
	if got := []int64{offsets(0, -1), offsets(1, -1), offsets(1, -2), offsets(1, 0)}; !slices.Equal(got, []int64{12, 7, 0, 0}) {
		t.Errorf("offsets %v", got)
	}
	endOf(t, b, 0, 3, 1, true) // 12
	got = nil
	for len(got) < 2 {
		for _, r := range poll(t, committed, 1) {
			got = append(got, string(r.Value))
		}
	}
	if !slices.Equal(got, []string{"open 7", "waits 8"}) {
		t.Errorf("after the end of the open one: got %q", got)
	}
	if offsets(1, -1) != 13 {
		t.Errorf("last stable offset %d, want 13", offsets(1, -1))
	}
}

// A fetch that waits below the last stable offset is woken by the marker, which
// moves it.
func TestAFetchIsWokenByAMarker(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 1)
	h, _ := verifiedHandler(t, b)
	id := "app"
	if got := produceTxn(t, h, 9, &id, txnBatch(t, 1, 0, 0, "x"))[0]; got.ErrorCode != 0 {
		t.Fatal(kerr.ErrorForCode(got.ErrorCode))
	}
	q := kmsg.NewPtrFetchRequest()
	q.Version, q.MaxWaitMillis, q.MinBytes, q.MaxBytes, q.IsolationLevel = 12, 60_000, 1, 1<<20, 1
	qt, qp := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	qt.Topic, qt.TopicID, qp.PartitionMaxBytes = "t", b.view.Load().ByName["t"].ID, 1<<20
	qt.Partitions = append(qt.Partitions, qp)
	q.Topics = append(q.Topics, qt)
	answers := make(chan *kmsg.FetchResponse, 1)
	go func() {
		answer, err := q.RequestWith(within(t), client(t, b))
		if err != nil {
			t.Error(err)
		}
		answers <- answer
	}()
	select {
	case a := <-answers:
		t.Fatalf("answered with %+v while the transaction is open", a)
	case <-time.After(100 * time.Millisecond):
	}
	endOf(t, b, 0, 1, 0, false)
	select {
	case a := <-answers:
		p := a.Topics[0].Partitions[0]
		want := []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 1, FirstOffset: 0, UnknownTags: p.AbortedTransactions[0].UnknownTags}}
		if p.LastStableOffset != 2 || p.HighWatermark != 2 || len(p.RecordBatches) == 0 || !reflect.DeepEqual(p.AbortedTransactions, want) {
			t.Errorf("%+v", p)
		}
	case <-time.After(time.Minute):
		t.Fatal("not woken")
	}
}

func TestProducersAreDescribed(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 1)
	h, _ := verifiedHandler(t, b)
	id := "app"
	for _, batch := range [][]byte{txnBatch(t, 9, 2, 0, "x"), txnBatch(t, 8, 1, 0, "x"), txnBatch(t, 8, 1, 1, "x")} {
		if got := produceTxn(t, h, 9, &id, batch)[0]; got.ErrorCode != 0 {
			t.Fatal(kerr.ErrorForCode(got.ErrorCode))
		}
	}
	endOf(t, b, 0, 9, 3, true)
	described, err := kadm.NewClient(client(t, b)).DescribeProducers(within(t), kadm.TopicsSet{"t": {0: {}}})
	if err != nil {
		t.Fatal(err)
	}
	parts := described["t"].Partitions
	if parts[0].Err != nil || len(parts[0].ActiveProducers) != 2 {
		t.Fatalf("%+v", parts[0])
	}
	q := kmsg.NewPtrDescribeProducersRequest()
	q.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "t", Partitions: []int32{7}}, {Topic: "other", Partitions: []int32{0}}}
	for _, topic := range ask(t, h, q).(*kmsg.DescribeProducersResponse).Topics {
		if got := topic.Partitions[0].ErrorCode; got != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("%s: %v", topic.Topic, kerr.ErrorForCode(got))
		}
	}
	cfg := api.Default()
	cfg.Access = api.Access{Enforced: true}
	guarded, err := api.New(cfg, backend{b}, b.groups, b.txns)
	if err != nil {
		t.Fatal(err)
	}
	q.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	reply := guarded.Serve(t.Context(), &wire.Request{
		Key: q.Key(), Body: q.AppendTo(nil), Client: wire.Client{Principal: "User:ada", Session: &wire.Session{}},
	})
	answer := kmsg.NewPtrDescribeProducersResponse()
	if err := answer.ReadFrom(bytes.Join(reply.Body, nil)); err != nil {
		t.Fatal(err)
	}
	denied := answer.Topics[0].Partitions[0]
	if denied.ErrorCode != kerr.TopicAuthorizationFailed.Code || len(denied.ActiveProducers) != 0 {
		t.Errorf("without the right to read: %+v", denied)
	}
	open, ended := parts[0].ActiveProducers[8], parts[0].ActiveProducers[9]
	if open.ProducerID != 8 || open.ProducerEpoch != 1 || open.LastSequence != 1 || open.CoordinatorEpoch != -1 || open.CurrentTxnStartOffset != 1 ||
		open.LastTimestamp < time.Now().Add(-time.Minute).UnixMilli() {
		t.Errorf("%+v", open)
	}
	if ended.ProducerID != 9 || ended.ProducerEpoch != 3 || ended.LastSequence != -1 || ended.CoordinatorEpoch != 1 || ended.CurrentTxnStartOffset != -1 {
		t.Errorf("%+v", ended)
	}
}
