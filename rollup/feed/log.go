package feed

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
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

// Bounds are the first and the next offset of a partition.
type Bounds struct{ Start, End int64 }

// PartitionBounds asks for the bounds of all partitions of a topic. It fails when the topic does not exist.
func PartitionBounds(ctx context.Context, client *kgo.Client, topic string) (map[int32]Bounds, error) {
	admin := kadm.NewClient(client)
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	var ends kadm.ListedOffsets
	if err == nil {
		ends, err = admin.ListEndOffsets(ctx, topic)
	}
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the offsets of topic %s: %w", topic, err)
	}
	bounds := map[int32]Bounds{}
	for partition, offset := range starts[topic] {
		bounds[partition] = Bounds{Start: offset.Offset, End: ends[topic][partition].Offset}
	}
	return bounds, nil
}

// Range is a stretch of a partition: the offsets from From up to, and without, To.
type Range struct {
	Partition int32
	From, To  int64
}

// Read hands over the records of some ranges, each in the order of its offsets; ranges are interleaved. It is for topics that are not
// compacted. f may not keep the record.
func (l Log) Read(ctx context.Context, topic string, ranges []Range, f func(*kgo.Record) error) error {
	left := map[int32]Range{}
	from := map[int32]kgo.Offset{}
	for _, r := range ranges {
		if r.From < r.To {
			left[r.Partition] = r
			from[r.Partition] = kgo.NewOffset().At(r.From)
		}
	}
	if len(left) == 0 {
		return nil
	}
	client, err := l.Client(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxBytes(16<<20),
		kgo.FetchMaxPartitionBytes(4<<20),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read topic %s: %w", topic, err)
		}
		var failed error
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			want, reading := left[p.Partition]
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
			return failed
		}
	}
	return nil
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
