package group

import (
	"context"
	"sync"
	"time"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/javahash"
)

// The topic that holds groups and offsets, and how many partitions it has unless somebody decides otherwise.
const (
	OffsetsTopic      = "__consumer_offsets"
	DefaultPartitions = 50
)

// Partition is one partition of the offsets topic on this node. All methods may be called at any time, also at once.
type Partition interface {
	// Append writes the records as one batch and returns the offset of the first when the batch is committed and durable. The
	// records are the caller's again when it returns. Errors that are none of ErrNotWritten, ErrNotLeader and ErrTooLarge mean
	// that the records may or may not be in the log, now or later. There is one call at a time.
	Append(ctx context.Context, recs []record.Record) (base int64, err error)
	// AppendInTxn is Append in a producer's transaction, with ErrTxnEnded and ErrProducerFenced among what ErrNotWritten may mean.
	AppendInTxn(ctx context.Context, in Transaction, recs []record.Record) (base int64, err error)
	// AppendMarker ends a producer's transaction and returns when that is committed and durable. A marker that has nothing to end
	// is not written. Errors as for AppendInTxn, and calls never at the same time as those of Append.
	AppendMarker(ctx context.Context, m record.Marker) error
	// Read returns whole committed batches, the first of which holds the offset or is the next after it, at least one even
	// when larger than maxBytes. Nothing at the high watermark.
	Read(offset int64, maxBytes int) ([]byte, error)
	// LogStart is the first offset that can be read.
	LogStart() int64
	// HighWatermark is the offset after the last committed record.
	HighWatermark() int64
	// Leader says who leads in which epoch and whether the leader knows everything that was committed before it became one. It
	// is called with every request.
	Leader() (nodeID, epoch int32, serving bool)
}

// Partitions finds the partitions of the offsets topic.
type Partitions interface {
	// Count is the number of partitions, 0 while there is no such topic.
	Count() int32
	// OffsetsPartition returns a partition that is open on this node. The same open partition is always the same value.
	OffsetsPartition(p int32) (Partition, error)
}

// Topics tells which topics exist.
type Topics interface {
	TopicByName(name string) (id [16]byte, partitions int32, ok bool)
	TopicByID(id [16]byte) (name string, ok bool)
}

// Caller is the client of a request, as DescribeGroups shows it.
type Caller struct {
	ClientID   string
	ClientHost string // "/" and the address, as in Kafka
}

// PartitionOf returns the partition of the offsets topic that a group belongs to, as all Kafka clients and tools reckon it.
func PartitionOf(groupID string, count int32) int32 { return javahash.Partition(groupID, count) }

// Coordinator answers the group requests for all partitions of the offsets topic that this node leads. All methods may be
// called at any time from any goroutine; requests are answered while Run runs.
type Coordinator struct {
	env  *env
	wake chan struct{} // one pending wake-up is enough

	mu      sync.Mutex
	shards  map[int32]*shard
	changed chan struct{} // closed and replaced whenever shards changes or one of them is loaded
	stopped bool
}

// New makes a coordinator. It starts nothing.
func New(cfg Config) (*Coordinator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.fill()
	c := &Coordinator{
		wake:    make(chan struct{}, 1),
		shards:  map[int32]*shard{},
		changed: make(chan struct{}),
	}
	c.env = &env{cfg: cfg, log: cfg.Log.With("room", "group"), metrics: newMetrics(cfg.Registry, c)}
	return c, nil
}

// Wake makes the coordinator look at once whether it leads other partitions than before. Without it that is noticed with the
// next request to such a partition, or within a second.
func (c *Coordinator) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// checkEvery is how often leadership is looked at without being asked to. Requests look for themselves; this is for sessions
// that end and groups that load before somebody asks.
const checkEvery = time.Second

// Run loads the partitions that this node leads and gives up those it no longer does, until ctx ends. Parked requests are
// answered before it returns.
func (c *Coordinator) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer c.stop()
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		c.reconcile(ctx, &wg)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-c.wake:
		}
	}
}

