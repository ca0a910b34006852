package broker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// benchBroker is a running broker with one topic of some partitions.
func benchBroker(b *testing.B, partitions int32) *Broker {
	b.Helper()
	ctl := newController(b)
	if _, err := ctl.CreateTopic(b.Context(), specOf("t", partitions)); err != nil {
		b.Fatal(err)
	}
	cfg := testConfig(b.TempDir(), nil)
	engines, err := openEngines(cfg)
	if err != nil {
		b.Fatal(err)
	}
	return startWith(b, ctl, engines, cfg)
}

// BenchmarkProduce is franz-go with its defaults but for compression, records of 200 bytes and 1 KiB, fsync before acknowledging.
func BenchmarkProduce(b *testing.B) {
	for _, partitions := range []int32{1, 8} {
		for _, size := range []int{200, 1024} {
			b.Run(fmt.Sprintf("partitions=%d/bytes=%d", partitions, size), func(b *testing.B) {
				broker := benchBroker(b, partitions)
				c, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr().String()), kgo.DefaultProduceTopic("t"),
					kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(0))
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				value := make([]byte, size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					c.Produce(context.Background(), &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
						if err != nil {
							b.Error(err)
						}
					})
				}
				if err := c.Flush(context.Background()); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			})
		}
	}
}

// BenchmarkConsume reads from the page cache what BenchmarkProduce writes.
func BenchmarkConsume(b *testing.B) {
	for _, size := range []int{200, 1024} {
		b.Run(fmt.Sprintf("partitions=8/bytes=%d", size), func(b *testing.B) {
			broker := benchBroker(b, 8)
			c, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr().String()), kgo.DefaultProduceTopic("t"),
				kgo.ProducerBatchCompression(kgo.NoCompression()))
			if err != nil {
				b.Fatal(err)
			}
			value := make([]byte, size)
			for range b.N {
				c.Produce(context.Background(), &kgo.Record{Value: value}, nil)
			}
			if err := c.Flush(context.Background()); err != nil {
				b.Fatal(err)
			}
			c.Close()
			r, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr().String()), kgo.ConsumeTopics("t"), kgo.FetchMaxWait(time.Second))
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			b.SetBytes(int64(size))
			b.ResetTimer()
			for got := 0; got < b.N; {
				got += r.PollFetches(context.Background()).NumRecords()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
