package txn

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led/ledtest"
	"github.com/weir-analytics/weir/broker/record"
)

// states lists the states that a log has of an id, in order; "-" is a tombstone.
func states(t *testing.T, p *ledtest.Partition, id string) []string {
	t.Helper()
	var out []string
	for _, r := range p.Records(t) {
		key, err := parseKey(r.Key)
		if err == nil && key != id {
			continue
		}
		if err == nil && r.Value == nil {
			out = append(out, "-")
			continue
		}
		var m metadata
		if err == nil {
			m, err = parseValue(r.Value)
		}
		if err != nil {
			t.Fatalf("read the log: %v", err)
		}
		out = append(out, m.state.String())
	}
	return out
}

// memTopic is the state topic in memory, with one partition, so that every id is in it.
type memTopic struct {
	part *ledtest.Partition
	mu   sync.Mutex
	ids  int64 // the first producer id that was not given out
}

func newMemTopic() *memTopic {
	return &memTopic{part: ledtest.New(), ids: 1000}
}

func (mt *memTopic) Count() int32 { return 1 }

func (mt *memTopic) StatePartition(int32) (Partition, error) { return mt.part, nil }

// memMarkers keeps the markers that partitions have got.
type memMarkers struct {
	mu   sync.Mutex
	got  map[topicPartition][]record.Marker
	fail func(tp topicPartition, m record.Marker) error
}

func (k *memMarkers) Write(_ context.Context, topic string, partition int32, m record.Marker) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	tp := topicPartition{topic, partition}
	if k.fail != nil {
		if err := k.fail(tp, m); err != nil {
			return err
		}
	}
	k.got[tp] = append(k.got[tp], m)
	return nil
}

func (k *memMarkers) set(fail func(tp topicPartition, m record.Marker) error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fail = fail
}

func (k *memMarkers) of(topic string, partition int32) []record.Marker {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.got[topicPartition{topic, partition}])
}

// memTopics says which topics exist.
type memTopics map[string]int32

func (mt memTopics) Partitions(topic string) (int32, bool, bool) {
	n, ok := mt[topic]
	return n, topic == "__consumer_offsets", ok
}

// node is a coordinator that runs, over a log in memory.
type node struct {
	*Coordinator
	t       *testing.T
	topic   *memTopic
	part    *ledtest.Partition
	markers *memMarkers
	stop    func()
}

const (
	testID    = "orders"
	testTopic = "hits"
)

func testConfig(mt *memTopic, k *memMarkers) Config {
	cfg := Default()
	cfg.NodeID, cfg.Partitions, cfg.Markers = ledtest.Node, mt, k
	cfg.Topics = memTopics{testTopic: 4, "__consumer_offsets": 50}
	cfg.GroupPartition = func(group string) (string, int32, bool) { return "__consumer_offsets", 7, group != "" }
	cfg.AllocateProducerIDs = func(_ context.Context, n int64) (int64, error) {
		mt.mu.Lock()
		defer mt.mu.Unlock()
		first := mt.ids
		mt.ids += n
		return first, nil
	}
	return cfg
}

// start runs a coordinator over the topic until the test ends or stop is called. Call it inside a synctest bubble.
func start(t *testing.T, mt *memTopic, k *memMarkers, change ...func(*Config)) *node {
	t.Helper()
	cfg := testConfig(mt, k)
	for _, fn := range change {
		fn(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Coordinator: c, t: t, topic: mt, part: mt.part, markers: k, stop: ledtest.Run(t, c.Run)}
	synctest.Wait()
	return n
}

// startNew is start with an empty log.
func startNew(t *testing.T, change ...func(*Config)) *node {
	t.Helper()
	return start(t, newMemTopic(), newMemMarkers(), change...)
}

func newMemMarkers() *memMarkers { return &memMarkers{got: map[topicPartition][]record.Marker{}} }

// restart runs a coordinator over what another one has left, which is stopped.
func (n *node) restart(change ...func(*Config)) *node {
	n.t.Helper()
	n.stop()
	n.part.Set(func() { n.part.Epoch++ })
	return start(n.t, n.topic, n.markers, change...)
}

func bubble(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, fn)
}

func testEnv() *env {
	cfg := testConfig(newMemTopic(), newMemMarkers())
	cfg.fill()
	return &env{cfg: cfg, log: slog.New(slog.DiscardHandler), metrics: newMetrics(nil, nil)}
}

func (n *node) init(version int16, had *producer) (producer, int16) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = version, kmsg.StringPtr(testID), 60_000
	if had != nil {
		req.ProducerID, req.ProducerEpoch = had.id, had.epoch
	}
	resp := n.InitProducerID(n.t.Context(), req)
	return producer{resp.ProducerID, resp.ProducerEpoch}, resp.ErrorCode
}

func (n *node) mustInit() producer {
	n.t.Helper()
	p, code := n.init(5, nil)
	if code != codeNone {
		n.t.Fatalf("InitProducerID: code %d", code)
	}
	return p
}

func (n *node) addFrom(conn uint64, p producer, partitions ...int32) int16 {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, testID, p.id, p.epoch
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: testTopic, Partitions: partitions}}
	resp := n.AddPartitionsToTxn(n.t.Context(), conn, req, allowed)
	return resp.Topics[0].Partitions[0].ErrorCode
}

func (n *node) addOne(p producer, partitions ...int32) int16 { return n.addFrom(1, p, partitions...) }

// addTwo is what a produce request of transactions version 2 does.
func (n *node) addTwo(p producer, partition int32) int16 {
	return codeFrom(n.Verify(n.t.Context(), testID, p.id, p.epoch, testTopic, partition, true))
}

func codeFrom(err *kerr.Error) int16 {
	if err == nil {
		return codeNone
	}
	return err.Code
}

func allowed(string) int16 { return codeNone }

func (n *node) endFrom(conn uint64, version int16, p producer, commit bool) (producer, int16) {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = version, testID, p.id, p.epoch, commit
	resp := n.EndTxn(n.t.Context(), conn, req)
	return producer{resp.ProducerID, resp.ProducerEpoch}, resp.ErrorCode
}

func (n *node) endOne(p producer, commit bool) int16 {
	_, code := n.endFrom(1, 3, p, commit)
	return code
}

func (n *node) endTwo(p producer, commit bool) (producer, int16) { return n.endFrom(1, 5, p, commit) }

func (n *node) describe() kmsg.DescribeTransactionsResponseTransactionState {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{testID}
	return n.DescribeTransactions(n.t.Context(), req).TransactionStates[0]
}

func (n *node) wantState(want state) {
	n.t.Helper()
	synctest.Wait()
	if got := n.describe().State; got != want.String() {
		n.t.Fatalf("transaction is %q, want %s", got, want)
	}
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

var errUnknown = errors.New("outcome unknown")
