package txn

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config is what a Coordinator needs. Start from Default.
type Config struct {
	NodeID     int32
	Partitions Partitions // required
	Topics     Topics     // required
	Markers    Markers    // required
	// GroupPartition returns the partition that holds the offsets of a group, ok false while there is none.
	GroupPartition func(group string) (topic string, partition int32, ok bool) // required
	// AllocateProducerIDs returns the first of n ids that nobody else has or gets.
	AllocateProducerIDs func(ctx context.Context, n int64) (first int64, err error) // required
	Log                 *slog.Logger                                                // nil: nothing is logged
	Registry            prometheus.Registerer                                       // nil: metrics are not exported

	// MaxTimeout is the longest timeout of a transaction that a producer may ask for (transaction.max.timeout.ms).
	MaxTimeout time.Duration
	// IDExpiry is how long a transactional id is remembered after its last use (transactional.id.expiration.ms).
	IDExpiry time.Duration
	// ExpiryEvery is how often expired transactional ids are looked for.
	ExpiryEvery time.Duration
	// BatchBytes bounds the records joined into one batch.
	BatchBytes int
	// QueueBytes bounds the records of one partition that wait to be written. A request that finds the queue full is refused
	// with COORDINATOR_NOT_AVAILABLE and may be tried again; the end of a transaction that has begun to end is never refused.
	QueueBytes int
	// LoadWait is how long a request waits for a partition that is being loaded before it is answered
	// COORDINATOR_LOAD_IN_PROGRESS.
	LoadWait time.Duration
	// SettleWait is how long a request waits for the change of the same transaction that is under way before it is answered
	// CONCURRENT_TRANSACTIONS. Clients back off longer than most changes take.
	SettleWait time.Duration
	// MarkersAtOnce bounds how many markers of one transaction are written at the same time.
	MarkersAtOnce int

	Now func() time.Time // nil: time.Now
}

// Default is Kafka's configuration without what is required.
func Default() Config {
	return Config{
		MaxTimeout:    15 * time.Minute,
		IDExpiry:      7 * 24 * time.Hour,
		ExpiryEvery:   time.Hour,
		BatchBytes:    256 << 10,
		QueueBytes:    16 << 20,
		LoadWait:      300 * time.Millisecond,
		SettleWait:    300 * time.Millisecond,
		MarkersAtOnce: 16,
	}
}

// Validate says which value is out of its range.
func (c Config) Validate() error {
	switch {
	case c.Partitions == nil || c.Topics == nil || c.Markers == nil || c.GroupPartition == nil || c.AllocateProducerIDs == nil:
		return fmt.Errorf("%w: one of Partitions, Topics, Markers, GroupPartition and AllocateProducerIDs is missing", ErrInvalidConfig)
	case c.MaxTimeout < time.Millisecond || c.IDExpiry <= 0 || c.ExpiryEvery <= 0:
		return fmt.Errorf("%w: MaxTimeout is %v, IDExpiry %v and ExpiryEvery %v, want more than 0", ErrInvalidConfig, c.MaxTimeout, c.IDExpiry, c.ExpiryEvery)
	case c.BatchBytes <= 0 || c.QueueBytes <= 0 || c.MarkersAtOnce < 1:
		return fmt.Errorf("%w: BatchBytes is %d, QueueBytes %d and MarkersAtOnce %d, want more than 0", ErrInvalidConfig, c.BatchBytes, c.QueueBytes, c.MarkersAtOnce)
	case c.LoadWait < 0 || c.SettleWait < 0:
		return fmt.Errorf("%w: LoadWait and SettleWait must not be negative", ErrInvalidConfig)
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
}

// env is what all transactions of a coordinator share.
type env struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
}
