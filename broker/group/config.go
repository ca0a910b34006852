package group

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

// Config is what a Coordinator needs. Start from Default.
type Config struct {
	NodeID     int32
	Partitions Partitions            // required
	Topics     Topics                // nil: every topic name is taken as it comes and topic ids are unknown
	Log        *slog.Logger          // nil: nothing is logged
	Registry   prometheus.Registerer // nil: metrics are not exported

	// MinSession and MaxSession bound the session timeout that members ask for (group.min/max.session.timeout.ms).
	MinSession, MaxSession time.Duration
	// InitialRebalanceDelay is how long the first members of an empty group wait for others (group.initial.rebalance.delay.ms).
	// Kafka waits 3 s; a quarter of a second gathers what one machine starts together and nobody notices it.
	InitialRebalanceDelay time.Duration
	// NewMemberTimeout is how long a JoinGroup of a member without id may stay parked before the member is dropped, 5 min as in
	// Kafka: its client can't be told apart from one that has gone.
	NewMemberTimeout time.Duration
	// MaxGroupSize is the most members of one group, and the most member ids given out to it and not used yet. A guess: the
	// leader gets the metadata of all members in one answer.
	MaxGroupSize int
	// MaxMetadata is the most bytes of metadata with one offset (offset.metadata.max.bytes).
	MaxMetadata int
	// OffsetsRetention is how long offsets outlive their last use (offsets.retention.minutes).
	OffsetsRetention time.Duration
	// ExpiryEvery is how often expired offsets are looked for (offsets.retention.check.interval.ms).
	ExpiryEvery time.Duration
	// BatchBytes bounds the records joined into one batch. One request's records stay together even when larger.
	BatchBytes int
	// QueueBytes bounds the records of one partition that wait to be written. A commit that finds the queue full is refused
	// with COORDINATOR_NOT_AVAILABLE and may be tried again.
	QueueBytes int
	// LoadWait is how long a request waits for a partition that is being loaded before it is answered
	// COORDINATOR_LOAD_IN_PROGRESS. Clients back off for up to a second after that answer; an empty partition loads in less
	// than a millisecond.
	LoadWait time.Duration

	Now   func() time.Time // nil: time.Now
	NewID func() string    // nil: random UUIDs; makes member ids that can't be guessed
}

// Default is the configuration without NodeID and Partitions.
func Default() Config {
	return Config{
		MinSession: 6 * time.Second, MaxSession: 30 * time.Minute,
		InitialRebalanceDelay: 250 * time.Millisecond,
		NewMemberTimeout:      5 * time.Minute,
		MaxGroupSize:          10_000,
		MaxMetadata:           4096,
		OffsetsRetention:      7 * 24 * time.Hour,
		ExpiryEvery:           10 * time.Minute,
		BatchBytes:            256 << 10,
		QueueBytes:            16 << 20,
		LoadWait:              300 * time.Millisecond,
	}
}

// Validate says which value is out of its range.
func (c Config) Validate() error {
	switch {
	case c.Partitions == nil:
		return fmt.Errorf("%w: Partitions is missing", ErrInvalidConfig)
	case c.MinSession < 0 || c.MaxSession < c.MinSession:
		return fmt.Errorf("%w: session timeouts from %v to %v, want 0 <= min <= max", ErrInvalidConfig, c.MinSession, c.MaxSession)
	case c.InitialRebalanceDelay < 0 || c.NewMemberTimeout <= 0 || c.LoadWait < 0:
		return fmt.Errorf("%w: InitialRebalanceDelay and LoadWait must not be negative, NewMemberTimeout must be positive", ErrInvalidConfig)
	case c.MaxGroupSize < 1 || c.MaxMetadata < 0:
		return fmt.Errorf("%w: MaxGroupSize is %d and MaxMetadata %d, want at least 1 and 0", ErrInvalidConfig, c.MaxGroupSize, c.MaxMetadata)
	case c.OffsetsRetention <= 0 || c.ExpiryEvery <= 0:
		return fmt.Errorf("%w: OffsetsRetention is %v and ExpiryEvery %v, want more than 0", ErrInvalidConfig, c.OffsetsRetention, c.ExpiryEvery)
	case c.BatchBytes <= 0 || c.QueueBytes <= 0:
		return fmt.Errorf("%w: BatchBytes is %d and QueueBytes %d, want more than 0", ErrInvalidConfig, c.BatchBytes, c.QueueBytes)
	}
	return nil
}

func (c *Config) fill() {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = uuid.NewString
	}
}

// env is what all groups of a coordinator share.
type env struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
}
