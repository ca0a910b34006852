package rollup

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/fold"
	"github.com/weir-analytics/weir/rollup/refusals"
	"github.com/weir-analytics/weir/rollup/table"
	"github.com/weir-analytics/weir/rollup/tally"
	"github.com/weir-analytics/weir/rollup/zone"
)

// Sites tells which sites there are. The state of the node's controller is one.
type Sites interface{ State() *state.State }

// Config says where the log is, where the table may be, and who asks.
type Config struct {
	Seeds   []string                                                          // HOST:PORT of the log's brokers
	Dialer  func(ctx context.Context, network, host string) (net.Conn, error) // nil: plain TCP
	Opts    []kgo.Opt                                                         // TLS, SASL and the like
	Sites   Sites
	Dir     string // of the table; made if it does not exist
	Refused string // topic with the numbers of hits that were refused; empty: none is read
	Member  string // names this node in the consumer groups, for ever; empty: a name made up once and kept in Dir

	TableCacheBytes int64 // blocks of the table in memory; 0 is 32 MiB
	FoldCacheBytes  int   // windows in memory, of each partition and length; 0 is 8 MiB

	Now      func() time.Time      // nil: time.Now
	Log      *slog.Logger          // nil: slog.Default
	Registry prometheus.Registerer // nil: metrics are counted and not shown
}

// Rollup is the counting room of one node. Make it with Open, call Run once, then Close. Everything else is safe for concurrent use.
type Rollup struct {
	cfg   Config
	log   feed.Log
	table *table.Table
	tally *tally.Tally
	folds []*fold.Fold
	feeds *feed.Metrics
	ends  *ends
	ready atomic.Bool

	refused *refusals.Ledger

	counting atomic.Pointer[[]*feed.Feed] // once Run has begun to count

	partitions atomic.Int32 // of each topic; Partitions until the log has said another number
}

// Open opens the table. It starts nothing and does not need the log yet.
func Open(cfg Config) (*Rollup, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the table of counts: %w", err)
	}
	if cfg.Member == "" {
		name, err := memberName(cfg.Dir)
		if err != nil {
			return nil, err
		}
		cfg.Member = name
	}
	logger := cfg.Log.With("room", "rollup")
	r := &Rollup{cfg: cfg, log: feed.Log{Seeds: cfg.Seeds, Dialer: cfg.Dialer, Opts: cfg.Opts, Logger: logger}, feeds: feed.NewMetrics(cfg.Registry), ends: newEnds(cfg.Now),
		refused: refusals.NewLedger()}
	r.partitions.Store(Partitions)
	var err error
	r.table, err = table.Open(table.Config{Dir: filepath.Join(cfg.Dir, "table"), Log: r.log, Topics: unitTopics, CacheBytes: cfg.TableCacheBytes,
		Metrics: table.NewMetrics(cfg.Registry), Logger: logger})
	if err != nil {
		return nil, err
	}
	r.tally = &tally.Tally{Log: r.log, Events: TopicEvents, Deltas: TopicDeltas, State: TopicState, Sites: cfg.Sites, Store: r.table.Identities(),
		Metrics: tally.NewMetrics(cfg.Registry), Logger: logger}
	metrics := fold.NewMetrics(cfg.Registry)
	for unit, topic := range unitTopics {
		r.folds = append(r.folds, &fold.Fold{Log: r.log, Deltas: TopicDeltas, Topic: topic, Unit: unit, Sites: cfg.Sites, Table: r.table,
			Cache: cfg.FoldCacheBytes, Metrics: metrics, Logger: logger})
	}
	return r, nil
}

// Run counts until ctx ends. It waits for the log and its topics, and starts over by itself after errors, so it returns only the cause of
// ctx, or an error of the local disk.
func (r *Rollup) Run(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	counting := []*feed.Feed{feed.New(feed.Config{Log: r.log, Group: GroupTally, Topic: TopicEvents, Open: r.tally.Open, Member: r.cfg.Member, Metrics: r.feeds})}
	for _, f := range r.folds {
		counting = append(counting, feed.New(feed.Config{Log: r.log, Group: unitGroups[f.Unit], Topic: TopicDeltas, Open: f.Open, Member: r.cfg.Member,
			Metrics: r.feeds, Codec: kgo.ZstdCompression().WithLevel(1)})) // cells are text that repeats much: half the bytes of lz4
	}
	r.counting.Store(&counting)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.table.Run(ctx) })
	for _, f := range counting {
		group.Go(func() error { return f.Run(ctx) })
	}
	group.Go(func() error { return r.ends.run(ctx, r.log) })
	if r.cfg.Refused != "" {
		group.Go(func() error { return r.refused.Follow(ctx, r.log, r.cfg.Refused, r.cfg.Now) })
	}
	r.ready.Store(true)
	defer r.ready.Store(false)
	return group.Wait()
}

