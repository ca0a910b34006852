package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/raftfsm/state"
)

// Bounds of what waits to be written, over all partitions, beside ingest's own queue: batches whose outcome is not known yet.
const (
	bufferedRecords = 200_000
	bufferedBytes   = 64 << 20
)

// Log is a log in an existing cluster. Its methods may be called from any goroutine.
type Log struct {
	opts   Options
	conn   []kgo.Opt
	log    *slog.Logger
	client *kgo.Client

	topics atomic.Pointer[map[string]int32] // partitions by topic, once they are made and right
	ready  chan struct{}
	said   atomic.Pointer[string] // why it is not ready
}

// Open makes a client. It reads the files of TLS and reaches nobody yet.
func Open(opts Options, log *slog.Logger) (*Log, error) {
	conn, err := opts.Client()
	if err != nil {
		return nil, err
	}
	l := &Log{opts: opts, conn: conn, log: log, ready: make(chan struct{})}
	l.client, err = kgo.NewClient(slices.Concat([]kgo.Opt{
		kgo.SeedBrokers(opts.Brokers...),
		kgo.ClientID("weir-ingest"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.ProducerLinger(0),
		kgo.ProducerBatchMaxBytes(batchBytes),
		kgo.MaxBufferedRecords(bufferedRecords),
		kgo.MaxBufferedBytes(bufferedBytes),
		kgo.MetadataMinAge(250 * time.Millisecond),
	}, conn)...)
	if err != nil {
		return nil, fmt.Errorf("--kafka-brokers: %w", err)
	}
	return l, nil
}

// Seeds are the brokers that were named.
func (l *Log) Seeds() []string { return l.opts.Brokers }

// Conn are the options with which any client reaches the cluster, beside its seeds.
func (l *Log) Conn() []kgo.Opt { return l.conn }

// Ready is closed once the topics are there and right.
func (l *Log) Ready() <-chan struct{} { return l.ready }

// Check says whether the topics are there and right, and if not, why.
func (l *Log) Check() (bool, string) {
	select {
	case <-l.ready:
		return true, ""
	default:
	}
	if why := l.said.Load(); why != nil {
		return false, *why
	}
	return false, "the Kafka cluster is being asked for its topics"
}

// Partitions is the number of partitions of a topic, 0 until Prepare has found it.
func (l *Log) Partitions(topic string) int32 {
	topics := l.topics.Load()
	if topics == nil {
		return 0
	}
	return (*topics)[topic]
}

// Close gives up what was not written yet, whose outcome is unknown.
func (l *Log) Close() error {
	l.client.Close()
	return nil
}

// sayEvery is how often the log says that the cluster can't be reached.
const sayEvery = 10 * time.Second

// Prepare makes the topics that are missing and checks those that are there; then hits are taken. It waits for a cluster that can't be reached
// until ctx ends. accept is told the cluster's id before anything is written to it; its error is returned. An error that is not ctx's is one
// that waiting does not mend. Call it once.
func (l *Log) Prepare(ctx context.Context, specs []state.TopicSpec, accept func(clusterID string) error) error {
	said := time.Time{}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		try, cancel := context.WithTimeout(ctx, 30*time.Second)
		topics, err := prepare(try, kadm.NewClient(l.client), specs, accept)
		cancel()
		if err == nil {
			l.topics.Store(&topics)
			close(l.ready)
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var final *finalError
		if errors.As(err, &final) {
			return final.error
		}
		why := fmt.Sprintf("the Kafka cluster at %s: %v", strings.Join(l.opts.Brokers, ","), err)
		l.said.Store(&why)
		if time.Since(said) >= sayEvery {
			l.log.Warn("hits wait for the Kafka cluster", "brokers", l.opts.Brokers, "err", err)
			said = time.Now()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}
