package broker

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// memory is an engine in memory: the rules of a replica without its disk, its group and transactions.
type memory struct {
	mu        sync.Mutex
	batches   []record.Batch
	start     int64
	next      int64
	epoch     int32
	serving   bool
	size      int64
	sequences map[int64]produced
	changed   broadcast
	closed    bool
}

// produced is the last batch of one producer.
type produced struct {
	sequence int32
	base     int64
}

// memories makes engines in memory.
type memories struct{}

func (memories) holds(engineSpec) bool                            { return false }
func (memories) dirOf(engineSpec) string                          { return "memory" }
func (memories) sizeOf(engineSpec) int64                          { return 0 }
func (memories) nameTopic(state.Topic) error                      { return nil }
func (memories) removeTopic(state.Topic, []engineSpec) error      { return nil }
func (memories) removePartition(engineSpec) error                 { return nil }
func (memories) sweep(*state.State)                               {}
func (memories) logDirs() []logDir                                { return []logDir{{path: "memory", total: -1, usable: -1}} }
func (memories) watch(context.Context, func(string, error)) error { return nil }
func (memories) Close() error                                     { return nil }
func (memories) open(engineSpec) (engine, error) {
	return &memory{epoch: 1, serving: true, sequences: make(map[int64]produced)}, nil
}

type appendedNow struct {
	a   replica.Appended
	err error
}

func (a appendedNow) Done() <-chan struct{}             { return closedChan }
func (a appendedNow) Result() (replica.Appended, error) { return a.a, a.err }

func (m *memory) Append(_ context.Context, b []byte) api.Pending {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.changed.wake()
	batch, err := record.Check(b)
	if err != nil {
		return appendedNow{err: fmt.Errorf("%w: %w", replica.ErrCorruptBatch, err)}
	}
	if m.closed || !m.serving {
		return appendedNow{err: replica.ErrNotReady}
	}
	if last, ok := m.sequences[batch.ProducerID]; ok && batch.ProducerID >= 0 {
		if batch.LastSequence() == last.sequence {
			return appendedNow{a: replica.Appended{BaseOffset: last.base, LogAppendTimeMs: -1, Duplicate: true}}
		}
		if batch.BaseSequence != record.AddSequence(last.sequence, 1) {
			return appendedNow{err: replica.ErrOutOfOrderSequence}
		}
	}
	record.SetPlace(b, m.next, m.epoch)
	batch, _ = record.Check(b)
	m.sequences[batch.ProducerID] = produced{batch.LastSequence(), m.next}
	m.batches = append(m.batches, batch)
	m.next = batch.NextOffset()
	m.size += int64(len(b))
	return appendedNow{a: replica.Appended{BaseOffset: batch.BaseOffset, LogStart: m.start, LogAppendTimeMs: -1}}
}

func (m *memory) Leader() (int32, int32, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return 1, m.epoch, m.serving
}

func (m *memory) LogStart() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.start
}

func (m *memory) HighWatermark() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.next
}

func (m *memory) AppendVerified(ctx context.Context, b []byte, _ int64) api.Pending {
	return m.Append(ctx, b)
}
func (m *memory) AppendMarker(context.Context, replica.Marker) error { return replica.ErrNotReady }
func (m *memory) LastStableOffset() int64                            { return m.HighWatermark() }
func (m *memory) AbortedIn(int64, int64) ([]replica.Aborted, error)  { return nil, nil }
func (m *memory) NextSequence(id int64, _ int16) int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last, ok := m.sequences[id]; ok {
		return record.AddSequence(last.sequence, 1)
	}
	return 0
}
func (m *memory) Membership() replica.Membership    { return replica.Membership{} }
func (m *memory) AddLearner(string, uint64) error   { return replica.ErrNotLeader }
func (m *memory) Promote(string, uint64) error      { return replica.ErrNotLeader }
func (m *memory) RemoveMember(string, uint64) error { return replica.ErrNotLeader }
func (m *memory) CaughtUp(string) bool              { return false }
func (m *memory) HandOver(string) error             { return replica.ErrNotLeader }
func (m *memory) Watch(time.Time)                   {}
func (m *memory) OpenTxn(int64, int16) bool         { return false }
func (m *memory) Producers() []replica.ProducerInfo { return nil }
func (m *memory) ReadBelow(offset int64, maxBytes int, limit int64) ([]byte, error) {
	if offset >= limit && offset <= m.HighWatermark() {
		return nil, nil
	}
	return m.Read(offset, maxBytes)
}

