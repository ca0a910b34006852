// Package ledtest holds doubles for tests of coordinators: a partition in memory, and what runs a coordinator until a test ends.
package ledtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
)

// Node is the id of the node under test.
const Node = 1

// Partition is a partition in memory. Its fields are set by tests while nothing is under way, or in Set.
type Partition struct {
	mu      sync.Mutex
	Batches [][]byte
	Next    int64 // the offset after the last record
	Lead    int32 // the id of the leader
	Epoch   int32
	Serving bool

	AppendErr error         // appends fail with it
	AppendBut bool          // ... but write all the same
	AppendGo  chan struct{} // when set, an append waits for a token before it writes
	Appends   int           // counts them
	ReadErr   error         // Read fails with it
	ReadGo    chan struct{} // when set, Read waits until it is closed
}

// New makes an empty partition that Node leads.
func New() *Partition { return &Partition{Lead: Node, Epoch: 1, Serving: true} }

// Append is that of the coordinators' partitions.
func (p *Partition) Append(ctx context.Context, recs []record.Record) (int64, error) {
	return p.Write(ctx, func() int64 { return p.Add(recs) })
}

// Write does what an append does around add, which is called in Set.
func (p *Partition) Write(ctx context.Context, add func() int64) (int64, error) {
	p.mu.Lock()
	gate := p.AppendGo
	p.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Appends++
	if p.Lead != Node || !p.Serving {
		return 0, fmt.Errorf("append: %w", led.ErrNotLeader)
	}
	if p.AppendErr != nil && !p.AppendBut {
		return 0, p.AppendErr
	}
	return add(), p.AppendErr
}

// Add puts a batch of the records at the end and returns its offset. Call it in Set when something is under way.
func (p *Partition) Add(recs []record.Record) int64 {
	return p.AddMarked(recs, func(*record.Builder) {})
}

// AddMarked is Add for a batch whose header says more.
func (p *Partition) AddMarked(recs []record.Record, mark func(*record.Builder)) int64 {
	b := record.NewBuilder(record.None)
	mark(b)
	for _, r := range recs {
		b.Append(r)
	}
	batch, err := b.Build()
	if err != nil {
		panic(err)
	}
	return p.AddBatch(batch, len(recs))
}

// AddBatch is Add for a batch of n records that is built already.
func (p *Partition) AddBatch(batch []byte, n int) int64 {
	base := p.Next
	record.SetPlace(batch, base, p.Epoch)
	p.Batches = append(p.Batches, batch)
	p.Next += int64(n)
	return base
}

// Read is that of led.Log.
func (p *Partition) Read(offset int64, maxBytes int) ([]byte, error) {
	p.mu.Lock()
	gate := p.ReadGo
	p.mu.Unlock()
	if gate != nil {
		<-gate
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ReadErr != nil {
		return nil, p.ReadErr
	}
	if offset < 0 || offset > p.Next {
		return nil, errors.New("offset out of range")
	}
	var out []byte
	for _, raw := range p.Batches {
		b, err := record.Check(raw)
		if err != nil {
			return nil, err
		}
		if b.LastOffset() < offset {
			continue
		}
		if len(out) > 0 && len(out)+len(raw) > maxBytes {
			break
		}
		out = append(out, raw...)
	}
	return out, nil
}

// LogStart is that of led.Log.
func (p *Partition) LogStart() int64 { return 0 }

// HighWatermark is that of led.Log.
func (p *Partition) HighWatermark() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Next
}

// Leader is that of the coordinators' partitions.
func (p *Partition) Leader() (nodeID, epoch int32, serving bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Lead, p.Epoch, p.Serving
}

// Set calls fn, which may read and change the fields, while nothing else does.
func (p *Partition) Set(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fn()
}

// Records returns all records, those of markers too.
func (p *Partition) Records(t *testing.T) []record.Record {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []record.Record
	for _, raw := range p.Batches {
		err := record.ForEach(raw, func(r record.Record) error {
			r.Key = append([]byte(nil), r.Key...)
			if r.Value != nil {
				r.Value = append([]byte{}, r.Value...)
			}
			out = append(out, r)
			return nil
		})
		if err != nil {
			t.Fatalf("read the log: %v", err)
		}
	}
	return out
}

// Run runs what has a Run until the test ends or stop is called, which waits for its end.
func Run(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}
