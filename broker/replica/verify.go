package replica

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/finding"
	"github.com/weir-analytics/weir/internal/vfs"
	"github.com/weir-analytics/weir/raftfsm/hardstate"
)

// Inspection is what Inspect looks at.
type Inspection struct {
	FS  vfs.FS
	Dir string
	// Votes is what the hard state says of the group; Known is false when it
	// says nothing.
	Votes hardstate.State
	Known bool
	// Found takes what is wrong.
	Found    finding.Sink
	Progress func(bytes int64)
}

// Inspect reads the directory of a partition through without changing anything:
// the log (seglog.Inspect), and what of the stored state follows from it:
// checkpoints and the state at the anchor against a replay (offsets, terms,
// membership, producers, open transactions), the index of aborted transactions
// against checkpoint and replay, terms and votes against the log. The errors are
// those of seglog.Inspect.
func Inspect(in Inspection) (seglog.Report, error) {
	v := &verifier{in: in, aborted: map[int64]seglog.Aborted{}}
	if err := v.readStates(); err != nil {
		return seglog.Report{}, err
	}
	r, err := seglog.Inspect(in.FS, in.Dir, seglog.Inspection{Found: in.Found, Progress: in.Progress, Entry: v.entry})
	if err != nil {
		return r, err
	}
	v.votes(r)
	if r.Damaged { // what is missing in the log would be told a second time
		return r, nil
	}
	if !v.begun && r.Anchor.Index > 0 {
		v.begin(r.Anchor) // there is nothing behind the anchor
	}
	v.end(r)
	return r, v.checkAborted(r)
}

// verifier is one Inspect.
type verifier struct {
	in      Inspection
	ckpts   []*saved // oldest first
	anchors map[uint64]*saved
	broken  map[string]bool // saved states that can't be read

	begun    bool
	replay   bool // st follows from the anchor
	st       state
	logStart int64
	cleaned  bool
	aborted  map[int64]seglog.Aborted // by the offset of the marker
}

func (v *verifier) tell(name string, what, do string) {
	v.in.Found(finding.Finding{File: v.in.Dir + "/" + name, Offset: -1, What: what, Do: do})
}

// readStates reads what is stored beside the log. It comes first: a node that
// runs may write newer ones, which lie behind what is then read of the log.
func (v *verifier) readStates() error {
	v.anchors, v.broken = map[uint64]*saved{}, map[string]bool{}
	for _, prefix := range []string{ckptPrefix, anchorPrefix} {
		list, err := listSaved(v.in.FS, v.in.Dir, prefix)
		if err != nil {
			return fmt.Errorf("list saved states: %w", err)
		}
		for _, index := range slices.Backward(list) {
			s, err := readSaved(v.in.FS, v.in.Dir, prefix, index, 0)
			name := savedName(prefix, index)
			switch {
			case errors.Is(err, fs.ErrNotExist): // replaced by a newer one
			case errors.Is(err, ErrCorrupt) && prefix == ckptPrefix:
				v.broken[name] = true
				v.tell(name, err.Error(), finding.Derived)
			case errors.Is(err, ErrCorrupt):
				v.broken[name] = true
				v.tell(name, err.Error(), finding.RestorePartition)
			case err != nil:
				return err
			case prefix == ckptPrefix:
				v.ckpts = append(v.ckpts, s)
			default:
				v.anchors[index] = s
			}
		}
	}
	return nil
}

// begin takes up the state at the anchor.
func (v *verifier) begin(a seglog.Anchor) {
	v.begun = true
	s := &saved{producers: producers{}}
	if a.Index > 0 {
		s = v.anchors[a.Index]
		if s == nil {
			if name := savedName(anchorPrefix, a.Index); !v.broken[name] {
				v.tell(name, "the state at the log start is missing", finding.RestorePartition)
			}
			return
		}
		if s.next != a.NextOffset || s.term != uint64(a.Term) {
			v.tell(savedName(anchorPrefix, a.Index), fmt.Sprintf("it says term %d, offset %d; the log begins after term %d, at offset %d", s.term, s.next, a.Term, a.NextOffset), finding.RestorePartition)
			return
		}
	}
	v.replay, v.st, v.logStart = true, stateOf(s), s.logStart
	v.compare(0, v.st.index) // a checkpoint at the anchor itself
}

