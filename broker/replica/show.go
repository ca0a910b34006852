package replica

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weir-analytics/weir/broker/seglog"
)

// SavedState is what a file ckpt-N or anchor-N says, for people who look at it.
type SavedState struct {
	Index, Term uint64
	Next        int64 // offset after the last applied record
	LogStart    int64
	ConfigIndex uint64
	LastStampMs int64 // newest time that the log itself gave a batch, 0 when there is none
	Producers   []SavedProducer
	Aborted     []seglog.AbortedSum
}

// SavedProducer is a producer in a SavedState.
type SavedProducer struct {
	ID               int64
	Epoch            int16
	LastSequence     int32 // -1 when it has sent nothing in this epoch
	LastOffset       int64 // of its newest batch or marker
	LastMs           int64 // newest time in that
	TxnStart         int64 // first offset of its open transaction, -1
	MarkerOffset     int64 // of its last marker, -1
	CoordinatorEpoch int32 // of that, -1
}

// ShowSaved reads the bytes of a file ckpt-N or anchor-N, producers in the order of their ids. Errors are ErrCorrupt.
func ShowSaved(b []byte) (SavedState, error) {
	s, err := parseSaved(b, 0)
	if err != nil {
		return SavedState{}, err
	}
	out := SavedState{
		Index: s.index, Term: s.term, Next: s.next, LogStart: s.logStart, ConfigIndex: s.configIndex, LastStampMs: s.lastStampMs, Aborted: s.aborted,
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.producers), cmp.Compare[int64]) {
		p := s.producers[id]
		out.Producers = append(out.Producers, SavedProducer{
			ID: id, Epoch: p.epoch, LastSequence: p.lastSequence(), LastOffset: p.last, LastMs: p.lastMs, TxnStart: p.txnStart,
			MarkerOffset: p.marker, CoordinatorEpoch: p.coordinatorEpoch,
		})
	}
	return out, nil
}