func (m *memory) Read(offset int64, maxBytes int) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if offset < m.start || offset > m.next {
		return nil, replica.ErrOffsetOutOfRange
	}
	var out []byte
	for _, b := range m.batches {
		if b.LastOffset() < offset {
			continue
		}
		if len(out) > 0 && len(out)+b.Size() > maxBytes {
			break
		}
		out = append(out, b.Raw...)
	}
	return out, nil
}

func (m *memory) Changed() <-chan struct{} { return m.changed.wait() }

func (m *memory) OffsetForTime(ms int64) (offset, at int64, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.batches {
		err = record.ForEach(b.Raw, func(r record.Record) error {
			if o := b.BaseOffset + int64(r.OffsetDelta); !ok && o >= m.start && r.TimestampMs >= ms {
				offset, at, ok = o, r.TimestampMs, true
			}
			return nil
		})
	}
	return offset, at, ok, err
}

func (m *memory) MaxTimestamp() (offset, at int64, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at = -1
	for _, b := range m.batches {
		err = record.ForEach(b.Raw, func(r record.Record) error {
			if r.TimestampMs > at {
				offset, at, ok = b.BaseOffset+int64(r.OffsetDelta), r.TimestampMs, true
			}
			return nil
		})
	}
	return offset, at, ok, err
}

func (m *memory) EpochEnd(epoch int32) (int32, int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if epoch > m.epoch {
		return -1, -1
	}
	return m.epoch, m.next
}

func (m *memory) SetLogStart(_ context.Context, offset int64) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start = offset
	return offset, nil
}

func (m *memory) SizeBytes() int64                  { m.mu.Lock(); defer m.mu.Unlock(); return m.size }
func (m *memory) Reconfigure(api.TopicConfig) error { return nil }
func (m *memory) Err() error                        { return nil }
func (m *memory) Readable() bool                    { return false }
func (m *memory) Writable() error                   { return nil }
func (m *memory) Received() replica.Received        { return replica.Received{To: m.HighWatermark()} }
func (m *memory) CountStored(_, _ int64) (int64, int64, error) {
	return 0, 0, nil
}
func (m *memory) Damage() error { return nil }
func (m *memory) Close() error  { m.mu.Lock(); defer m.mu.Unlock(); m.closed = true; return nil }
func (m *memory) Stop(error)    {}

// controller is the cluster state without its group.
type controller struct {
	mu      sync.Mutex
	s       *state.State
	nextID  uint64
	changed broadcast
}

func newController(t testing.TB) *controller {
	t.Helper()
	c := &controller{s: state.New()}
	c.apply(t.Context(), command.InitCluster{ClusterID: "test-cluster"})
	return c
}

func (c *controller) apply(_ context.Context, cmd command.Command) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, result, err := c.s.Apply(cmd, time.Unix(1_700_000_000, 0))
	if err != nil {
		return nil, err
	}
	c.s = next
	c.changed.wake()
	return result, nil
}

func (c *controller) State() *state.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.s
}

func (c *controller) Changed() <-chan struct{} { return c.changed.wait() }
func (c *controller) Ready() <-chan struct{}   { return closedChan }

func (c *controller) CreateTopic(ctx context.Context, spec state.TopicSpec) (state.Topic, error) {
	cmd := command.CreateTopic{Name: spec.Name, Partitions: spec.Partitions, ReplicationFactor: spec.ReplicationFactor, Internal: spec.Internal}
	for name, value := range spec.Configs {
		if cmd.Configs == nil {
			cmd.Configs = make(map[string]string)
		}
		cmd.Configs[name] = *value
	}
	c.mu.Lock()
	c.nextID++
	binary.BigEndian.PutUint64(cmd.ID[8:], c.nextID)
	c.mu.Unlock()
	made, err := c.apply(ctx, cmd)
	if err != nil {
		return state.Topic{}, err
	}
	return made.(state.Topic), nil
}

func (c *controller) DeleteTopic(ctx context.Context, name string) error {
	_, err := c.apply(ctx, command.DeleteTopic{Name: name})
	return err
}

