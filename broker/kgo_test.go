package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/testkit"
)

// client is a franz-go client of b over TCP.
func client(t *testing.T, b *Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	opts = append([]kgo.Opt{kgo.SeedBrokers(b.Addr().String()), kgo.RetryTimeout(10 * time.Second)}, opts...)
	c, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func createTopic(t *testing.T, b *Broker, name string, partitions int32) {
	t.Helper()
	adm := kadm.NewClient(client(t, b))
	if _, err := adm.CreateTopic(within(t), partitions, -1, nil, name); err != nil {
		t.Fatal(err)
	}
}

// poll consumes n records or fails.
func poll(t *testing.T, c *kgo.Client, n int) []*kgo.Record {
	t.Helper()
	var got []*kgo.Record
	ctx := within(t)
	for len(got) < n {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d records: %v", len(got), n, err)
		}
		got = append(got, fetches.Records()...)
	}
	return got
}

func TestProduceAndConsumeWithEveryCodec(t *testing.T) {
	b, _ := start(t, nil)
	for name, codec := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		t.Run(name, func(t *testing.T) {
			createTopic(t, b, name, 3)
			p := client(t, b, kgo.DefaultProduceTopic(name), kgo.ProducerBatchCompression(codec))
			for i := range 300 {
				r := kgo.KeySliceRecord([]byte(fmt.Sprint("key ", i%7)), []byte(fmt.Sprint("value number ", i)))
				r.Headers = []kgo.RecordHeader{{Key: "n", Value: []byte(fmt.Sprint(i))}, {Key: "null"}}
				p.Produce(t.Context(), r, func(_ *kgo.Record, err error) {
					if err != nil {
						t.Error(err)
					}
				})
			}
			if err := p.Flush(within(t)); err != nil {
				t.Fatal(err)
			}
			got := poll(t, client(t, b, kgo.ConsumeTopics(name)), 300)
			next := make(map[int32]int64)
			for _, r := range got {
				if r.Offset != next[r.Partition] {
					t.Fatalf("partition %d: offset %d, want %d", r.Partition, r.Offset, next[r.Partition])
				}
				next[r.Partition]++
				if string(r.Value) != "value number "+string(r.Headers[0].Value) || r.Headers[1].Value != nil {
					t.Fatalf("record %+v", r)
				}
			}
		})
	}
}

