package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-analytics/weir/broker"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/ingest/hit"
	"github.com/weir-analytics/weir/raftfsm"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup"
	"github.com/weir-analytics/weir/rollup/feed"
)

// Shape is a kind of hits to count.
type Shape struct {
	Name  string
	Sites int
	Pages int // of each site; 0: every hit has a page of its own
	Span  time.Duration
	Hits  int
}

// Shapes are ordinary traffic, and what is hard to count.
func Shapes() []Shape {
	return []Shape{
		{"10 sites, 1 minute", 10, 300, time.Minute, 1_000_000},
		{"100 sites, 10 minutes", 100, 300, 10 * time.Minute, 200_000},
		{"1000 sites, 1 minute", 1000, 300, time.Minute, 50_000},
		{"no page twice", 1, 0, time.Minute, 100_000},
		{"history of 7000 hours", 1, 300, 7000 * time.Hour, 20_000},
	}
}

// Counting is what counting the hits of a shape took.
type Counting struct {
	Hits int
	CPU  time.Duration // of all cores: fetch, decode, tally, folds, publish, commit, and the table
	Bare time.Duration // of decoding the same hits in memory and adding them to counters of three lengths of windows

	Written map[string]int64 // records, by topic of deltas and cells
}

// Count writes hits to a log in dir, which is made, and then counts them from there: log, groups, folds and table in this process.
// It measures CPU time, so the process should do nothing else.
func Count(ctx context.Context, dir string, shape Shape) (c Counting, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return c, fmt.Errorf("make the directory of the log: %w", err)
	}
	quiet := slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(ctx)
	group, running := errgroup.WithContext(ctx)
	defer func() {
		cancel()
		if ended := group.Wait(); err == nil && !errors.Is(ended, context.Canceled) {
			err = ended
		}
	}()
	log, err := openLog(running, group, dir, quiet)
	if err != nil {
		return c, err
	}
	values, partitions := shape.make()
	ends, err := write(ctx, log, values, partitions)
	if err != nil {
		return c, err
	}
	before := cpuTime()
	if err := bare(values); err != nil {
		return c, err
	}
	c.Hits, c.Bare = len(values), cpuTime()-before
	values, partitions = nil, nil
	room, err := rollup.Open(rollup.Config{Seeds: []string{log.Addr().String()}, Dialer: log.Dial, Sites: shape.sites(), Dir: filepath.Join(dir, "rollup"), Log: quiet})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, room.Close()) }()
	before = cpuTime()
	counting, stop := context.WithCancel(running)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = room.Run(counting) // returns the cause of counting only
	}()
	err = room.WaitFor(counting, ends)
	c.CPU = cpuTime() - before
	stop()
	<-done
	if err == nil {
		c.Written, err = written(ctx, feed.Log{Seeds: []string{log.Addr().String()}, Dialer: log.Dial, Logger: quiet})
	}
	return c, err
}

// written returns how many records the topics have that counting writes.
func written(ctx context.Context, log feed.Log) (map[string]int64, error) {
	client, err := log.Client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	records := map[string]int64{}
	for _, topic := range []string{rollup.TopicDeltas, rollup.TopicMinute, rollup.TopicHour, rollup.TopicDay} {
		bounds, err := feed.PartitionBounds(ctx, client, topic)
		if err != nil {
			return nil, err
		}
		for _, b := range bounds {
			records[topic] += b.End
		}
	}
	return records, nil
}

