package feed

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Worker counts one partition. Its methods are called by one goroutine at a time. Any error makes the feed start over.
type Worker interface {
	// Add takes records at rising offsets and returns how many it took: fewer than all when it is full and has to be flushed first.
	// The worker may keep the records until the next Flushed.
	Add(ctx context.Context, records []*kgo.Record, now time.Time) (int, error)
	// Due returns the time at which the worker is to be flushed, and the zero time when there is nothing to publish.
	Due() time.Time
	// Flush returns what is to be published: records with topic and partition set. Nothing is fine.
	Flush(ctx context.Context, now time.Time) ([]*kgo.Record, error)
	// Flushed is called when all records that Flush returned are committed. Their offsets are set.
	Flushed(records []*kgo.Record, now time.Time) error
	// Position returns the offset of the input up to which everything is published.
	Position() int64
}

// Closer is a worker that wants to know when it is let go: its partition was taken away, or the feed starts over. Close is called once,
// after the last call of any other method.
type Closer interface{ Close() }

// Start is a worker and the offset at which it wants its first record, or why the partition cannot be counted now.
type Start struct {
	Worker Worker
	Offset int64
	Err    error
}

// Config says what a feed does.
type Config struct {
	Log   Log
	Group string
	Topic string // that is read
	// Member names this member for ever: when its process dies and comes back, it has its partitions back at once. Two members that run at
	// the same time need two names. Empty: the group forgets the member when it goes, and others wait for its session to end.
	Member string
	// Open makes the workers of partitions that were assigned, for all of them together. It reads from the log where they were.
	Open func(ctx context.Context, partitions []int32) (map[int32]Start, error)
	// Codec compresses what is published. The zero codec is lz4.
	Codec kgo.CompressionCodec
	// Tick is how often workers are asked whether they are due while no record comes. 0 is one second.
	Tick    time.Duration
	Metrics *Metrics // nil: counted and not shown
}

// Feed is one member of a consumer group. Make it with New and call Run once.
type Feed struct {
	cfg  Config
	sick *sick
}

// New returns a feed.
func New(cfg Config) *Feed {
	if cfg.Tick == 0 {
		cfg.Tick = time.Second
	}
	if cfg.Codec == (kgo.CompressionCodec{}) {
		cfg.Codec = kgo.Lz4Compression()
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics(nil)
	}
	return &Feed{cfg: cfg, sick: newSick(cfg)}
}

// Sick returns the partitions that are not counted, and why.
func (f *Feed) Sick() map[int32]error { return f.sick.all() }

// Run reads, counts and publishes until ctx ends. It starts over by itself after errors of any kind, and says so in the log; it returns
// only the cause of ctx.
func (f *Feed) Run(ctx context.Context) error {
	log := f.cfg.Log.Logger.With("group", f.cfg.Group)
	for tries := 0; ; tries++ {
		began := time.Now()
		err := runSession(ctx, f.cfg, f.sick)
		if ctx.Err() != nil {
			f.leave()
			return context.Cause(ctx)
		}
		if time.Since(began) > time.Minute {
			tries = 0
		}
		var one *partitionError
		if errors.As(err, &one) {
			f.sick.failed(one.partition, one.err, time.Now())
		}
		wait := backoff(tries) + rand.N(50*time.Millisecond)
		f.cfg.Metrics.restarts.WithLabelValues(f.cfg.Group).Inc()
		switch {
		case errors.Is(err, ErrLostRace):
			log.Info("another member counts a partition of ours: starting over", "err", err)
		case errors.Is(err, errWell):
			log.Info("a partition can be counted again", "err", err)
		case one == nil || f.sick.speak(one.partition, time.Now()):
			log.Warn("counting starts over from the log", "err", err, "wait", wait)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// leave tells the group that this member will not be back soon, so that others take its partitions over. Members without a name have
// said so when their session ended.
func (f *Feed) leave() {
	if f.cfg.Member == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	client, err := f.cfg.Log.Client()
	if err == nil {
		defer client.Close()
		_, err = kadm.NewClient(client).LeaveGroup(ctx, kadm.LeaveGroup(f.cfg.Group).InstanceIDs(f.cfg.Member))
	}
	if err != nil {
		f.cfg.Log.Logger.Debug("leave a group", "group", f.cfg.Group, "err", err)
	}
}

// ErrLostRace is returned by workers who find that somebody else has published for their partition.
var ErrLostRace = errors.New("somebody else published for this partition")