// reconcile brings the shards in line with what this node leads.
func (c *Coordinator) reconcile(ctx context.Context, wg *sync.WaitGroup) {
	count := c.env.cfg.Partitions.Count()
	for p, s := range c.snapshot() {
		if p >= count || !s.current() || s.useless() {
			c.drop(s)
		}
	}
	for p := range count {
		part, epoch, led := c.led(p)
		if !led || c.get(p) != nil {
			continue
		}
		// A shard outlives Run's context by the time that stop gives it; unload ends it.
		ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		s := newShard(p, epoch, part, c.env, cancel)
		c.put(s)
		wg.Go(func() {
			defer cancel(nil)
			s.run(ctx, c.note)
			c.Wake() // one that gave itself up is to be loaded again
		})
	}
}

// led returns a partition if this node leads it and may serve it.
func (c *Coordinator) led(p int32) (Partition, int32, bool) {
	part, err := c.env.cfg.Partitions.OffsetsPartition(p)
	if err != nil {
		return nil, 0, false
	}
	node, epoch, serving := part.Leader()
	return part, epoch, serving && node == c.env.cfg.NodeID
}

func (c *Coordinator) get(p int32) *shard {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shards[p]
}

func (c *Coordinator) put(s *shard) {
	c.mu.Lock()
	c.shards[s.partition] = s
	c.mu.Unlock()
	c.note()
}

func (c *Coordinator) drop(s *shard) {
	c.mu.Lock()
	delete(c.shards, s.partition)
	c.mu.Unlock()
	s.unload()
	c.note()
}

// note tells waiting requests that the shards have changed.
func (c *Coordinator) note() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Coordinator) snapshot() map[int32]*shard {
	c.mu.Lock()
	defer c.mu.Unlock()
	shards := make(map[int32]*shard, len(c.shards))
	for p, s := range c.shards {
		shards[p] = s
	}
	return shards
}

// all returns the shards in no order.
func (c *Coordinator) all() []*shard {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*shard, 0, len(c.shards))
	for _, s := range c.shards {
		list = append(list, s)
	}
	return list
}

// stopWait is how long a stop waits for what is being written: members that left on a clean stop should not be missed for a
// whole session after the next start. A disk that takes longer is ill.
const stopWait = 2 * time.Second

// stop takes no more requests, lets what is queued be written, and gives everything up.
func (c *Coordinator) stop() {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	c.note()
	timeout := time.NewTimer(stopWait)
	defer timeout.Stop()
	for _, s := range c.snapshot() {
		select {
		case <-s.written():
		case <-timeout.C:
			timeout.Reset(0) // nor wait for the others
		}
	}
	for _, s := range c.snapshot() {
		c.drop(s)
	}
}

// shardOf returns the loaded shard that coordinates a group, or the code to answer.
func (c *Coordinator) shardOf(ctx context.Context, groupID string) (*shard, int16) {
	count := c.env.cfg.Partitions.Count()
	if count <= 0 {
		return nil, codeNotCoordinator
	}
	return c.shardAt(ctx, PartitionOf(groupID, count))
}

// shardAt returns a partition's shard if it is loaded, after waiting a little if it is just being loaded.
func (c *Coordinator) shardAt(ctx context.Context, p int32) (*shard, int16) {
	s, code, changed := c.lookUp(p)
	if changed == nil {
		return s, code
	}
	timeout := time.NewTimer(c.env.cfg.LoadWait)
	defer timeout.Stop()
	for changed != nil {
		select {
		case <-changed:
			s, code, changed = c.lookUp(p)
		case <-timeout.C:
			return nil, codeCoordinatorLoadInProgress
		case <-ctx.Done():
			return nil, codeCoordinatorLoadInProgress
		}
	}
	return s, code
}

// lookUp returns a partition's shard or the code to answer. A channel says that it is worth to look again when that is closed.
func (c *Coordinator) lookUp(p int32) (*shard, int16, <-chan struct{}) {
	c.mu.Lock()
	s, changed, stopped := c.shards[p], c.changed, c.stopped
	c.mu.Unlock()
	if stopped {
		return nil, codeNotCoordinator, nil
	}
	if s == nil || !s.current() {
		c.Wake()
		if _, _, led := c.led(p); !led {
			return nil, codeNotCoordinator, nil
		}
		return nil, codeCoordinatorLoadInProgress, changed
	}
	switch s.progress() {
	case loaded:
		return s, codeNone, nil
	case failed:
		return nil, codeCoordinatorNotAvailable, nil
	default:
		return nil, codeCoordinatorLoadInProgress, changed
	}
}
