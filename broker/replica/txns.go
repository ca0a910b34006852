package replica

import (
	"cmp"
	"slices"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
)

// openTxn is a transaction whose marker has not come yet.
type openTxn struct {
	producer int64
	first    int64 // offset of its first record
}

// openTxns are ordered by their first offset: the first holds the last stable
// offset. They repeat what producers say, which is what is stored.
type openTxns []openTxn

func (t producers) openTxns() openTxns {
	var out openTxns
	for id, p := range t {
		if p.txnStart != noOffset {
			out = append(out, openTxn{id, p.txnStart})
		}
	}
	slices.SortFunc(out, func(a, b openTxn) int { return cmp.Compare(a.first, b.first) })
	return out
}

// remove returns the others; the list given may still be read.
func (o openTxns) remove(producer int64) openTxns {
	return slices.DeleteFunc(slices.Clone(o), func(t openTxn) bool { return t.producer == producer })
}

// lastStable is the offset below which every transaction has ended.
func (s *state) lastStable() int64 {
	if len(s.open) > 0 {
		return s.open[0].first
	}
	return s.next
}

// data takes a committed batch of records into account.
func (s *state) data(h record.Batch, nowMs int64) {
	if h.ProducerID == record.NoProducer {
		return
	}
	p := s.producers.apply(h, nowMs)
	if h.Transactional() && p.txnStart == noOffset {
		p.txnStart = h.BaseOffset
		s.open = append(s.open, openTxn{h.ProducerID, h.BaseOffset})
	}
}

// end takes a committed marker into account and returns the transaction that it
// aborts, nil when it commits one or none is open. The marker's epoch becomes
// that of the producer: whoever sends with an older one is fenced.
func (s *state) end(h record.Batch, m record.Marker, nowMs int64) *seglog.Aborted {
	p := s.producers.of(h, nowMs)
	first := p.txnStart
	p.txnStart, p.marker, p.coordinatorEpoch = noOffset, h.BaseOffset, m.CoordinatorEpoch
	if first == noOffset {
		return nil
	}
	s.open = s.open.remove(h.ProducerID)
	if m.Commit {
		return nil
	}
	return &seglog.Aborted{
		ProducerID: h.ProducerID, FirstOffset: first, LastOffset: h.BaseOffset, LastStableOffset: s.lastStable(),
	}
}
