package replica

import (
	"fmt"

	"github.com/weir-analytics/weir/broker/record"
)

// overlay is what the leader has under way of each producer, on top of the
// committed state: without it a retry of a batch that is being written would
// look like the next batch. Guarded by the replica's mu.
type overlay map[int64]*underWay

type underWay struct {
	epoch   int16
	batches []*Pending // oldest first
}

func (o overlay) add(p *Pending) {
	if p.head.ProducerID == record.NoProducer {
		return
	}
	u := o[p.head.ProducerID]
	if u == nil {
		u = &underWay{}
		o[p.head.ProducerID] = u
	}
	u.epoch = p.head.ProducerEpoch
	u.batches = append(u.batches, p)
}

func (o overlay) remove(p *Pending) {
	u := o[p.head.ProducerID]
	if u == nil {
		return
	}
	for i, q := range u.batches {
		if q == p {
			u.batches = append(u.batches[:i:i], u.batches[i+1:]...)
			break
		}
	}
	if len(u.batches) == 0 {
		delete(o, p.head.ProducerID)
	}
}

// stand is where a producer will be once everything under way is committed.
type stand struct {
	known            bool
	epoch            int16
	last             int32 // sequence number, noSequence when the epoch begins
	open             bool  // has a transaction
	coordinatorEpoch int32
	marker           int64 // offset of its newest marker, noOffset
	ending           bool  // a marker is under way
}

func standOf(t producers, o overlay, id int64) stand {
	s := stand{last: noSequence, coordinatorEpoch: noCoordinator, marker: noOffset}
	if p := t[id]; p != nil {
		s = stand{
			known: true, epoch: p.epoch, last: p.lastSequence(), open: p.txnStart != noOffset,
			coordinatorEpoch: p.coordinatorEpoch, marker: p.marker,
		}
	}
	u := o[id]
	if u == nil {
		return s
	}
	for _, q := range u.batches {
		if s.known && q.head.ProducerEpoch != s.epoch {
			s.last = noSequence
		}
		s.known, s.epoch = true, q.head.ProducerEpoch
		if q.marker != nil {
			s.open, s.ending, s.coordinatorEpoch = false, true, q.marker.CoordinatorEpoch
			continue
		}
		s.last = q.head.LastSequence()
		s.open = s.open || q.head.Transactional()
	}
	return s
}

// verdict is what to do with a batch of a producer: write it, or answer it as
// the earlier batch that it repeats.
type verdict struct {
	committed *sent
	underWay  *Pending
}

// judge compares a batch with what its producer sent before, by Kafka's rules.
func judge(t producers, o overlay, p *Pending) (verdict, error) {
	h := p.head
	if h.ProducerID == record.NoProducer {
		return verdict{}, nil
	}
	s := standOf(t, o, h.ProducerID)
	if s.known && h.ProducerEpoch < s.epoch {
		return verdict{}, fmt.Errorf("%w: producer %d has epoch %d, the batch %d",
			ErrInvalidProducerEpoch, h.ProducerID, s.epoch, h.ProducerEpoch)
	}
	if p.marker != nil {
		return judgeMarker(o, p, s)
	}
	if s.known && h.ProducerEpoch == s.epoch {
		if v, found := repeated(t, o, h); found {
			return v, nil
		}
	}
	if err := s.checkSequence(h); err != nil {
		return verdict{}, err
	}
	return verdict{}, s.checkTxn(h, p.since)
}

// repeated finds the earlier batch that a batch repeats.
func repeated(t producers, o overlay, h record.Batch) (verdict, bool) {
	if p := t[h.ProducerID]; p != nil && p.epoch == h.ProducerEpoch {
		if s := p.find(h.BaseSequence, h.LastSequence()); s != nil {
			return verdict{committed: s}, true
		}
	}
	if u := o[h.ProducerID]; u != nil {
		for _, q := range u.batches {
			if q.marker == nil && q.head.ProducerEpoch == h.ProducerEpoch &&
				q.head.BaseSequence == h.BaseSequence && q.head.LastSequence() == h.LastSequence() {
				return verdict{underWay: q}, true
			}
		}
	}
	return verdict{}, false
}

func (s stand) checkSequence(h record.Batch) error {
	if !s.known {
		return nil // unknown or forgotten: any sequence begins anew
	}
	if h.ProducerEpoch != s.epoch {
		if h.BaseSequence != 0 {
			return fmt.Errorf("%w: producer %d begins epoch %d with sequence %d instead of 0",
				ErrOutOfOrderSequence, h.ProducerID, h.ProducerEpoch, h.BaseSequence)
		}
		return nil
	}
	if want := record.AddSequence(s.last, 1); h.BaseSequence != want {
		return fmt.Errorf("%w: producer %d sent sequence %d where %d is next",
			ErrOutOfOrderSequence, h.ProducerID, h.BaseSequence, want)
	}
	return nil
}

// checkTxn keeps batches in their transactions. since is the high watermark at
// which it was found out that the producer has a transaction: one that a marker
// has ended since then must not begin anew, since nobody would end it again.
func (s stand) checkTxn(h record.Batch, since int64) error {
	switch {
	case !h.Transactional() && s.open:
		return fmt.Errorf("%w: producer %d has a transaction open and sent a batch outside of it", ErrInvalidTxnState, h.ProducerID)
	case h.Transactional() && !s.open && since >= 0 && (s.ending || s.marker >= since):
		return fmt.Errorf("%w: the transaction of producer %d has ended", ErrInvalidTxnState, h.ProducerID)
	}
	return nil
}

// judgeMarker finds a marker that has nothing to do: there is no transaction to
// end and nobody to fence.
func judgeMarker(o overlay, p *Pending, s stand) (verdict, error) {
	m := p.marker
	if s.coordinatorEpoch > m.CoordinatorEpoch {
		return verdict{}, fmt.Errorf("%w: a coordinator of epoch %d has ended transactions of producer %d, this one has epoch %d",
			ErrCoordinatorFenced, s.coordinatorEpoch, m.ProducerID, m.CoordinatorEpoch)
	}
	if s.open || !s.known || s.epoch != m.ProducerEpoch || s.coordinatorEpoch != m.CoordinatorEpoch {
		return verdict{}, nil
	}
	if u := o[m.ProducerID]; u != nil { // answered when what it repeats is durable
		return verdict{underWay: u.batches[len(u.batches)-1]}, nil
	}
	return verdict{committed: &sent{base: s.marker, timeMs: record.NoTimestamp}}, nil
}
