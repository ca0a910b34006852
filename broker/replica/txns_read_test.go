package replica

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/internal/vfs"
)

// committedFrom reads committed records as Kafka's clients do: what is below the
// last stable offset, without what the list of aborted transactions names. It
// returns them and the offset to go on from.
func committedFrom(r *Replica, offset int64) (values []string, next int64, err error) {
	b, err := r.ReadBelow(offset, 400, r.LastStableOffset())
	if err != nil || len(b) == 0 {
		return nil, offset, err
	}
	var batches []record.Batch
	for len(b) > 0 {
		var h record.Batch
		if h, b, err = record.Parse(b); err != nil {
			return nil, offset, err
		}
		batches = append(batches, h)
	}
	next = batches[len(batches)-1].NextOffset()
	aborted, err := r.AbortedIn(offset, next)
	if err != nil {
		return nil, offset, err
	}
	skip := map[int64]bool{}
	for _, h := range batches {
		for _, a := range aborted {
			if a.FirstOffset <= h.LastOffset() && a.LastOffset >= h.BaseOffset && a.ProducerID == h.ProducerID {
				skip[a.ProducerID] = true
			}
		}
		if h.Control() {
			delete(skip, h.ProducerID)
			continue
		}
		if h.Transactional() && skip[h.ProducerID] {
			continue
		}
		err = record.ForEach(h.Raw, func(rec record.Record) error {
			if h.BaseOffset+int64(rec.OffsetDelta) >= offset {
				values = append(values, string(rec.Value))
			}
			return nil
		})
		if err != nil {
			return nil, offset, err
		}
	}
	return values, next, nil
}

// Readers that run beside writers, checkpoints and the deletion of old segments
// see every committed record and no other.
func TestReadersOfCommittedRecordsSeeNoOther(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "d")
	cfg := n.config(0)
	cfg.SegmentBytes = 2000
	r := n.open(cfg)
	const txns = 400
	var readers sync.WaitGroup
	done := make(chan struct{})
	for i := range 3 {
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			at, seen, jumps := int64(0), 0, 0
			for {
				ch := r.Changed()
				values, next, err := committedFrom(r, at)
				if errors.Is(err, ErrOffsetOutOfRange) {
					at = r.LogStart()
					jumps++
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				for _, v := range values {
					if v != "commit" {
						t.Errorf("a reader at offset %d sees a record of a transaction to %s", at, v)
						return
					}
				}
				seen += len(values)
				if at = next; len(values) > 0 && rng.IntN(20) == 0 {
					at = max(r.LogStart(), at-rng.Int64N(60)) // once more, from the middle of something
				}
				if next == r.HighWatermark() {
					select {
					case <-done:
						if seen < txns/20 { // one that is late is left the newest records at least
							t.Errorf("a reader has seen %d records, %d jumps", seen, jumps)
						}
						return
					case <-ch:
					}
				}
			}
		})
	}
	var writers sync.WaitGroup
	for id := range int64(4) {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(id), 2))
			seq := int32(0)
			for range txns / 4 {
				outcome := []string{"commit", "abort"}[rng.IntN(2)]
				for range 1 + rng.IntN(3) {
					b := record.NewBuilder(record.None)
					b.SetProducer(id, 0, seq)
					b.SetTransactional()
					b.Append(record.Record{Value: []byte(outcome), TimestampMs: 1})
					put(t, r, build(t, b))
					seq++
				}
				endTxn(t, r, mark(id, 0, outcome == "commit", 1))
			}
		})
	}
	writers.Go(func() {
		for range 25 {
			must(t, r.checkpoint())
			if start := r.LastStableOffset() - 150; start > r.LogStart() {
				_, err := r.SetLogStart(context.Background(), start)
				must(t, err)
				must(t, r.retire())
			}
			put(t, r, batchOf(t, "commit"))
		}
	})
	writers.Wait()
	close(done)
	readers.Wait()
}
