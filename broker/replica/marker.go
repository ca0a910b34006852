package replica

import (
	"context"
	"fmt"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
)

// Marker ends the transaction of a producer.
type Marker = record.Marker

// AppendMarker ends the transaction that a producer has open here, if any, and
// returns once that is committed. The same marker again is harmless: one that
// has nothing to end and nobody to fence is not written.
//
// A marker of a newer producer epoch fences the older producer: its epoch
// becomes the producer's and sequence numbers start anew. ErrInvalidProducerEpoch
// and ErrCoordinatorFenced refuse what is older than the newest marker or batch.
// ErrOutcomeUnknown means that the transaction may have ended or not.
func (r *Replica) AppendMarker(ctx context.Context, m Marker) error {
	p := &Pending{done: make(chan struct{}), batch: m.Build(r.cfg.Now().UnixMilli()), marker: &m, since: noOffset}
	err := func() error {
		if m.ProducerID < 0 || m.ProducerEpoch < 0 || m.CoordinatorEpoch < 0 {
			return fmt.Errorf("%w: marker %+v", ErrInvalidRecord, m)
		}
		if err := r.takes(); err != nil {
			return err
		}
		var err error
		if p.head, err = record.ParseHeader(p.batch); err != nil {
			panic("BUG: a marker that was just built: " + err.Error())
		}
		return r.enqueue(ctx, p)
	}()
	if err != nil {
		r.cfg.Metrics.answered(Appended{}, err)
		return err
	}
	select {
	case <-p.Done():
		_, err := p.Result()
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, context.Cause(ctx))
	}
}

// LastStableOffset is the offset below which every transaction has ended: what
// a reader of committed data may see, and what a cleaner may touch. Never above
// the high watermark and never below the log start.
func (r *Replica) LastStableOffset() int64 {
	stable, start := r.lastStable.Load(), r.LogStart()
	return min(max(stable, start), r.HighWatermark())
}

// OpenTxn says whether a producer has a transaction open here in that epoch,
// counting what is under way on this leader.
func (r *Replica) OpenTxn(producerID int64, epoch int16) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := standOf(r.st.producers, r.overlay, producerID)
	return s.open && s.epoch == epoch
}

// NextSequence is the sequence number that a producer's next batch in that epoch
// must begin with, counting what is under way on this leader: for batches that
// the broker itself writes in a producer's name, by one writer.
func (r *Replica) NextSequence(producerID int64, epoch int16) int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := standOf(r.st.producers, r.overlay, producerID)
	if !s.known || s.epoch != epoch {
		return 0
	}
	return record.AddSequence(s.last, 1)
}

// ProducerInfo is what is known of a producer.
type ProducerInfo struct {
	ID               int64
	Epoch            int16
	LastSequence     int32 // -1 before the first batch of the epoch
	LastTimestampMs  int64 // newest time in its last batch or marker
	CoordinatorEpoch int32 // of its last marker, -1 before the first
	TxnStartOffset   int64 // of its open transaction, -1 when it has none
}

// Producers lists the producers that are known, in no order.
func (r *Replica) Producers() []ProducerInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]ProducerInfo, 0, len(r.st.producers))
	for id, p := range r.st.producers {
		out = append(out, ProducerInfo{
			ID: id, Epoch: p.epoch, LastSequence: p.lastSequence(), LastTimestampMs: p.lastMs,
			CoordinatorEpoch: p.coordinatorEpoch, TxnStartOffset: p.txnStart,
		})
	}
	return out
}

// Aborted is a transaction that was aborted.
type Aborted = seglog.Aborted

// AbortedIn returns the aborted transactions that have records in [from, to), in
// the order of their markers. It is complete up to the last stable offset.
// ErrOffsetOutOfRange means that from was deleted.
func (r *Replica) AbortedIn(from, to int64) ([]Aborted, error) {
	if err := r.readErr(); err != nil {
		return nil, err
	}
	list, err := r.log.AbortedIn(from, to)
	if err != nil {
		return nil, r.readError(fmt.Errorf("aborted transactions from %d to %d: %w", from, to, err))
	}
	return list, nil
}
