package replica

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/finding"
	"github.com/weir-analytics/weir/internal/vfs"
	"github.com/weir-analytics/weir/raftfsm/hardstate"
	"github.com/weir-analytics/weir/raftfsm/transport"
)

// node is what a replica needs around it, on one disk.
type node struct {
	t      testing.TB
	fsys   vfs.FS
	dir    string
	hard   *hardstate.Store
	net    transport.Network
	shared *seglog.Shared

	damaged bool // on purpose

	mu     sync.Mutex
	events []Event
}

func newNode(t testing.TB, fsys vfs.FS, dir string) *node {
	t.Helper()
	return newNodeWith(t, fsys, dir, func(err error) { t.Fatal(err) })
}

func newNodeWith(t testing.TB, fsys vfs.FS, dir string, onError func(error)) *node {
	t.Helper()
	n := &node{t: t, fsys: fsys, dir: dir, net: transport.NewLocal("here"), shared: seglog.NewShared(seglog.Limits{})}
	var err error
	if n.hard, err = hardstate.Open(fsys, dir+"/hardstate.wal"); err != nil {
		onError(err)
		return n
	}
	t.Cleanup(func() { _ = n.hard.Close() })
	return n
}

func (n *node) config(partition int32) Config {
	return Config{
		Topic: "events", TopicID: [16]byte{7}, Partition: partition,
		Dir: fmt.Sprintf("%s/%d", n.dir, partition), FS: n.fsys,
		NodeID: 3, ServerID: "node-a",
		HardState: n.hard, Transport: n.net, Shared: n.shared,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		OnEvent: func(e Event) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.events = append(n.events, e)
		},
	}
}

func (n *node) open(cfg Config) *Replica {
	n.t.Helper()
	r, err := Open(cfg)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		_ = r.Close()
		for _, line := range n.inspect(cfg) {
			if !n.damaged {
				n.t.Errorf("after the test: %s", line)
			}
		}
	})
	waitFor(n.t, r, "leadership", func() bool { _, _, serving := r.Leader(); return serving })
	return r
}

// inspect lists the damage of a partition that is closed.
func (n *node) inspect(cfg Config) (found []string) {
	n.t.Helper()
	sink := func(f finding.Finding) {
		if !f.Note {
			found = append(found, f.String())
		}
	}
	all, err := hardstate.Inspect(n.fsys, n.dir+"/hardstate.wal", sink, nil) // another store may have it open
	must(n.t, err)
	votes, known := all[cfg.group()]
	if _, err := Inspect(Inspection{FS: n.fsys, Dir: cfg.Dir, Votes: votes, Known: known, Found: sink}); err != nil {
		n.t.Errorf("inspect %s: %v", cfg.Dir, err)
	}
	return found
}

// waitFor waits for a condition that changes with the replica.
func waitFor(t testing.TB, r *Replica, what string, ok func() bool) {
	t.Helper()
	end := time.After(60 * time.Second)
	for {
		ch := r.Changed()
		if ok() {
			return
		}
		select {
		case <-ch:
		case <-end:
			t.Fatalf("no %s within a minute: %v", what, r.Err())
		}
	}
}

func batchOf(t testing.TB, values ...string) []byte {
	t.Helper()
	b := record.NewBuilder(record.None)
	for _, v := range values {
		b.Append(record.Record{Value: []byte(v), TimestampMs: 1_700_000_000_000})
	}
	return build(t, b)
}

func build(t testing.TB, b *record.Builder) []byte {
	t.Helper()
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// from makes a batch of n records of an idempotent producer.
func from(t testing.TB, id int64, epoch int16, seq int32, n int) []byte {
	t.Helper()
	b := record.NewBuilder(record.None)
	b.SetProducer(id, epoch, seq)
	for i := range n {
		b.Append(record.Record{Value: fmt.Appendf(nil, "p%d e%d s%d", id, epoch, int(seq)+i)})
	}
	return build(t, b)
}

func put(t testing.TB, r *Replica, batch []byte) Appended {
	t.Helper()
	res, err := r.Append(context.Background(), batch).Result()
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// values reads all records from the log start to the high watermark and checks
// that their offsets are dense.
func values(t testing.TB, r *Replica) []string {
	t.Helper()
	var out []string
	for at := r.LogStart(); at < r.HighWatermark(); {
		b, err := r.Read(at, 1<<16)
		if err != nil || len(b) == 0 {
			t.Fatalf("read at %d: %d bytes, %v", at, len(b), err)
		}
		for len(b) > 0 {
			h, rest, err := record.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			err = record.ForEach(h.Raw, func(rec record.Record) error {
				if h.BaseOffset+int64(rec.OffsetDelta) >= at {
					out = append(out, string(rec.Value))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			at, b = h.NextOffset(), rest
		}
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func nextOffset(t testing.TB, batches []byte) (next int64) {
	t.Helper()
	for len(batches) > 0 {
		h, rest, err := record.Parse(batches)
		must(t, err)
		next, batches = h.NextOffset(), rest
	}
	return next
}

// clock is a clock that stands still until it is moved.
type clock struct{ ms atomic.Int64 }

func newClock(ms int64) *clock {
	c := &clock{}
	c.ms.Store(ms)
	return c
}

func (c *clock) now() time.Time      { return time.UnixMilli(c.ms.Load()) }
func (c *clock) add(d time.Duration) { c.ms.Add(d.Milliseconds()) }

func (n *node) eventList() []Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]Event(nil), n.events...)
}
