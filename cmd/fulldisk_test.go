package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sys/unix"

	"github.com/weir-analytics/weir/internal/testkit"
)

// fullFor is how long the disk is full.
const fullFor = 8 * time.Second

// A disk that another file fills under load, to the last byte, and on which room is made again: everything goes on without a restart, the
// node says so before and after, and whatever was acknowledged is there once.
func TestFullDiskUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a disk for seconds")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=300m"); err != nil {
		t.Skip("no disk of its own can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	n := testkit.StartNode(t, filepath.Join(dir, "data"))
	n.Run("", "site", "add", crashSite)
	n.Run("", "topics", "create", "plain", "--partitions", "2")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	var senders []*sender
	for i := range 4 {
		s := &sender{name: fmt.Sprintf("f%d", i), keys: map[string]int64{}}
		senders = append(senders, s)
		wg.Go(func() { s.runPolitely(ctx, n.HTTP) })
	}
	producer := produceUntil(t, ctx, &wg, n.Kafka)

	for round := range 2 {
		wait(t, time.Second)
		fillDisk(t, filepath.Join(dir, "filler"))
		for end := time.Now().Add(fullFor); time.Now().Before(end); {
			fillDisk(t, filepath.Join(dir, fmt.Sprint("filler-", time.Now().UnixNano()))) // what the node gives back is taken as well
			wait(t, 200*time.Millisecond)
		}
		// The controller may have room left inside its file. What counts is that it takes changes afterwards.
		_, _, _ = n.Try("", "site", "add", fmt.Sprintf("during-%d.example", round))
		if status, _ := n.Admin(http.MethodGet, "/readyz", nil, nil); status == http.StatusOK {
			t.Errorf("round %d: /readyz says that a node on a full disk is ready", round)
		}
		fillers, _ := filepath.Glob(filepath.Join(dir, "filler*"))
		for _, f := range fillers {
			os.Remove(f)
		}
		testkit.Wait(t, "the node to be ready again", 60*time.Second, func() bool {
			status, _ := n.Admin(http.MethodGet, "/readyz", nil, nil)
			return status == http.StatusOK
		})
	}
	wait(t, time.Second)
	cancel()
	wg.Wait()
	client := &http.Client{Timeout: 10 * time.Second}
	refused := 0
	for _, s := range senders {
		refused += len(s.pending)
		for _, body := range s.pending {
			if !s.send(t.Context(), client, n.HTTP, body) {
				t.Errorf("a hit is still not taken: %.120s", body)
			}
		}
		s.pending = nil
	}
	t.Logf("%d hits acknowledged, %d refused at first; %d records acknowledged, %d refused, the slowest answer after %v",
		sum(senders, func(s *sender) int { return s.acked }), refused, len(producer.acked), producer.refused, producer.slowest)
	if refused == 0 || producer.refused == 0 {
		t.Error("nothing was refused: the disk was not full")
	}
	if producer.slowest > 4*time.Second {
		t.Errorf("a refusal took %v", producer.slowest)
	}
	checkOnce(t, n, crashSite, "page", senders)
	producer.check(t, n)
	n.Run("", "site", "add", "after.example") // the controller takes changes
}

// runPolitely sends until ctx ends, and waits a moment after a refusal.
func (s *sender) runPolitely(ctx context.Context, base string) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		body := s.body(false)
		if s.send(ctx, client, base, body) {
			s.acked++
			continue
		}
		s.pending = append(s.pending, body)
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// wait lets the node run under load.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// fillDisk writes a file until the disk takes no byte more.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if errors.Is(err, unix.ENOSPC) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

// produced is what a Kafka producer without retries has seen.
type produced struct {
	acked   map[string]bool
	refused int
	slowest time.Duration // of the refusals
}

// produceUntil produces one record after the other until ctx ends.
func produceUntil(t *testing.T, ctx context.Context, wg *sync.WaitGroup, addr string) *produced {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic("plain"), kgo.DisableIdempotentWrite(), kgo.RecordRetries(0),
		kgo.MaxProduceRequestsInflightPerBroker(1), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.MetadataMinAge(100*time.Millisecond),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	p := &produced{acked: map[string]bool{}}
	wg.Go(func() {
		defer client.Close()
		for i := 0; ctx.Err() == nil; i++ {
			value := fmt.Sprint("record-", i)
			began := time.Now()
			_, err := client.ProduceSync(context.WithoutCancel(ctx), &kgo.Record{Value: []byte(value + strings.Repeat(".", 1000))}).First()
			if err == nil {
				p.acked[value] = true
				continue
			}
			p.refused++
			p.slowest = max(p.slowest, time.Since(began))
			if !kerr.IsRetriable(err) && !errors.Is(err, kgo.ErrRecordRetries) { // the second is what the client says when it has no retry left
				t.Errorf("refused with %v, which clients do not try again", err)
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	return p
}

// check reads everything back.
func (p *produced) check(t *testing.T, n *testkit.Node) {
	t.Helper()
	seen := map[string]int{}
	for line := range strings.Lines(n.Run("", "consume", "plain", "--raw")) {
		seen[strings.TrimRight(strings.TrimSpace(line), ".")]++
	}
	for value := range p.acked {
		if seen[value] != 1 {
			t.Fatalf("%s, which was acknowledged, is there %d times (of %d)", value, seen[value], len(seen))
		}
	}
}