// entry replays one entry of the log.
func (v *verifier) entry(e seglog.Entry, r seglog.Report) error {
	v.cleaned = r.Compacted
	if !v.begun {
		v.begin(r.Anchor)
	}
	if !v.replay {
		return nil
	}
	before := v.st.index
	l := raft.Log{Index: e.Index, Term: uint64(e.Term), Type: raft.LogCommand, Data: e.Data}
	switch e.Kind {
	case seglog.KindBatch:
	case kindCommand:
		l.Extensions = commandMark
	case seglog.KindHole:
		l.Extensions = holeMark
	case seglog.KindConfig:
		l.Type = raft.LogConfiguration
	default:
		v.st.index, v.st.term = e.Index, uint64(e.Term) // raft's own
		v.compare(before, e.Index)
		return nil
	}
	_, eff, err := v.st.apply(&l, 0)
	if err != nil {
		v.replay = false
		v.in.Found(finding.Finding{File: v.in.Dir, Offset: -1, What: fmt.Sprintf("entry %d at offset %d can't be applied: %v", e.Index, e.BaseOffset, err), Do: finding.RestorePartition})
		return nil
	}
	if eff.logStart != nil {
		v.logStart = max(v.logStart, *eff.logStart)
	}
	if eff.aborted != nil {
		v.aborted[eff.aborted.LastOffset] = *eff.aborted
	}
	v.compare(before, e.Index)
	return nil
}

// compare compares checkpoints of entries in (before, to] with the replay. An
// entry may stand for a run, within which nothing but the offset changes.
func (v *verifier) compare(before, to uint64) {
	for len(v.ckpts) > 0 && v.ckpts[0].index <= to {
		s := v.ckpts[0]
		v.ckpts = v.ckpts[1:]
		if s.index <= before { // older than the anchor
			continue
		}
		if what := v.difference(s, s.index < to); what != "" {
			v.tell(savedName(ckptPrefix, s.index), "the log says otherwise: "+what, finding.Derived)
		}
	}
}

// difference says in what a checkpoint is not the replayed state, empty when it
// is.
func (v *verifier) difference(s *saved, within bool) string {
	st := &v.st
	if !within && s.next != st.next || within && s.next > st.next {
		return fmt.Sprintf("offsets up to %d where entry %d ends at %d", s.next, s.index, st.next)
	}
	if s.logStart > max(v.logStart, s.next) {
		return fmt.Sprintf("a log start of %d, moved there by no entry", s.logStart)
	}
	// Raft tells of its own entries at times only after later ones were applied.
	if s.configIndex > st.configIndex || s.configIndex == st.configIndex && !bytes.Equal(s.config, st.config) {
		return fmt.Sprintf("the membership of entry %d, the log has that of entry %d", s.configIndex, st.configIndex)
	}
	if s.lastStampMs != st.lastStampMs && !v.cleaned {
		return fmt.Sprintf("a newest append time of %d, the batches have %d", s.lastStampMs, st.lastStampMs)
	}
	return v.producerDifference(s.producers)
}

func (v *verifier) producerDifference(have producers) string {
	ids := map[int64]bool{}
	for id := range have {
		ids[id] = true
	}
	for id := range v.st.producers {
		ids[id] = true
	}
	sorted := make([]int64, 0, len(ids))
	for id := range ids {
		sorted = append(sorted, id)
	}
	slices.Sort(sorted)
	for _, id := range sorted {
		got, want := have[id], v.st.producers[id]
		switch {
		case got == nil:
			return fmt.Sprintf("nothing of producer %d", id)
		case v.cleaned && (want == nil || got.last > want.last):
			continue // a newer batch of it, behind the checkpoint, has let that one go
		case want == nil:
			return fmt.Sprintf("a producer %d that has sent nothing", id)
		}
		if what := producerDifference(got, want, v.cleaned); what != "" {
			return fmt.Sprintf("of producer %d %s", id, what)
		}
	}
	return ""
}