// Ready says whether counting runs, and if not, what it waits for.
func (r *Rollup) Ready() (bool, string) {
	if !r.ready.Load() {
		return false, "counting waits for the topics of the log"
	}
	if err := r.table.Damaged(); err != nil {
		return false, err.Error()
	}
	behind, known, _ := r.table.Behind()
	switch {
	case !known:
		return false, "the table of counts waits for the log to say where it ends"
	case behind > 0:
		return false, fmt.Sprintf("the table of counts is being read from the log: %d records to go", behind)
	}
	if feeds := r.counting.Load(); feeds != nil {
		for _, f := range *feeds {
			for partition, err := range f.Sick() {
				return false, fmt.Sprintf("partition %d is not counted, the others are: %s", partition, err)
			}
		}
	}
	return true, ""
}

// Close closes the table. Run must have returned.
func (r *Rollup) Close() error { return r.table.Close() }

// prepare waits until the topics are there, and empties what the table has of topics that are gone.
func (r *Rollup) prepare(ctx context.Context) error {
	client, err := r.log.Client()
	if err != nil {
		return err
	}
	defer client.Close()
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		ids, partitions, err := findTopics(ctx, kadm.NewClient(client))
		if err == nil {
			r.partitions.Store(partitions)
			return r.table.Fit(ids, TopicEvents)
		}
		r.log.Logger.Debug("counting waits for the log", "err", err)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// findTopics returns the ids of the topics and the number of their partitions, and an error while one is missing or has another number
// than the rest.
func findTopics(ctx context.Context, admin *kadm.Client) (ids map[string][16]byte, partitions int32, err error) {
	names := []string{TopicEvents, TopicDeltas, TopicState, TopicMinute, TopicHour, TopicDay}
	topics, err := admin.ListTopics(ctx, names...)
	if err != nil {
		return nil, 0, fmt.Errorf("ask for topics: %w", err)
	}
	ids = map[string][16]byte{}
	for _, name := range names {
		topic, ok := topics[name]
		switch {
		case !ok:
			return nil, 0, fmt.Errorf("topic %s is missing", name)
		case topic.Err != nil:
			return nil, 0, fmt.Errorf("topic %s: %w", name, topic.Err)
		case len(topic.Partitions) != len(topics[TopicEvents].Partitions):
			return nil, 0, fmt.Errorf("topic %s has %d partitions and %s has %d; the numbers have to be equal", name, len(topic.Partitions),
				TopicEvents, len(topics[TopicEvents].Partitions))
		}
		ids[name] = topic.ID
	}
	return ids, int32(len(topics[TopicEvents].Partitions)), nil
}

// Highest returns the highest sequence of a source that this node has counted in a partition of events, 0 when it knows of none: another node
// may count the partition. A hit with this sequence or a lower one is a repeat.
func (r *Rollup) Highest(partition int32, source string) (uint64, error) {
	return r.table.Identities().Highest(partition, source)
}

// CatchUp returns when every event that was committed a moment ago is in the counts of minutes, or when ctx ends.
func (r *Rollup) CatchUp(ctx context.Context) error {
	return r.WaitForMinutes(ctx, r.ends.get(ctx).offsets)
}

// WaitFor returns when every event before the given offset of each partition of events is in the counts of every length of windows.
func (r *Rollup) WaitFor(ctx context.Context, offsets map[int32]int64) error {
	return r.waitFor(ctx, offsets, zone.Minute, zone.Hour, zone.Day)
}

// WaitForMinutes returns when every event before the given offset of each partition of events is in the counts of minutes.
func (r *Rollup) WaitForMinutes(ctx context.Context, offsets map[int32]int64) error {
	return r.waitFor(ctx, offsets, zone.Minute)
}

func (r *Rollup) waitFor(ctx context.Context, offsets map[int32]int64, units ...zone.Unit) error {
	for {
		changed := r.table.Changed()
		done, err := r.countedTo(offsets, units)
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

func (r *Rollup) countedTo(offsets map[int32]int64, units []zone.Unit) (bool, error) {
	for partition, offset := range offsets {
		for _, unit := range units {
			progress, _, err := r.table.Progress(unit, partition)
			if err != nil || progress.SourceTo < offset {
				return false, err
			}
		}
	}
	return true, nil
}

// Watch returns a channel that gets a token when counts of a site changed, and a function that ends the watch. A token that was not
// taken stands for all changes since.
func (r *Rollup) Watch(site state.SiteID) (<-chan struct{}, func()) { return r.table.Watch(site) }
