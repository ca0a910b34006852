package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// kafkaPeer measures a server that speaks Kafka, with franz-go and its defaults but for compression and the number of records that may be
// under way.
func kafkaPeer(pid int, seed string, s settings, stop func() error) *peer {
	return &peer{pid: pid, stop: stop, measure: func(ctx context.Context, records, size int) (r result, err error) {
		topic := fmt.Sprintf("bench-%d", rand.Uint64())
		admin, err := kgo.NewClient(kgo.SeedBrokers(seed))
		if err != nil {
			return r, err
		}
		defer admin.Close()
		if err := create(ctx, kadm.NewClient(admin), topic, s.partitions); err != nil {
			return r, err
		}
		if r.produce, err = timed(pid, records, func() error { return produce(ctx, seed, topic, records, size) }); err != nil {
			return r, fmt.Errorf("produce: %w", err)
		}
		if r.consume, err = timed(pid, records, func() error { return consume(ctx, seed, topic, records) }); err != nil {
			return r, fmt.Errorf("consume: %w", err)
		}
		var bytes int64
		f, err := timed(pid, records, func() (err error) { bytes, err = fetchRaw(ctx, admin, topic, s.partitions); return err })
		if err != nil {
			return r, fmt.Errorf("fetch: %w", err)
		}
		r.fetchBytes = float64(bytes) / f.took.Seconds()
		_, err = kadm.NewClient(admin).DeleteTopics(ctx, topic)
		return r, err
	}}
}

func create(ctx context.Context, c *kadm.Client, topic string, partitions int) error {
	res, err := c.CreateTopic(ctx, int32(partitions), 1, nil, topic)
	for err != nil && ctx.Err() == nil && kerr.IsRetriable(err) {
		res, err = c.CreateTopic(ctx, int32(partitions), 1, nil, topic)
	}
	if err != nil {
		return err
	}
	return res.Err
}

// produce writes records and returns when all are acknowledged.
func produce(ctx context.Context, seed, topic string, records, size int) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(seed), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return err
	}
	defer c.Close()
	value := make([]byte, size)
	var failed atomic.Pointer[error]
	for range records {
		c.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		})
	}
	if err := c.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// consume reads all records and unpacks each.
func consume(ctx context.Context, seed, topic string, records int) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(seed), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer c.Close()
	for got := 0; got < records; {
		f := c.PollFetches(ctx)
		if err := f.Err(); err != nil {
			return err
		}
		got += f.NumRecords()
	}
	return nil
}

// fetchRaw fetches the whole topic over one connection without unpacking it and returns the bytes of its batches: what the server can send.
func fetchRaw(ctx context.Context, c *kgo.Client, topic string, partitions int) (total int64, err error) {
	next := make([]int64, partitions)
	broker := c.SeedBrokers()[0]
	for {
		q := kmsg.NewPtrFetchRequest()
		q.MaxBytes, q.MinBytes, q.MaxWaitMillis, q.SessionEpoch = 50<<20, 1, 0, -1
		t := kmsg.NewFetchRequestTopic()
		t.Topic = topic
		for n, offset := range next {
			p := kmsg.NewFetchRequestTopicPartition()
			p.Partition, p.FetchOffset, p.PartitionMaxBytes = int32(n), offset, 1<<20
			t.Partitions = append(t.Partitions, p)
		}
		q.Topics = append(q.Topics, t)
		resp, err := broker.Request(ctx, byName{q})
		if err != nil {
			return total, err
		}
		got := int64(0)
		for _, t := range resp.(*kmsg.FetchResponse).Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return total, err
				}
				got += int64(len(p.RecordBatches))
				next[p.Partition] = after(p.RecordBatches, next[p.Partition])
			}
		}
		if total += got; got == 0 {
			return total, nil
		}
	}
}

// byName keeps a fetch at the last version that names topics.
type byName struct{ *kmsg.FetchRequest }

func (byName) MaxVersion() int16 { return 12 }

// after returns the offset after the last whole batch in b: base offset i64, length i32 of what follows, and 11 bytes on the last
// offset delta i32, big endian.
func after(b []byte, next int64) int64 {
	for len(b) > 27 {
		size := 12 + int(binary.BigEndian.Uint32(b[8:]))
		if size > len(b) {
			break // cut by the server
		}
		next = int64(binary.BigEndian.Uint64(b)) + int64(int32(binary.BigEndian.Uint32(b[23:]))) + 1
		b = b[size:]
	}
	return next
}

// timed runs f and says how fast, and what CPU time the server took.
func timed(pid, records int, f func() error) (rate, error) {
	before := cpuTime(pid)
	began := time.Now()
	err := f()
	took := time.Since(began)
	return rate{perSecond: float64(records) / took.Seconds(), cpu: (cpuTime(pid) - before) / time.Duration(records), took: took}, err
}