// producerDifference compares a producer of a checkpoint with the replayed one.
// A log in which batches were cleaned away shows the newest of each producer
// only, and not where every transaction began.
func producerDifference(got, want *producer, cleaned bool) string {
	switch {
	case got.epoch != want.epoch:
		return fmt.Sprintf("epoch %d instead of %d", got.epoch, want.epoch)
	case got.last != want.last:
		return fmt.Sprintf("a last offset of %d instead of %d", got.last, want.last)
	case cleaned:
		return ""
	case got.txnStart != want.txnStart:
		return fmt.Sprintf("an open transaction from offset %d instead of %d", got.txnStart, want.txnStart)
	case got.marker != want.marker || got.coordinatorEpoch != want.coordinatorEpoch:
		return fmt.Sprintf("a last marker at offset %d, epoch %d instead of %d, %d", got.marker, got.coordinatorEpoch, want.marker, want.coordinatorEpoch)
	case got.lastMs != want.lastMs || got.n != want.n || got.recent != want.recent:
		return fmt.Sprintf("other batches than the log has: %+v instead of %+v", got.recent[:got.n], want.recent[:want.n])
	}
	return ""
}

// end looks at checkpoints of entries that the log does not have.
func (v *verifier) end(r seglog.Report) {
	for _, s := range v.ckpts {
		if s.index > r.LastIndex && v.replay {
			v.in.Found(finding.Finding{
				File: v.in.Dir, Offset: -1,
				What: fmt.Sprintf("offsets up to %d were acknowledged (%s), the log ends at %d", s.next, savedName(ckptPrefix, s.index), r.Next), Do: finding.RestorePartition,
			})
		}
	}
	if v.replay && r.LogStart > max(v.logStart, r.Anchor.NextOffset) {
		v.tell("meta", fmt.Sprintf("a log start of %d, moved there by no entry", r.LogStart), finding.RestorePartition)
	}
}

// votes compares terms and votes with the log.
func (v *verifier) votes(r seglog.Report) {
	if r.Damaged {
		return
	}
	tell := func(format string, args ...any) {
		v.in.Found(finding.Finding{File: v.in.Dir, Offset: -1, What: fmt.Sprintf(format, args...), Do: finding.Restore})
	}
	switch {
	case r.LastIndex == 0 && v.in.Known && v.in.Votes.VoteTerm > 0:
		tell("the replica has voted in term %d, but its log is empty", v.in.Votes.VoteTerm)
	case uint64(r.LastTerm) > v.in.Votes.Term:
		tell("the log has term %d, but the votes in hardstate.wal are only known up to term %d", r.LastTerm, v.in.Votes.Term)
	}
}

// checkAborted compares the files with aborted transactions with what the
// newest checkpoint says of them, and with the replay.
func (v *verifier) checkAborted(r seglog.Report) error {
	list, err := listSaved(v.in.FS, v.in.Dir, ckptPrefix)
	if err != nil {
		return fmt.Errorf("list saved states: %w", err)
	}
	for _, index := range list {
		s, err := readSaved(v.in.FS, v.in.Dir, ckptPrefix, index, 0)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrCorrupt) {
			continue // told already
		}
		if err != nil {
			return err
		}
		return v.compareAborted(s, r)
	}
	return nil
}

func (v *verifier) compareAborted(s *saved, r seglog.Report) error {
	have := map[int64]seglog.Aborted{}
	for _, sum := range s.aborted {
		if sum.Base < r.Anchor.NextOffset { // deleted since
			continue
		}
		name, list, what, err := seglog.ReadAborted(v.in.FS, v.in.Dir, sum)
		if err != nil {
			return err
		}
		if what != "" {
			v.in.Found(finding.Finding{File: name, Offset: -1, What: what, Do: "restart the node, which makes it anew from the log"})
			return nil
		}
		for _, a := range list {
			have[a.LastOffset] = a
		}
	}
	if !v.replay {
		return nil
	}
	for _, want := range slices.SortedFunc(maps.Values(v.aborted), func(a, b seglog.Aborted) int { return cmp.Compare(a.LastOffset, b.LastOffset) }) {
		got, ok := have[want.LastOffset]
		if want.LastOffset >= s.next || ok && (got == want || v.cleaned && got.ProducerID == want.ProducerID && got.FirstOffset <= want.FirstOffset) {
			delete(have, want.LastOffset)
			continue
		}
		v.tell(savedName(ckptPrefix, s.index), fmt.Sprintf("the transaction of producer %d that was aborted at offset %d is not in the index as it is in the log", want.ProducerID, want.LastOffset), finding.Derived)
		return nil
	}
	if len(have) > 0 && !v.cleaned {
		v.tell(savedName(ckptPrefix, s.index), fmt.Sprintf("%d transactions are in the index of aborted ones that the log does not have", len(have)), finding.Derived)
	}
	return nil
}
