package group

import (
	"context"

	"github.com/weir-analytics/weir/broker/led"
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
	// records are the caller's again when it returns. Errors that are none of led.ErrNotWritten, led.ErrNotLeader and led.ErrTooLarge mean
	// that the records may or may not be in the log, now or later. There is one call at a time.
	Append(ctx context.Context, recs []record.Record) (base int64, err error)
	// AppendInTxn is Append in a producer's transaction, with ErrTxnEnded and ErrProducerFenced among what led.ErrNotWritten may mean.
	AppendInTxn(ctx context.Context, in Transaction, recs []record.Record) (base int64, err error)
	// AppendMarker ends a producer's transaction and returns when that is committed and durable. A marker that has nothing to end
	// is not written. Errors as for AppendInTxn, and calls never at the same time as those of Append.
	AppendMarker(ctx context.Context, m record.Marker) error
	led.Log
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
	env    *env
	shards *led.Set[*shard]
}

// New makes a coordinator. It starts nothing.
func New(cfg Config) (*Coordinator, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.fill()
	c := &Coordinator{}
	c.shards = led.New(led.Config[*shard]{Count: cfg.Partitions.Count, Led: c.led, LoadWait: cfg.LoadWait})
	c.env = &env{cfg: cfg, log: cfg.Log.With("room", "group"), metrics: newMetrics(cfg.Registry, c)}
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
	part, err := c.env.cfg.Partitions.OffsetsPartition(p)
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

// shardOf returns the loaded shard that coordinates a group, or the code to answer.
func (c *Coordinator) shardOf(ctx context.Context, groupID string) (*shard, int16) {
	return c.shards.For(ctx, groupID, PartitionOf)
}