func TestATopicsCompressionTypeHolds(t *testing.T) {
	b, _ := start(t, nil)
	adm := kadm.NewClient(client(t, b))
	for _, name := range []string{"uncompressed", "gzip", "snappy", "lz4", "zstd"} {
		if _, err := adm.CreateTopic(within(t), 1, -1, map[string]*string{"compression.type": &name}, name); err != nil {
			t.Fatal(err)
		}
		p := client(t, b, kgo.DefaultProduceTopic(name), kgo.ProducerBatchCompression(kgo.Lz4Compression()))
		value := bytes.Repeat([]byte("again and "), 100)
		if err := p.ProduceSync(within(t), &kgo.Record{Value: value}, &kgo.Record{Value: value}).FirstErr(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, r := range poll(t, client(t, b, kgo.ConsumeTopics(name)), 2) {
			want := map[string]uint8{"uncompressed": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}[name]
			if got := r.Attrs.CompressionType(); got != want || !bytes.Equal(r.Value, value) {
				t.Errorf("%s: got codec %d, want %d", name, got, want)
			}
		}
	}
}

func TestRecordsWithoutAKeyAreNamedOneByOne(t *testing.T) {
	b, _ := start(t, nil)
	policy := "compact"
	if _, err := kadm.NewClient(client(t, b)).CreateTopic(within(t), 1, -1, map[string]*string{"cleanup.policy": &policy}, "t"); err != nil {
		t.Fatal(err)
	}
	batch := batchOf(t, record.Record{Key: []byte("k")}, record.Record{}, record.Record{Key: []byte("k")}, record.Record{})
	req := produceOf(1, "t", 0, batch).(pinned).Request
	req.SetVersion(9)
	got := ask(t, handler(t, b), req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	if got.ErrorCode != kerr.InvalidRecord.Code || len(got.ErrorRecords) != 2 ||
		got.ErrorRecords[0].RelativeOffset != 1 || got.ErrorRecords[1].RelativeOffset != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestAFetchWaitsForRecordsAndIsWoken(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 2)
	c := client(t, b, kgo.ConsumeTopics("t"), kgo.FetchMaxWait(10*time.Minute))
	started := make(chan struct{})
	got := make(chan *kgo.Record, 1)
	go func() {
		close(started)
		fetches := c.PollFetches(t.Context())
		for _, r := range fetches.Records() {
			got <- r
		}
	}()
	<-started
	p := client(t, b, kgo.DefaultProduceTopic("t"))
	if err := p.ProduceSync(within(t), kgo.StringRecord("x")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-got:
	case <-time.After(time.Minute):
		t.Fatal("a long poll was not woken")
	}
}

func TestOffsetsByTime(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 1)
	p := client(t, b, kgo.DefaultProduceTopic("t"))
	at := func(i int) time.Time { return time.UnixMilli(1_700_000_000_000 + int64(i)*1000) }
	for i := range 5 {
		if err := p.ProduceSync(within(t), &kgo.Record{Value: []byte("x"), Timestamp: at(i)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	adm := kadm.NewClient(p)
	want := func(what string, l kadm.ListedOffsets, err error, offset, ms int64) {
		t.Helper()
		o, ok := l.Lookup("t", 0)
		if err != nil || !ok || o.Err != nil || o.Offset != offset || ms != 0 && o.Timestamp != ms {
			t.Errorf("%s: %+v, %v; want offset %d", what, o, err, offset)
		}
	}
	l, err := adm.ListStartOffsets(within(t), "t")
	want("start", l, err, 0, -1)
	l, err = adm.ListEndOffsets(within(t), "t")
	want("end", l, err, 5, -1)
	l, err = adm.ListMaxTimestampOffsets(within(t), "t")
	want("max timestamp", l, err, 4, at(4).UnixMilli())
	l, err = adm.ListOffsetsAfterMilli(within(t), at(2).UnixMilli()-500, "t")
	want("after a time", l, err, 2, at(2).UnixMilli())
	l, err = adm.ListOffsetsAfterMilli(within(t), at(9).UnixMilli(), "t")
	want("after the last record kadm takes the end", l, err, 5, 0)
	if _, err := adm.DeleteRecords(within(t), kadm.Offsets{"t": {0: {Topic: "t", At: 3}}}); err != nil {
		t.Fatal(err)
	}
	l, err = adm.ListStartOffsets(within(t), "t")
	want("start after DeleteRecords", l, err, 3, -1)
}

func TestTopicsAreMadeChangedAndRemoved(t *testing.T) {
	b, _ := start(t, func(c *Config) { c.FixedPartitions = func(topic string) bool { return topic == "events" } })
	ctx, adm := within(t), kadm.NewClient(client(t, b))
	retention := "1000"
	made, err := adm.CreateTopic(ctx, 2, 1, map[string]*string{"retention.ms": &retention}, "t")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := adm.CreateTopic(ctx, 1, 1, nil, "t"); !errors.Is(err, kerr.TopicAlreadyExists) {
		t.Errorf("twice: %v", err)
	}
	for name, want := range map[string]error{"bad/name": kerr.InvalidTopicException, "__consumer_offsets": kerr.InvalidTopicException} {
		if _, err := adm.CreateTopic(ctx, 1, 1, nil, name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if _, err := adm.CreateTopic(ctx, 0, 1, nil, "none"); !errors.Is(err, kerr.InvalidPartitions) {
		t.Errorf("no partitions: %v", err)
	}
	if _, err := adm.CreateTopic(ctx, 1, 2, nil, "copies"); !errors.Is(err, kerr.InvalidReplicationFactor) {
		t.Errorf("two copies on one node: %v", err)
	}
	if _, err := adm.CreateTopic(ctx, 1, 1, map[string]*string{"retention.mss": &retention}, "typo"); !errors.Is(err, kerr.InvalidConfig) {
		t.Errorf("unknown setting: %v", err)
	}
	if _, err := adm.UpdatePartitions(ctx, 4, "t"); err != nil {
		t.Error(err)
	}
	createTopic(t, b, "events", 1)
	if r, err := adm.UpdatePartitions(ctx, 4, "events"); err != nil || !errors.Is(r["events"].Err, kerr.InvalidPartitions) {
		t.Errorf("more partitions for a pipeline topic: %v, %v", r, err)
	}
	policy := "compact"
	if _, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{
		{Op: kadm.AppendConfig, Name: "cleanup.policy", Value: &policy}, {Op: kadm.DeleteConfig, Name: "retention.ms"},
	}, "t"); err != nil {
		t.Error(err)
	}
	configs, err := adm.DescribeTopicConfigs(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs[0].Configs {
		if want := map[string]string{"cleanup.policy": "delete,compact", "retention.ms": "604800000"}[c.Key]; want != "" && *c.Value != want {
			t.Errorf("%s=%s, want %s", c.Key, *c.Value, want)
		}
	}
	meta, err := adm.Metadata(ctx, "t")
	if err != nil || len(meta.Topics["t"].Partitions) != 4 || meta.Topics["t"].ID != made.ID || meta.Cluster != "test-cluster" {
		t.Errorf("metadata %+v, %v", meta, err)
	}
	if r, err := adm.DeleteTopics(ctx, "t"); err != nil || r.Error() != nil {
		t.Errorf("delete: %v, %v", r, err)
	}
	if meta, err := kadm.NewClient(client(t, b)).Metadata(ctx, "t"); err != nil || !errors.Is(meta.Topics["t"].Err, kerr.UnknownTopicOrPartition) {
		t.Errorf("after delete: %+v, %v", meta, err)
	}
	again, err := adm.CreateTopic(ctx, 1, 1, nil, "t")
	if err != nil || again.ID == made.ID {
		t.Errorf("made again with id %v, %v", again.ID, err)
	}
}

func TestAnIdempotentProducerIsDeduplicated(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 1)
	p := client(t, b, kgo.DefaultProduceTopic("t"))
	id, epoch, err := p.ProducerID(within(t))
	if err != nil || id < 0 || epoch != 0 {
		t.Fatalf("producer id %d epoch %d, %v", id, epoch, err)
	}
	q := client(t, b, kgo.DefaultProduceTopic("t"))
	if other, _, err := q.ProducerID(within(t)); err != nil || other == id {
		t.Fatalf("second producer id %d, %v", other, err)
	}
}

func TestAGroupOfTwoSplitsThePartitionsAndTakesOver(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 4)
	var consumed atomic.Int64
	member := func(ctx context.Context, c *kgo.Client) {
		for ctx.Err() == nil {
			fetches := c.PollFetches(ctx)
			consumed.Add(int64(fetches.NumRecords()))
		}
	}
	group := []kgo.Opt{kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.HeartbeatInterval(100 * time.Millisecond), kgo.SessionTimeout(6 * time.Second)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, second := client(t, b, group...), client(t, b, group...)
	go member(ctx, first)
	go member(ctx, second)
	adm := kadm.NewClient(client(t, b))
	split := func(members, each int) bool {
		d, err := adm.DescribeGroups(within(t), "g")
		if err != nil {
			t.Fatal(err)
		}
		g := d["g"]
		if g.State != "Stable" || len(g.Members) != members {
			return false
		}
		for _, m := range g.Members {
			c, ok := m.Assigned.AsConsumer()
			if !ok || len(c.Topics) == 0 || len(c.Topics[0].Partitions) != each {
				return false
			}
		}
		return true
	}
	eventually(t, "two members with two partitions each", func() bool { return split(2, 2) })
	p := client(t, b, kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	for range 100 {
		p.Produce(t.Context(), kgo.StringRecord("x"), nil)
	}
	if err := p.Flush(within(t)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all records", func() bool { return consumed.Load() == 100 })
	second.Close()
	eventually(t, "one member with all partitions", func() bool { return split(1, 4) })
	if err := first.CommitUncommittedOffsets(within(t)); err != nil {
		t.Fatal(err)
	}
	offsets, err := adm.FetchOffsets(within(t), "g")
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	offsets.Each(func(o kadm.OffsetResponse) { sum += o.At })
	if sum != 100 {
		t.Errorf("committed offsets add up to %d, want 100", sum)
	}
}

// eventually waits for what another goroutine or process brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	testkit.Wait(t, what, time.Minute, ok)
}

func TestInProcessAppendAndDial(t *testing.T) {
	b, ctl := start(t, nil)
	if _, err := ctl.CreateTopic(t.Context(), specOf("t", 1)); err != nil {
		t.Fatal(err)
	}
	c := client(t, b, kgo.Dialer(b.Dial), kgo.ConsumeTopics("t"))
	eventually(t, "the topic is served", func() bool {
		base, err := b.Append(t.Context(), "t", 0, records("a", "b"))
		return err == nil && base >= 0
	})
	if got := poll(t, c, 2); string(got[0].Value) != "a" || string(got[1].Value) != "b" || got[0].Offset != 0 {
		t.Errorf("%v", got)
	}
}

func TestEverythingIsThereAfterARestart(t *testing.T) {
	dir, ctl := t.TempDir(), newController(t)
	b := startIn(t, dir, ctl, nil)
	createTopic(t, b, "t", 2)
	p := client(t, b, kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	for i := range 50 {
		p.Produce(t.Context(), kgo.StringRecord(fmt.Sprint(i)), nil)
	}
	if err := p.Flush(within(t)); err != nil {
		t.Fatal(err)
	}
	group := []kgo.Opt{kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	c := client(t, b, group...)
	poll(t, c, 50)
	if err := c.CommitUncommittedOffsets(within(t)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	p.Close()
	stopNow(b)

	b = startIn(t, dir, ctl, nil)
	if got := poll(t, client(t, b, kgo.ConsumeTopics("t")), 50); len(got) != 50 {
		t.Fatalf("%d records", len(got))
	}
	p = client(t, b, kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	r := kgo.StringRecord("after")
	if err := p.ProduceSync(within(t), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
	got := poll(t, client(t, b, group...), 1)
	if len(got) != 1 || string(got[0].Value) != "after" || got[0].Offset != r.Offset {
		t.Errorf("the group went on at %v, want the record at %d", got, r.Offset)
	}
}

func TestADeletedTopicLeavesNothing(t *testing.T) {
	b, _ := start(t, nil)
	createTopic(t, b, "t", 3)
	p := client(t, b, kgo.DefaultProduceTopic("t"))
	if err := p.ProduceSync(within(t), kgo.StringRecord("x")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if _, err := kadm.NewClient(p).DeleteTopics(within(t), "t"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an empty directory", func() bool {
		entries, err := os.ReadDir(filepath.Join(b.cfg.DataDir, "topics"))
		return err == nil && len(entries) == 0
	})
	createTopic(t, b, "t", 1)
	q := client(t, b, kgo.DefaultProduceTopic("t"))
	r := kgo.StringRecord("first of the next")
	if err := q.ProduceSync(within(t), r).FirstErr(); err != nil || r.Offset != 0 {
		t.Errorf("offset %d, %v", r.Offset, err)
	}
}

func TestAGroupGoesOnAfterARestart(t *testing.T) {
	dir, ctl := t.TempDir(), newController(t)
	b := startIn(t, dir, ctl, nil)
	addr := b.Addr().String()
	createTopic(t, b, "t", 4)
	p := client(t, b, kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	produce := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			p.Produce(t.Context(), kgo.StringRecord(fmt.Sprint(i)), nil)
		}
		if err := p.Flush(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan string, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 {
		c := client(t, b, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.AutoCommitMarks(),
			kgo.HeartbeatInterval(100*time.Millisecond), kgo.SessionTimeout(6*time.Second))
		go func() {
			for ctx.Err() == nil {
				for _, r := range c.PollFetches(ctx).Records() {
					got <- string(r.Value)
					c.MarkCommitRecords(r)
				}
				c.CommitMarkedOffsets(ctx)
			}
		}()
	}
	seen := make(map[string]int)
	all := func(n int) {
		t.Helper()
		for len(seen) < n {
			select {
			case v := <-got:
				seen[v]++
			case <-time.After(20 * time.Second):
				t.Fatalf("%d of %d records", len(seen), n)
			}
		}
	}
	produce(0, 100)
	all(100)
	stopNow(b)
	startIn(t, dir, ctl, func(c *Config) { c.Listeners = []Listener{Plaintext(addr)} })
	produce(100, 200)
	all(200)
}
