package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Log says how to reach the log: the broker in this process, or any Kafka cluster.
type Log struct {
	Seeds  []string
	Dialer func(ctx context.Context, network, host string) (net.Conn, error) // nil: plain TCP
	Opts   []kgo.Opt                                                         // TLS, SASL and the like
	Logger *slog.Logger
}

// Client opens a client. The caller closes it.
func (l Log) Client(opts ...kgo.Opt) (*kgo.Client, error) {
	all := []kgo.Opt{
		kgo.SeedBrokers(l.Seeds...),
		kgo.ClientID("weir-rollup"),
		kgo.WithLogger(clientLog{l.Logger}),
		kgo.MetadataMinAge(250 * time.Millisecond), // topics are made a moment before they are read
		kgo.RetryBackoffFn(backoff),
	}
	if l.Dialer != nil {
		all = append(all, kgo.Dialer(l.Dialer))
	}
	client, err := kgo.NewClient(append(append(all, l.Opts...), opts...)...)
	if err != nil {
		return nil, fmt.Errorf("open a client of the log: %w", err)
	}
	return client, nil
}

// backoff waits between the tries of a request: the log is near, and a leader is back within a second or so.
func backoff(tries int) time.Duration {
	return min(50*time.Millisecond<<min(tries, 6), 2*time.Second)
}

// Bounds are the first and the next offset of a partition, or why they are not known.
type Bounds struct {
	Start, End int64
	Err        error
}

var errNoAnswer = errors.New("the log did not answer for it")

// PartitionBounds asks for the bounds of all partitions of a topic. It fails when the topic does not exist; a partition that fails does
// not keep the others from being known.
func PartitionBounds(ctx context.Context, client *kgo.Client, topic string) (map[int32]Bounds, error) {
	admin := kadm.NewClient(client)
	starts, err := admin.ListStartOffsets(ctx, topic)
	var ends kadm.ListedOffsets
	if err == nil || len(starts[topic]) > 0 {
		ends, err = admin.ListEndOffsets(ctx, topic)
	}
	some := err // of some partitions
	if len(ends[topic]) > 0 {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the offsets of topic %s: %w", topic, err)
	}
	bounds := map[int32]Bounds{}
	for partition, offset := range ends[topic] {
		b := Bounds{Start: starts[topic][partition].Offset, End: offset.Offset, Err: cmp.Or(starts[topic][partition].Err, offset.Err)}
		if _, ok := starts[topic][partition]; !ok {
			b.Err = errNoAnswer
		}
		if b.Err != nil {
			b.Err = fmt.Errorf("ask for the offsets of topic %s partition %d: %w", topic, partition, b.Err)
		}
		bounds[partition] = b
	}
	if unknown, ok := bounds[-1]; ok { // stands for the topic as a whole
		return nil, unknown.Err
	}
	if some == nil {
		return bounds, nil
	}
	// Partitions that no broker answers for are not in the lists.
	topics, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("ask for topic %s: %w", topic, err)
	}
	for partition, detail := range topics[topic].Partitions {
		if _, ok := bounds[partition]; !ok {
			bounds[partition] = Bounds{Err: fmt.Errorf("ask for the offsets of topic %s partition %d: %w", topic, partition, cmp.Or(detail.Err, some))}
		}
	}
	return bounds, nil
}

// Range is a stretch of a partition: the offsets from From up to, and without, To.
type Range struct {
	Partition int32
	From, To  int64
}

// stuckAfter is how long a partition may refuse to be read before it is given up. One that only changes its leader is back sooner.
const stuckAfter = 5 * time.Second

// Read hands over the records of some ranges, each in the order of its offsets; ranges are interleaved. It is for topics that are not
// compacted. f may not keep the record. Partitions that cannot be read are returned with the reason, while the others are read to the end.
func (l Log) Read(ctx context.Context, topic string, ranges []Range, f func(*kgo.Record) error) (stuck map[int32]error, err error) {
	left := map[int32]Range{}
	from := map[int32]kgo.Offset{}
	for _, r := range ranges {
		if r.From < r.To {
			left[r.Partition] = r
			from[r.Partition] = kgo.NewOffset().At(r.From)
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	client, err := l.Client(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.KeepRetryableFetchErrors(),
		kgo.FetchMaxBytes(16<<20),
		kgo.FetchMaxPartitionBytes(4<<20),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	stuck = map[int32]error{}
	since := map[int32]time.Time{} // partitions that refuse now
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read topic %s: %w", topic, context.Cause(ctx))
		}
		for _, refused := range fetches.Errors() {
			if _, reading := left[refused.Partition]; !reading {
				if refused.Partition < 0 || refused.Topic == "" {
					return nil, fmt.Errorf("read topic %s: %w", topic, refused.Err)
				}
				continue
			}
			if since[refused.Partition].IsZero() {
				since[refused.Partition] = time.Now()
			}
			if time.Since(since[refused.Partition]) >= stuckAfter || !kerr.IsRetriable(refused.Err) {
				stuck[refused.Partition] = fmt.Errorf("read topic %s partition %d: %w", topic, refused.Partition, refused.Err)
				delete(left, refused.Partition)
				client.PauseFetchPartitions(map[string][]int32{topic: {refused.Partition}})
			}
		}
		var failed error
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			want, reading := left[p.Partition]
			if len(p.Records) > 0 {
				delete(since, p.Partition)
			}
			for _, record := range p.Records {
				if !reading || failed != nil {
					return
				}
				if record.Offset < want.To {
					failed = f(record)
				}
				if record.Offset >= want.To-1 {
					delete(left, p.Partition)
					reading = false
				}
			}
		})
		if failed != nil {
			return nil, failed
		}
	}
	return stuck, nil
}

// clientLog passes what the client has to say on: its errors and warnings are ours to handle, so they are debug here.
type clientLog struct{ log *slog.Logger }

func (c clientLog) Level() kgo.LogLevel {
	if c.log.Enabled(context.Background(), slog.LevelDebug) {
		return kgo.LogLevelInfo
	}
	return kgo.LogLevelNone
}

func (c clientLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	c.log.Debug("kafka client: "+msg, append([]any{"severity", level.String()}, keyvals...)...)
}
