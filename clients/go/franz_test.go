package clients

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

type franz struct{ seed string }

func init() { drivers["franz"] = func(seed string) driver { return franz{seed} } }

func TestFranzGo(t *testing.T) {
	suite(t, franz{node.seed}, traits{noOffsets: true}, func(group, topic string) *exec.Cmd { return selfAsMember("franz", group, topic) })
}

func (f franz) client(opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append(opts, kgo.SeedBrokers(f.seed))
	if l := logins[f.seed]; l != nil {
		opts = append(opts, kgo.DialTLSConfig(l.tls()), kgo.SASL(scram.Auth{User: l.user, Pass: l.password}.AsSha512Mechanism()))
	}
	return kgo.NewClient(opts...)
}

func (f franz) produce(ctx context.Context, topic string, partition int32, o produceOpts, recs []rec) error {
	codec := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}[o.Codec]
	opts := []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(limit)}
	if !o.Idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite())
	}
	c, err := f.client(opts...)
	if err != nil {
		return err
	}
	defer c.Close()
	var list []*kgo.Record
	for _, r := range recs {
		k := &kgo.Record{Topic: topic, Partition: partition, Key: r.Key, Value: r.Value}
		if r.TimeMs != 0 {
			k.Timestamp = time.UnixMilli(r.TimeMs)
		}
		for _, h := range r.Headers {
			k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		list = append(list, k)
	}
	return c.ProduceSync(ctx, list...).FirstErr()
}

func fromFranz(k *kgo.Record) rec {
	r := rec{Key: k.Key, Value: k.Value, TimeMs: k.Timestamp.UnixMilli(), Offset: k.Offset}
	for _, h := range k.Headers {
		r.Headers = append(r.Headers, header{h.Key, h.Value})
	}
	return r
}

func (f franz) consume(ctx context.Context, topic string, partition int32, offset int64, n int) ([]rec, error) {
	c, err := f.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().At(offset)}}))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var got []rec
	for len(got) < n {
		fetches := c.PollRecords(ctx, n-len(got))
		if err := fetches.Err(); err != nil {
			return got, err
		}
		fetches.EachRecord(func(k *kgo.Record) { got = append(got, fromFranz(k)) })
	}
	return got, nil
}

func (f franz) offsetAt(ctx context.Context, topic string, partition int32, at time.Time) (int64, error) {
	c, err := f.client()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	offsets, err := kadm.NewClient(c).ListOffsetsAfterMilli(ctx, at.UnixMilli(), topic)
	if err != nil {
		return 0, err
	}
	o, ok := offsets.Lookup(topic, partition)
	if !ok {
		return 0, fmt.Errorf("no answer for partition %d", partition)
	}
	return o.Offset, o.Err
}

func (f franz) member(ctx context.Context, group, topic string, each func(rec)) error {
	c, err := f.client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.SessionTimeout(session), kgo.HeartbeatInterval(time.Second),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer c.CloseAllowingRebalance()
	for {
		fetches := c.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(k *kgo.Record) { each(fromFranz(k)) })
		if err := c.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
		c.AllowRebalance()
	}
}

func (f franz) transact(ctx context.Context, topic, _ string, txns []transaction) error {
	c, err := f.client(kgo.TransactionalID("txn-" + topic))
	if err != nil {
		return err
	}
	defer c.Close()
	for _, txn := range txns {
		if err := c.BeginTransaction(); err != nil {
			return err
		}
		if err := c.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(txn.Value)}).FirstErr(); err != nil {
			return err
		}
		if err := c.EndTransaction(ctx, kgo.TransactionEndTry(txn.Commit)); err != nil {
			return err
		}
	}
	return nil
}

func mustFranz(t *testing.T) *kgo.Client {
	t.Helper()
	c, err := franz{node.seed}.client()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
