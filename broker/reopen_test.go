package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
)

var errNoSpace = errors.New("no space left on device")

// stopping is an engine that stops when it is told to, on a disk that takes writes or not.
type stopping struct {
	*memory
	err     atomic.Pointer[error]
	full    *atomic.Bool
	closing *atomic.Int32
}

func (s *stopping) fail(err error) {
	s.err.Store(&err)
	s.mu.Lock()
	s.serving = false
	s.mu.Unlock()
	s.changed.wake()
}

func (s *stopping) Err() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *stopping) Append(ctx context.Context, b []byte) api.Pending {
	if err := s.Err(); err != nil {
		return refused{fmt.Errorf("%w: %w", replica.ErrStopped, err)}
	}
	return s.memory.Append(ctx, b)
}

func (s *stopping) Readable() bool { return s.Err() != nil && !errors.Is(s.Err(), replica.ErrCorrupt) }
func (s *stopping) Writable() error {
	if s.full.Load() {
		return errNoSpace
	}
	return nil
}
func (s *stopping) Close() error { s.closing.Add(1); return nil }

// disk opens engines that keep their records from one life to the next.
type disk struct {
	full    atomic.Bool
	refuse  atomic.Int32 // how many openings fail
	opened  atomic.Int32
	closed  atomic.Int32
	records *memory
	last    atomic.Pointer[stopping]
}

func (d *disk) open(engineSpec) (engine, error) {
	d.opened.Add(1)
	if d.refuse.Add(-1) >= 0 {
		return nil, errNoSpace
	}
	d.records.mu.Lock()
	d.records.serving, d.records.epoch = true, d.records.epoch+1
	d.records.mu.Unlock()
	s := &stopping{memory: d.records, full: &d.full, closing: &d.closed}
	d.last.Store(s)
	return s, nil
}

func newDisk() *disk {
	return &disk{records: &memory{sequences: map[int64]produced{}}}
}

func (d *disk) partition() *partition {
	return &partition{
		nodeID: 1, opener: d.open, moved: func() {}, log: slog.New(slog.DiscardHandler), phase: api.Opening,
		settled: make(chan struct{}), stop: make(chan struct{}), watchers: map[chan<- struct{}]struct{}{},
	}
}

func oneBatch(t *testing.T) []byte {
	t.Helper()
	b := record.NewBuilder(record.None)
	b.Append(record.Record{Value: []byte("v")})
	out, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// While the disk is full: writes are refused at once, reads go on, health tells. Once it is not: everything goes on by itself.
func TestAPartitionOpensAgainOnceTheDiskTakesWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		p := d.partition()
		if err := p.start(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := p.Append(t.Context(), oneBatch(t)).Result(); err != nil || p.Phase() != api.Serving {
			t.Fatalf("phase %v, append: %v", p.Phase(), err)
		}
		_, before, _ := p.Leader()
		d.full.Store(true)
		d.last.Load().fail(errNoSpace)
		for range 20 {
			time.Sleep(time.Second)
			synctest.Wait()
			began := time.Now()
			if _, err := p.Append(t.Context(), oneBatch(t)).Result(); !errors.Is(err, replica.ErrStopped) || time.Since(began) != 0 {
				t.Fatalf("append on a full disk: %v after %v", err, time.Since(began))
			}
			if node, _, serving := p.Leader(); node != 1 || !serving {
				t.Fatalf("readers are sent to node %d, serving %v", node, serving)
			}
			if b, err := p.Read(0, 1000); err != nil || len(b) == 0 {
				t.Fatalf("read on a full disk: %d bytes, %v", len(b), err)
			}
			if p.trouble() == nil || p.Phase() != api.Failed {
				t.Fatalf("health says %v, phase %v", p.trouble(), p.Phase())
			}
		}
		if n := d.opened.Load(); n != 1 {
			t.Errorf("opened %d times while the disk was full", n)
		}
		d.full.Store(false)
		d.refuse.Store(2) // filled up again for a moment
		time.Sleep(4 * reopenLatest)
		synctest.Wait()
		if p.trouble() != nil || p.Phase() != api.Serving {
			t.Fatalf("health says %v, phase %v", p.trouble(), p.Phase())
		}
		done, err := p.Append(t.Context(), oneBatch(t)).Result()
		if err != nil || done.BaseOffset != 1 {
			t.Errorf("append afterwards: %+v, %v", done, err)
		}
		if _, after, _ := p.Leader(); after <= before {
			t.Errorf("epoch %d after %d: those who follow it notice nothing", after, before)
		}
		if err := p.close(); err != nil || d.closed.Load() != 2 {
			t.Errorf("closed %d engines, %v", d.closed.Load(), err)
		}
	})
}

func TestAPartitionThatDoesNotOpenIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.refuse.Store(3)
		p := d.partition()
		if err := p.start(); !errors.Is(err, errNoSpace) || p.Phase() != api.Failed {
			t.Fatalf("got %v, phase %v", err, p.Phase())
		}
		time.Sleep(10 * reopenLatest)
		synctest.Wait()
		if p.trouble() != nil || p.Phase() != api.Serving || d.opened.Load() != 4 {
			t.Errorf("after %d tries: %v, phase %v", d.opened.Load(), p.trouble(), p.Phase())
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
}

func TestADamagedPartitionStaysStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		p := d.partition()
		if err := p.start(); err != nil {
			t.Fatal(err)
		}
		d.last.Load().fail(fmt.Errorf("%w: segment 7", replica.ErrCorrupt))
		time.Sleep(time.Hour)
		synctest.Wait()
		if d.opened.Load() != 1 || p.Phase() != api.Failed || !errors.Is(p.trouble(), replica.ErrCorrupt) {
			t.Errorf("opened %d times, phase %v, %v", d.opened.Load(), p.Phase(), p.trouble())
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
}