func (c *controller) AddPartitions(ctx context.Context, name string, total int32) error {
	_, err := c.apply(ctx, command.AddPartitions{Name: name, Total: total})
	return err
}

func (c *controller) SetTopicConfigs(ctx context.Context, name string, configs map[string]string) error {
	_, err := c.apply(ctx, command.SetTopicConfigs{Name: name, Configs: configs})
	return err
}

func (c *controller) AllocateProducerIDs(ctx context.Context, n int64) (int64, error) {
	first, err := c.apply(ctx, command.AllocateProducerIDs{Count: n})
	if err != nil {
		return 0, err
	}
	return first.(int64), nil
}

func (c *controller) CreateACLs(ctx context.Context, acls []state.ACL) error {
	_, err := c.apply(ctx, command.CreateACLs{ACLs: acls})
	return err
}

func (c *controller) DeleteACLs(ctx context.Context, acls []state.ACL) ([]state.ACL, error) {
	gone, err := c.apply(ctx, command.DeleteACLs{ACLs: acls})
	if err != nil {
		return nil, err
	}
	return gone.([]state.ACL), nil
}

func (c *controller) SetCredential(ctx context.Context, user, mechanism string, k state.Credential) error {
	_, err := c.apply(ctx, command.SetCredential{User: user, Mechanism: mechanism, Salt: k.Salt, Iterations: k.Iterations, StoredKey: k.StoredKey, ServerKey: k.ServerKey})
	return err
}

func (c *controller) DeleteCredential(ctx context.Context, user, mechanism string) error {
	_, err := c.apply(ctx, command.DeleteCredential{User: user, Mechanism: mechanism})
	return err
}

func (c *controller) AlterQuota(ctx context.Context, e state.QuotaEntity, set map[string]float64, remove []string) error {
	_, err := c.apply(ctx, command.AlterQuota{User: e.User, ClientID: e.ClientID, Set: set, Remove: remove})
	return err
}

// start runs a broker over real replicas in a directory of the test.
func start(t *testing.T, change func(*Config)) (*Broker, *controller) {
	t.Helper()
	ctl := newController(t)
	return startIn(t, t.TempDir(), ctl, change), ctl
}

// startIn runs a broker over what a directory holds.
func startIn(t *testing.T, dir string, ctl *controller, change func(*Config)) *Broker {
	t.Helper()
	cfg := testConfig(dir, change)
	engines, err := openEngines(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return startWith(t, ctl, engines, cfg)
}

func testConfig(dir string, change func(*Config)) Config {
	cfg := Default()
	cfg.DataDir, cfg.Listeners, cfg.ServerID = dir, []Listener{Plaintext("127.0.0.1:0")}, "node-1"
	cfg.Wire.DrainFor = time.Second
	if change != nil {
		change(&cfg)
	}
	return cfg
}

// startWith runs a broker until the test ends or stop is called.
func startWith(t testing.TB, ctl *controller, engines engineStore, cfg Config) *Broker {
	t.Helper()
	b, err := open(cfg, ctl, engines)
	if err != nil {
		t.Fatal(err)
	}
	addr := b.Addr().(*net.TCPAddr)
	ctl.apply(t.Context(), command.RegisterBroker{ID: 1, ServerID: "s", Host: "127.0.0.1", Port: int32(addr.Port)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	stops.Store(b, stop)
	t.Cleanup(stop)
	select {
	case <-b.Ready():
	case <-time.After(20 * time.Second):
		t.Fatal("not ready")
	}
	return b
}

// stops holds how to stop each broker that runs.
var stops sync.Map

func stopNow(b *Broker) {
	stop, _ := stops.LoadAndDelete(b)
	stop.(func())()
}

func specOf(name string, partitions int32) state.TopicSpec {
	return state.TopicSpec{Name: name, Partitions: partitions, ReplicationFactor: -1}
}

func records(values ...string) []record.Record {
	var recs []record.Record
	for _, v := range values {
		recs = append(recs, record.Record{Value: []byte(v), TimestampMs: 1_700_000_000_000})
	}
	return recs
}

// itself is the sender of requests that the node asks itself.
func itself() wire.Client { return wire.Client{Local: true, Session: &wire.Session{}} }

func (*controller) Leader() int32 { return 1 }

func (*controller) OpenPartitions(context.Context, [16]byte, []int32) error { return nil }
