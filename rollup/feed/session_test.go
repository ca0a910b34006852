package feed

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// echo is a worker that publishes many records for every one that it takes.
type echo struct {
	mu        sync.Mutex
	partition int32
	many      int
	taken     int64
	published int64
	firstOf   []int64 // offsets at which flushes began
	wake      chan struct{}
}

func (e *echo) Add(_ context.Context, records []*kgo.Record, _ time.Time) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if records[0].Offset != e.taken {
		return 0, fmt.Errorf("offset %d, want %d", records[0].Offset, e.taken)
	}
	e.taken++
	return 1, nil // full after each record
}

func (e *echo) Due() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.taken == e.published {
		return time.Time{}
	}
	return time.Unix(1, 0)
}

func (e *echo) Flush(context.Context, time.Time) ([]*kgo.Record, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.taken == e.published {
		return nil, nil
	}
	out := make([]*kgo.Record, e.many)
	for i := range out {
		out[i] = &kgo.Record{Topic: "out", Partition: e.partition, Value: bytes.Repeat([]byte{byte(i)}, 200)}
	}
	return out, nil
}

func (e *echo) Flushed(records []*kgo.Record, _ time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, r := range records {
		if r.Offset != records[0].Offset+int64(i) {
			return fmt.Errorf("record %d of a flush is at offset %d", i, r.Offset)
		}
	}
	e.firstOf = append(e.firstOf, records[0].Offset)
	e.published = e.taken
	e.wake <- struct{}{}
	return nil
}

func (e *echo) Position() int64 { return e.published }

// TestAFlushIsOneBatch: the records of a flush leave in one batch for each partition, also the first time, when the client does not know
// the topic yet; and flushes of two partitions go out together.
func TestAFlushIsOneBatch(t *testing.T) {
	const many, partitions = 300, 2
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "in", "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	var mu sync.Mutex
	var batches []int32
	cluster.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		for _, topic := range req.(*kmsg.ProduceRequest).Topics {
			for _, p := range topic.Partitions {
				var batch kmsg.RecordBatch
				if err := batch.ReadFrom(p.Records); err == nil && batch.NumRecords != 1 { // our own input comes one by one
					mu.Lock()
					batches = append(batches, batch.NumRecords)
					mu.Unlock()
				}
			}
		}
		return nil, nil, false
	})
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	send := func() {
		for p := range int32(partitions) {
			if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Partition: p, Value: []byte("x")}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	workers := map[int32]*echo{}
	wake := make(chan struct{}, 100)
	feed := New(Config{
		Log:   Log{Seeds: cluster.ListenAddrs(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))},
		Group: "g", Topic: "in",
		Open: func(_ context.Context, assigned []int32) (map[int32]Start, error) {
			starts := map[int32]Start{}
			for _, p := range assigned {
				workers[p] = &echo{partition: p, many: many, wake: wake}
				starts[p] = Start{Worker: workers[p]}
			}
			return starts, nil
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- feed.Run(ctx) }()
	const rounds = 5
	for range rounds {
		send()
		for range partitions {
			<-wake
		}
	}
	cancel()
	<-done
	mu.Lock()
	defer mu.Unlock()
	// The client may still be ending the flush before, and begin the next one early: that one comes in two parts. More is a fault.
	total, whole := 0, 0
	for _, n := range batches {
		total += int(n)
		if n == many {
			whole++
		}
	}
	if total != rounds*partitions*many || whole < rounds*partitions/2 {
		t.Errorf("batches of %v records, want %d of %d", batches, rounds*partitions, many)
	}
	commits, err := kadm.NewClient(client).FetchOffsets(t.Context(), "g")
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(partitions) {
		if o, ok := commits.Lookup("in", p); !ok || o.At != rounds {
			t.Errorf("partition %d: committed %v, want %d", p, o.At, rounds)
		}
	}
}
