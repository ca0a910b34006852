package cmd

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/internal/testkit"
)

// A compacted topic under steady load stays small, and a Kafka consumer that reads it while it is cleaned, or afterwards, sees the newest
// value of each key.
func TestACompactedTopicStaysSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the cleaner for most of a minute")
	}
	n := testkit.StartNode(t, "")
	n.Run("", "topics", "create", "state", "--set", "cleanup.policy=compact", "--set", "segment.bytes=131072", "--set", "min.cleanable.dirty.ratio=0.2")
	producer, err := kgo.NewClient(kgo.SeedBrokers(n.Kafka), kgo.DefaultProduceTopic("state"))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				readState(t, n, "")
			}
		})
	}
	want := map[string]string{}
	var written int64
	for i := 0; ctx.Err() == nil; i++ {
		var recs []*kgo.Record
		for j := range 20 {
			key, value := fmt.Sprint("key-", (i*20+j)%97), fmt.Sprintf("%012d", i*20+j)
			recs = append(recs, &kgo.Record{Key: []byte(key), Value: []byte(value + strings.Repeat(".", 1000))})
			want[key] = value
			written += 1000
		}
		if err := producer.ProduceSync(context.WithoutCancel(ctx), recs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		wait(t, 10*time.Millisecond)
	}
	wg.Wait()
	// Records that end the producing, so that the closed segments hold everything.
	last := readState(t, n, "end")
	for key, value := range want {
		if last[key] != value {
			t.Errorf("%s is %s, want %s", key, last[key], value)
		}
	}
	size := func() (bytes int64) {
		logs, err := filepath.Glob(filepath.Join(n.Dir, "topics", "*", "topic.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range logs {
			if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), `"state"`) {
				continue
			}
			_ = filepath.WalkDir(filepath.Dir(file), func(path string, d fs.DirEntry, err error) error {
				if err == nil && strings.HasSuffix(path, ".log") {
					if info, err := d.Info(); err == nil {
						bytes += info.Size()
					}
				}
				return nil
			})
		}
		return bytes
	}
	testkit.Wait(t, "the topic to be small", 40*time.Second, func() bool { return size() < 1<<20 })
	t.Logf("%d bytes of %d that were written", size(), written)
	if got := readState(t, n, "again"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after the last round: got %v, want %v", got, want)
	}
	n.Kill()
	n.Restart()
	if got := readState(t, n, "restart"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after a restart: got %v, want %v", got, want)
	}
}

// readState consumes the topic from its start to where it ended and returns the last value of each key. Values of a key grow.
func readState(t *testing.T, n *testkit.Node, what string) map[string]string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(n.Kafka), kgo.ConsumeTopics("state"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	last := map[string]string{}
	for end, at := int64(-1), int64(0); end < 0 || at < end; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Errorf("read the topic (%s) at %d of %d: %v", what, at, end, err)
			return last
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if end < 0 {
				end = p.HighWatermark
			}
		})
		fetches.EachRecord(func(r *kgo.Record) {
			key, value := string(r.Key), strings.TrimRight(string(r.Value), ".")
			if last[key] > value {
				t.Errorf("%s goes from %s back to %s at offset %d", key, last[key], value, r.Offset)
			}
			last[key], at = value, r.Offset+1
		})
	}
	return last
}
