package replica

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/vfs"
	"github.com/weir-analytics/weir/raftfsm/hardstate"
	"github.com/weir-analytics/weir/raftfsm/transport"
)

// Timestamps says whose clock the records of a topic carry.
type Timestamps int8

const (
	// CreateTime keeps the times that producers set.
	CreateTime Timestamps = iota
	// LogAppendTime stamps each batch when the leader takes it; within a
	// partition these times never go back.
	LogAppendTime
)

// Settings are what a topic's configuration says; SetSettings changes them
// while the replica runs.
type Settings struct {
	// SegmentBytes is the size of a segment, 0 for 128 MiB. A change holds
	// from the next start on.
	SegmentBytes int64
	// MaxBatchBytes bounds one batch, as sent; 0 for 1 MiB.
	MaxBatchBytes int
	Timestamps    Timestamps
	// RetainFor is how long records are kept, by their time; 0 for ever.
	RetainFor time.Duration
	// RetainBytes is how much is kept; 0 for no bound.
	RetainBytes int64
	// RequireKey refuses records without a key, for compacted topics.
	RequireKey bool
}

// Member is a replica of the group.
type Member struct {
	NodeID   int32
	ServerID string
	Address  string
}

// Config is what a replica is opened with.
type Config struct {
	Topic     string
	TopicID   [16]byte
	Partition int32

	// Dir holds the partition alone; it is made when missing.
	Dir string
	FS  vfs.FS // nil for the real one

	NodeID int32
	// ServerID names this node among the voters; it must change when the node
	// loses its disk.
	ServerID string
	// Members are the first voters of a new group; nil for this node alone.
	// They are not looked at once the group exists.
	Members []Member

	// Join says that the group exists on other nodes: with an empty directory
	// the replica waits to be sent the log instead of beginning a new group.
	Join bool

	HardState *hardstate.Store
	Transport transport.Network
	// Shared is common to all replicas of the node.
	Shared *seglog.Shared

	Settings

	// QueueBytes bounds what is queued or under way of this partition; 0 for
	// 16 MiB. A batch larger than that still gets through, alone.
	QueueBytes int64
	// ProducerExpiry is after what silence an idempotent producer is
	// forgotten; 0 for 24 hours, as Kafka has it.
	ProducerExpiry time.Duration

	Now     func() time.Time // nil for time.Now
	Metrics *Metrics         // nil counts nothing
	Log     *slog.Logger     // nil for slog.Default
	// OnEvent is told of rare, important things besides the log; it must not
	// call the replica.
	OnEvent func(Event)

	// heartbeat is shorter in tests of several replicas.
	heartbeat time.Duration
}

const (
	defaultMaxBatchBytes  = 1<<20 + 12 // Kafka's message.max.bytes
	defaultQueueBytes     = 16 << 20
	defaultProducerExpiry = 24 * time.Hour
)

func (c *Config) complete() error {
	if c.Dir == "" || c.ServerID == "" {
		return errors.New("replica: Dir and ServerID are required")
	}
	if c.HardState == nil || c.Transport == nil || c.Shared == nil {
		return errors.New("replica: HardState, Transport and Shared are required")
	}
	if c.FS == nil {
		c.FS = vfs.OS{}
	}
	if c.QueueBytes == 0 {
		c.QueueBytes = defaultQueueBytes
	}
	if c.ProducerExpiry == 0 {
		c.ProducerExpiry = defaultProducerExpiry
	}
	if c.heartbeat == 0 {
		c.heartbeat = heartbeatTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.OnEvent == nil {
		c.OnEvent = func(Event) {}
	}
	c.Log = c.Log.With("topic", c.Topic, "partition", c.Partition)
	return c.Settings.complete()
}

func (s *Settings) complete() error {
	if s.MaxBatchBytes == 0 {
		s.MaxBatchBytes = defaultMaxBatchBytes
	}
	if s.SegmentBytes < 0 || s.MaxBatchBytes < 0 || s.RetainFor < 0 || s.RetainBytes < 0 {
		return fmt.Errorf("replica: negative setting in %+v", *s)
	}
	return nil
}

// SetSettings changes what the topic's configuration says.
func (r *Replica) SetSettings(s Settings) error {
	if err := s.complete(); err != nil {
		return err
	}
	r.settings.Store(&s)
	return nil
}

func (c *Config) group() hardstate.GroupID { return hardstate.PartitionGroup(c.TopicID, c.Partition) }