// openLog opens a controller and a broker with the topics of the pipeline, and runs them in the group.
func openLog(ctx context.Context, group *errgroup.Group, dir string, quiet *slog.Logger) (*broker.Broker, error) {
	cfg := raftfsm.Default(dir)
	cfg.Log = quiet
	ctl, err := raftfsm.Open(cfg)
	if err != nil {
		return nil, err
	}
	group.Go(func() error { return ctl.Run(ctx) })
	select {
	case <-ctl.Ready():
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	bc := broker.Default()
	bc.DataDir, bc.ServerID, bc.NodeID, bc.Log = dir, ctl.ServerID(), ctl.NodeID(), quiet
	bc.Listeners = []broker.Listener{broker.Plaintext("127.0.0.1:0")}
	b, err := broker.Open(bc, ctl)
	if err != nil {
		return nil, err
	}
	group.Go(func() error { return b.Run(ctx) })
	host, text, err := net.SplitHostPort(b.Addr().String())
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, err
	}
	if err := ctl.RegisterBroker(ctx, state.Broker{ID: ctl.NodeID(), ServerID: ctl.ServerID(), Host: host, Port: int32(port)}); err != nil {
		return nil, err
	}
	for _, topic := range rollup.Topics() {
		if _, err := ctl.CreateTopic(ctx, topic); err != nil {
			return nil, err
		}
	}
	select {
	case <-b.Ready():
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// write appends hits in batches of a thousand, as ingest does under load, and returns where the partitions end.
func write(ctx context.Context, log *broker.Broker, values [][]byte, partitions []int32) (map[int32]int64, error) {
	ends := map[int32]int64{}
	queues := map[int32][]record.Record{}
	send := func(partition int32) error {
		queue := queues[partition]
		if len(queue) == 0 {
			return nil
		}
		base, err := appendPatiently(ctx, log, partition, queue)
		if err != nil {
			return fmt.Errorf("write hits: %w", err)
		}
		ends[partition] = base + int64(len(queue))
		queues[partition] = queue[:0]
		return nil
	}
	for i, value := range values {
		partition := partitions[i]
		queue := queues[partition]
		queues[partition] = append(queue, record.Record{Value: value, OffsetDelta: int32(len(queue)), TimestampMs: time.Now().UnixMilli()})
		if len(queues[partition]) == 1000 {
			if err := send(partition); err != nil {
				return nil, err
			}
		}
	}
	for partition := range queues {
		if err := send(partition); err != nil {
			return nil, err
		}
	}
	return ends, nil
}

// appendPatiently appends a batch, and waits for a partition that was just made to have its leader.
func appendPatiently(ctx context.Context, log *broker.Broker, partition int32, records []record.Record) (int64, error) {
	for {
		base, err := log.Append(ctx, rollup.TopicEvents, partition, records)
		if !errors.Is(err, replica.ErrNotReady) && !errors.Is(err, replica.ErrNotLeader) {
			return base, err
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// sites is a fixed set of sites.
type sites struct{ state *state.State }

func (s sites) State() *state.State { return s.state }

func (s Shape) sites() sites {
	st := &state.State{Sites: map[state.SiteID]state.Site{}, NextSiteID: uint32(s.Sites + 1)}
	for id := uint32(1); id <= uint32(s.Sites); id++ {
		st.Sites[id] = state.Site{ID: id, Name: fmt.Sprintf("site%d.example", id), Timezone: "Europe/Berlin", Generation: 1}
	}
	st.Reindex()
	return sites{st}
}

// make makes the hits of a shape up, in order of their time, with the partition of each.
func (s Shape) make() (values [][]byte, partitions []int32) {
	rng := rand.New(rand.NewPCG(1, 1))
	popular := rand.NewZipf(rng, 1.2, 4, uint64(s.Sites-1))
	pages := rand.NewZipf(rng, 1.1, 3, uint64(max(s.Pages-1, 0)))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	to := time.Now()
	from := to.Add(-s.Span).UnixMilli()
	for i := range s.Hits {
		site, page := uint32(popular.Uint64()+1), pages.Uint64()
		if s.Pages == 0 {
			page = uint64(i)
		}
		h := hit.Hit{SiteID: site, Site: fmt.Sprintf("site%d.example", site), TimeMs: from + int64(i)*s.Span.Milliseconds()/int64(s.Hits), ReceivedMs: to.UnixMilli(),
			Kind: hit.Pageview, ID: hit.ID{Source: "bench", Seq: uint64(i + 1)}, Visitor: rng.Uint64N(20000)*0x9e3779b97f4a7c15 + 1,
			Host: "www.example.com", Path: fmt.Sprintf("/blog/%d/a-title-of-some-length", page), Referrer: "https://news.example/item",
			RefHost: pick("", "news.example", "t.co", "www.google.com"), Country: pick("DE", "US", "FR", "GB", "JP", ""),
			Browser: pick("Chrome", "Safari", "Firefox"), OS: pick("Windows", "iOS", "Android", "macOS"), Device: pick("desktop", "mobile"),
			Agent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/135.0.0.0 Safari/537.36"}
		values = append(values, hit.Append(nil, &h))
		partitions = append(partitions, int32(h.Visitor%rollup.Partitions))
	}
	return values, partitions
}

// bare is what counting is compared with: the hits are decoded where they lie and added, by site, to counters of minute, hour and day.
func bare(values [][]byte) error {
	var h hit.Hit
	type window struct {
		site  uint32
		start int64
	}
	var counts [3]map[window]int
	for i := range counts {
		counts[i] = map[window]int{}
	}
	for _, value := range values {
		if err := hit.Borrow(value, &h); err != nil {
			return err
		}
		for i, length := range [...]int64{60_000, 3_600_000, 86_400_000} {
			counts[i][window{h.SiteID, h.TimeMs / length}]++
		}
	}
	return nil
}
