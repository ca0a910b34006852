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

// verdict is what to do with a batch of a producer: write it, or answer it as
// the earlier batch that it repeats.
type verdict struct {
	committed *sent
	underWay  *Pending
}

// judge compares a batch with what its producer sent before, by Kafka's rules.
func judge(t producers, o overlay, h record.Batch) (verdict, error) {
	if h.ProducerID == record.NoProducer {
		return verdict{}, nil
	}
	p, u := t[h.ProducerID], o[h.ProducerID]
	if p == nil && u == nil {
		return verdict{}, nil // unknown or forgotten: any sequence begins anew
	}
	var epoch int16
	if u != nil {
		epoch = u.epoch
	} else {
		epoch = p.epoch
	}
	switch {
	case h.ProducerEpoch < epoch:
		return verdict{}, fmt.Errorf("%w: producer %d has epoch %d, the batch %d",
			ErrInvalidProducerEpoch, h.ProducerID, epoch, h.ProducerEpoch)
	case h.ProducerEpoch > epoch:
		if h.BaseSequence != 0 {
			return verdict{}, fmt.Errorf("%w: producer %d begins epoch %d with sequence %d instead of 0",
				ErrOutOfOrderSequence, h.ProducerID, h.ProducerEpoch, h.BaseSequence)
		}
		return verdict{}, nil
	}
	last := int32(0)
	if p != nil && p.epoch == epoch {
		if s := p.find(h.BaseSequence, h.LastSequence()); s != nil {
			return verdict{committed: s}, nil
		}
		last = p.lastSent().last
	}
	if u != nil {
		for _, q := range u.batches {
			if q.head.ProducerEpoch != epoch {
				continue
			}
			if q.head.BaseSequence == h.BaseSequence && q.head.LastSequence() == h.LastSequence() {
				return verdict{underWay: q}, nil
			}
			last = q.head.LastSequence()
		}
	}
	if want := record.AddSequence(last, 1); h.BaseSequence != want {
		return verdict{}, fmt.Errorf("%w: producer %d sent sequence %d where %d is next",
			ErrOutOfOrderSequence, h.ProducerID, h.BaseSequence, want)
	}
	return verdict{}, nil
}
