package replica

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weir-analytics/weir/broker/compact"
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
	// SegmentBytes is the size of a segment, 0 for 128 MiB.
	SegmentBytes int64
	// SegmentAge is how long a segment is appended to, 0 for 7 days.
	SegmentAge time.Duration
	// MaxBatchBytes bounds one batch, as sent; 0 for 1 MiB.
	MaxBatchBytes int
	Timestamps    Timestamps
	// RetainFor is how long records are kept, by their time; 0 for ever.
	RetainFor time.Duration
	// RetainBytes is how much is kept; 0 for no bound.
	RetainBytes int64
	// RequireKey refuses records without a key, for compacted topics.
	RequireKey bool

	// Compact keeps of each key the newest record only.
	Compact bool
	// DirtyRatio is the part of the bytes of sealed segments that must be dirty
	// before they are cleaned, 0 to 1.
	DirtyRatio float64
	// MinLag is for how long at least a record is kept as it is, MaxLag after
	// how long at most it is cleaned, whatever the ratio; 0 for no bound.
	MinLag, MaxLag time.Duration
	// DeleteRetention is how long tombstones stay once they have done their work.
	DeleteRetention time.Duration
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

	// NodeOf returns the number of the node with that server id, -1 when it is
	// not known; nil: this node is alone.
	NodeOf func(server string) int32
	// Clustered says that the group may have members elsewhere: silence is noticed
	// sooner, and less is sent at once.
	Clustered bool

	HardState *hardstate.Store
	Transport transport.Network
	// Shared is common to all replicas of the node.
	Shared *seglog.Shared
	// Space watches the disk that Dir is on, and is common to all replicas of
	// that disk; nil for one of its own.
	Space *seglog.Space
	// Turn lets one replica of the node clean at a time; nil for one of its own.
	Turn *compact.Turn

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
	// cleanEvery is how often the cleaner looks, see cleanEvery.
	cleanEvery time.Duration
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
	if c.Space == nil {
		c.Space = seglog.NewSpace(c.FS, c.Dir)
	}
	if c.QueueBytes == 0 {
		c.QueueBytes = defaultQueueBytes
	}
	if c.ProducerExpiry == 0 {
		c.ProducerExpiry = defaultProducerExpiry
	}
	if c.heartbeat == 0 {
		c.heartbeat = heartbeatTimeout
		if c.Clustered {
			c.heartbeat = clusteredTimeout
		}
	}
	if c.NodeOf == nil {
		c.NodeOf = c.nodeOf
	}
	if c.cleanEvery == 0 {
		c.cleanEvery = cleanEvery
	}
	if c.Turn == nil {
		c.Turn = compact.NewTurn(compact.DefaultRate)
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
	if s.SegmentBytes < 0 || s.MaxBatchBytes < 0 || s.RetainFor < 0 || s.RetainBytes < 0 ||
		s.SegmentAge < 0 || s.MinLag < 0 || s.MaxLag < 0 || s.DeleteRetention < 0 || !(s.DirtyRatio >= 0 && s.DirtyRatio <= 1) {
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
	r.log.SetSegments(s.segments())
	return nil
}

// keysPerSegment bounds the offsets of a segment that is to be cleaned, so that
// its keys fit the cleaner's map.
const keysPerSegment = 500_000

func (s *Settings) segments() (bytes, offsets int64) {
	if s.Compact {
		offsets = keysPerSegment
	}
	return s.SegmentBytes, offsets
}

// nodeOf knows the first members alone.
func (c *Config) nodeOf(server string) int32 {
	for _, m := range append(c.Members, Member{NodeID: c.NodeID, ServerID: c.ServerID}) {
		if m.ServerID == server {
			return m.NodeID
		}
	}
	return -1
}

func (c *Config) group() hardstate.GroupID { return hardstate.PartitionGroup(c.TopicID, c.Partition) }
