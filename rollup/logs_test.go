package rollup

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/broker"
	"github.com/weir-analytics/weir/internal/testkit"
	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// testLog is a log to count from: the same tests run on a fake one and on our own, and those about exactly once on Apache Kafka too.
type testLog struct {
	seeds []string
	dial  func(ctx context.Context, network, host string) (net.Conn, error)
	fake  *kfake.Cluster // nil for our own
	own   *ownLog        // nil for the fake
}

var logKinds = map[string]func(testing.TB) *testLog{"fake": newFakeLog, "own": newOwnLog, "kafka": newKafkaLog}

// onKafka are the tests that run on Apache Kafka as well, whose starts take seconds.
var onKafka = map[string]bool{
	"TestCountsEqualTheOracle": true, "TestRestartsLeaveCountsExact": true, "TestBrokenConnectionsLeaveCountsExact": true, "TestTwoWritersOfOnePartitionCountOnce": true,
}

// onEachLog runs a test on each kind of log.
func onEachLog(t *testing.T, f func(t *testing.T, log *testLog)) {
	t.Parallel()
	kinds := []string{"fake", "own"}
	if onKafka[t.Name()] {
		kinds = append(kinds, "kafka")
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			if kind != "fake" && testing.Short() {
				t.Skip("real logs are left out of short tests")
			}
			t.Parallel()
			f(t, logKinds[kind](t))
		})
	}
}

func newFakeLog(t testing.TB) *testLog {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	log := &testLog{seeds: cluster.ListenAddrs(), fake: cluster}
	client, err := kgo.NewClient(kgo.SeedBrokers(log.seeds...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, topic := range Topics() {
		if _, err := kadm.NewClient(client).CreateTopic(context.Background(), topic.Partitions, 1, nil, topic.Name); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// kafkaTurn is held by the one test that runs an Apache Kafka.
var kafkaTurn sync.Mutex

func newKafkaLog(t testing.TB) *testLog {
	t.Helper()
	kafkaTurn.Lock()
	t.Cleanup(kafkaTurn.Unlock)
	log := &testLog{seeds: []string{testkit.StartKafka(t).Addr}}
	client, err := kgo.NewClient(kgo.SeedBrokers(log.seeds...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, topic := range Topics() {
		if _, err := kadm.NewClient(client).CreateTopic(t.Context(), topic.Partitions, topic.ReplicationFactor, topic.Configs, topic.Name); err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// ownLog is a controller and a broker, which can be restarted.
type ownLog struct {
	t    testing.TB
	dir  string
	addr string
	stop func()
	dial func(ctx context.Context, network, host string) (net.Conn, error)
}

func newOwnLog(t testing.TB) *testLog {
	t.Helper()
	own := &ownLog{t: t, dir: t.TempDir(), addr: "127.0.0.1:0"}
	own.start()
	t.Cleanup(func() { own.stop() })
	return &testLog{seeds: []string{own.addr}, own: own,
		dial: func(ctx context.Context, network, host string) (net.Conn, error) { return own.dial(ctx, network, host) }}
}

// start opens the log, on the address that it had before.
func (o *ownLog) start() {
	o.t.Helper()
	quiet := logger(o.t)
	cfg := raftfsm.Default(o.dir)
	cfg.Log = quiet
	ctl, err := raftfsm.Open(cfg)
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- ctl.Run(ctx) }()
	<-ctl.Ready()
	bc := broker.Default()
	bc.DataDir, bc.ServerID, bc.Listeners, bc.Log = o.dir, ctl.ServerID(), []broker.Listener{broker.Plaintext(o.addr)}, quiet
	bc.NodeID = ctl.NodeID()
	b, err := broker.Open(bc, ctl)
	if err != nil {
		o.t.Fatal(err)
	}
	o.addr = b.Addr().String()
	host, portText, _ := net.SplitHostPort(o.addr)
	port, _ := strconv.Atoi(portText)
	if err := ctl.RegisterBroker(ctx, state.Broker{ID: ctl.NodeID(), ServerID: ctl.ServerID(), Host: host, Port: int32(port)}); err != nil {
		o.t.Fatal(err)
	}
	for _, topic := range Topics() {
		if _, err := ctl.CreateTopic(ctx, topic); err != nil && !errors.Is(err, state.ErrExists) {
			o.t.Fatal(err)
		}
	}
	go func() { ended <- b.Run(ctx) }()
	<-b.Ready()
	o.dial = b.Dial
	o.stop = func() {
		cancel()
		<-ended
		<-ended
		if err := errors.Join(b.Close(), ctl.Close()); err != nil {
			o.t.Errorf("close the log: %v", err)
		}
	}
}
