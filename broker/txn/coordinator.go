package txn

import (
	"context"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/javahash"
)

// The topic that holds the transactional ids, and how many partitions it has unless somebody decides otherwise.
const (
	StateTopic        = "__transaction_state"
	DefaultPartitions = 50
)

// Partition is one partition of the state topic on this node. All methods may be called at any time, also at once.
type Partition interface {
	// Append writes the records as one batch and returns the offset of the first when the batch is committed and durable. The
	// records are the caller's again when it returns. Errors that are none of led.ErrNotWritten, led.ErrNotLeader and led.ErrTooLarge mean
	// that the records may or may not be in the log, now or later. There is one call at a time.
	Append(ctx context.Context, recs []record.Record) (base int64, err error)
	led.Log
	// Leader says who leads in which epoch and whether the leader knows everything that was committed before it became one. It
	// is called with every request.
	Leader() (nodeID, epoch int32, serving bool)
}

// Partitions finds the partitions of the state topic.
type Partitions interface {
	// Count is the number of partitions, 0 while there is no such topic.
	Count() int32
	// StatePartition returns a partition that is open on this node. The same open partition is always the same value.
	StatePartition(p int32) (Partition, error)
}

// Topics tells which topics exist.
type Topics interface {
	// Partitions returns how many partitions a topic has; internal ones take no records from clients.
	Partitions(topic string) (count int32, internal, ok bool)
}

// Markers writes markers into partitions, wherever their leader is.
type Markers interface {
	// Write returns when the marker is committed. It may be called for many partitions at once, and again after any error:
	// a marker for a transaction that has ended changes nothing. ErrNoPartition, ErrNewerProducer and ErrNewerCoordinator are
	// final, other errors are not.
	Write(ctx context.Context, topic string, partition int32, m record.Marker) error
}

// PartitionOf returns the partition of the state topic that a transactional id belongs to, as all Kafka clients and tools
// reckon it.
func PartitionOf(transactionalID string, count int32) int32 {
	return javahash.Partition(transactionalID, count)
}

// Coordinator answers the requests of transactions for all partitions of the state topic that this node leads. All methods may
// be called at any time from any goroutine; requests are answered while Run runs.
type Coordinator struct {
	env    *env
	ids    producerIDs
	shards *led.Set[*shard]
}

// New makes a coordinator. It starts nothing.
func New(cfg Config) (*Coordinator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.fill()
	c := &Coordinator{ids: producerIDs{allocate: cfg.AllocateProducerIDs}}
	c.shards = led.New(led.Config[*shard]{Count: cfg.Partitions.Count, Led: c.led, LoadWait: cfg.LoadWait})
	c.env = &env{cfg: cfg, log: cfg.Log.With("room", "txn"), metrics: newMetrics(cfg.Registry, c)}
	return c, nil
}

// Wake makes the coordinator look at once whether it leads other partitions than before. Without it that is noticed with the
// next request to such a partition, or within a second.
func (c *Coordinator) Wake() { c.shards.Wake() }

// Run loads the partitions that this node leads and gives up those it no longer does, until ctx ends. Parked requests are
// answered before it returns.
func (c *Coordinator) Run(ctx context.Context) error { return c.shards.Run(ctx) }

// led returns how to make the shard of a partition if this node leads it and may serve it.
func (c *Coordinator) led(p int32) (led.Open[*shard], bool) {
	part, err := c.env.cfg.Partitions.StatePartition(p)
	if err != nil {
		return nil, false
	}
	node, epoch, serving := part.Leader()
	if !serving || node != c.env.cfg.NodeID {
		return nil, false
	}
	return func(ctx context.Context, cancel context.CancelCauseFunc) *shard {
		return newShard(ctx, cancel, p, epoch, part, c.env)
	}, true
}

// shardOf returns the loaded shard that coordinates a transactional id, or the code to answer.
func (c *Coordinator) shardOf(ctx context.Context, id string) (*shard, int16) {
	return c.shards.For(ctx, id, PartitionOf)
}
