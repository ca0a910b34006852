package dump

import (
	"encoding/hex"
	"fmt"

	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/internal/finding"
	"github.com/weir-analytics/weir/raftfsm/hardstate"
)

// kinds of raft entries, as docs/formats/segment.md numbers them.
var kinds = map[seglog.Kind]string{1: "batch", 2: "membership", 3: "no-op", 4: "barrier", 5: "command", 255: "hole"}

func kindName(k seglog.Kind) string {
	if name, ok := kinds[k]; ok {
		return name
	}
	return fmt.Sprint(k)
}

func (p *Printer) flaws(list []seglog.Flaw) error {
	for _, f := range list {
		if err := p.damage(f.Note, f.Pos, f.What); err != nil {
			return err
		}
	}
	return nil
}

// emitAll prints lines, then flaws.
func (p *Printer) emitAll(lines []Line, flaws []seglog.Flaw) error {
	for _, l := range lines {
		if err := p.Emit(l); err != nil {
			return err
		}
	}
	return p.flaws(flaws)
}

func (p *Printer) index(_ string, b []byte) error {
	x, flaws := seglog.ShowIndex(b)
	if len(flaws) > 0 && flaws[0].Pos == 0 {
		return p.flaws(flaws)
	}
	head := line("index", "base_offset", x.Base, "first_entry", x.FirstIndex, "term_before", x.PrevTerm, "compacted", x.Compacted)
	if x.CreatedMs > 0 {
		head.addTime("made", x.CreatedMs)
	}
	lines := []Line{head}
	for _, s := range x.Slots {
		if s.Offset < p.From || s.Offset >= p.end() {
			continue
		}
		l := line("slot", "position", s.Pos, "entry", s.Index, "term", s.Term, "type", kindName(s.Kind), "offset", s.Offset, "count", s.Count)
		if s.Kind != seglog.KindHole {
			l.add("at", s.At)
			l.add("bytes", s.Size)
		}
		if s.Entries != 1 {
			l.add("entries", s.Entries)
		}
		lines = append(lines, l)
	}
	if x.Sealed {
		l := line("sealed", "log_bytes", x.LogSize, "data_bytes", x.DataSize, "next_offset", x.Next)
		l.addTime("first_time", x.MinTimeMs)
		l.addTime("last_time", x.MaxTimeMs)
		lines = append(lines, l)
	}
	return p.emitAll(lines, flaws)
}

func (p *Printer) internal(_ string, b []byte) error {
	list, flaws := seglog.ShowInternal(b)
	var lines []Line
	for _, e := range list {
		if e.Next >= p.From && e.Next < p.end() {
			lines = append(lines, line("entry", "position", e.Pos, "entry", e.Index, "term", e.Term, "type", kindName(e.Kind),
				"next_offset", e.Next, "data_hex", hex.EncodeToString(e.Data)))
		}
	}
	return p.emitAll(lines, flaws)
}

func (p *Printer) times(name string, b []byte) error {
	list, ok := seglog.ShowTimes(b, max(segmentBase(name), 0))
	if !ok {
		return p.damage(false, int64(len(list))*12, "not a list of times and offsets that grow; the node does without it")
	}
	var lines []Line
	for _, e := range list {
		if e.Offset >= p.From && e.Offset < p.end() {
			l := line("time", "offset", e.Offset)
			l.addTime("no_later_than", e.TimeMs)
			lines = append(lines, l)
		}
	}
	return p.emitAll(lines, nil)
}

func (p *Printer) aborted(_ string, b []byte) error {
	list, bad := seglog.ShowAborted(b)
	var lines []Line
	for _, a := range list {
		if a.LastOffset >= p.From && a.FirstOffset < p.end() {
			lines = append(lines, line("aborted", "producer_id", a.ProducerID, "first_offset", a.FirstOffset, "marker_offset", a.LastOffset,
				"last_stable_offset", a.LastStableOffset))
		}
	}
	var flaws []seglog.Flaw
	if bad >= 0 {
		flaws = append(flaws, seglog.Flaw{Pos: bad, What: "not an entry; the node makes the file anew from the log"})
	}
	return p.emitAll(lines, flaws)
}

func (p *Printer) meta(_ string, b []byte) error {
	list, flaws := seglog.ShowMeta(b)
	var lines []Line
	for _, m := range list {
		l := line("meta", "position", m.Pos, "sequence", m.Sequence, "log_start", m.LogStart, "anchor_entry", m.Anchor.Index,
			"anchor_term", m.Anchor.Term, "anchor_next_offset", m.Anchor.NextOffset, "membership_entry", m.Anchor.ConfigIndex)
		if m.CutIndex > 0 {
			l.add("cut_from_entry", m.CutIndex)
		}
		if m.Swapping {
			l.add("swap_first", m.SwapFirst)
			l.add("swap_last", m.SwapLast)
		}
		lines = append(lines, l)
	}
	return p.emitAll(lines, flaws)
}

func (p *Printer) saved(_ string, b []byte) error {
	s, err := replica.ShowSaved(b)
	if err != nil {
		return p.damage(false, 0, err.Error())
	}
	head := line("state", "entry", s.Index, "term", s.Term, "next_offset", s.Next, "log_start", s.LogStart, "membership_entry", s.ConfigIndex)
	if s.LastStampMs > 0 {
		head.addTime("last_append_time", s.LastStampMs)
	}
	lines := []Line{head}
	for _, r := range s.Producers {
		l := line("producer", "producer_id", r.ID, "producer_epoch", r.Epoch, "last_sequence", r.LastSequence, "last_offset", r.LastOffset)
		l.addTime("last_time", r.LastMs)
		if r.TxnStart >= 0 {
			l.add("open_transaction", r.TxnStart)
		}
		if r.MarkerOffset >= 0 {
			l.add("marker_offset", r.MarkerOffset)
			l.add("coordinator_epoch", r.CoordinatorEpoch)
		}
		lines = append(lines, l)
	}
	for _, a := range s.Aborted {
		lines = append(lines, line("aborted_index", "base_offset", a.Base, "entries", a.Count, "checksum", fmt.Sprintf("%08x", a.CRC)))
	}
	return p.emitAll(lines, nil)
}

func (p *Printer) votes(name string) error {
	var failed error
	keep := func(err error) {
		if failed == nil {
			failed = err
		}
	}
	_, err := hardstate.Inspect(p.FS, name, func(f finding.Finding) { keep(p.damage(f.Note, f.Offset, f.What)) }, func(r hardstate.Record) {
		topic, partition := r.Group.Partition()
		l := line("vote", "position", r.Pos, "topic_id", hex.EncodeToString(topic[:]), "partition", partition, "term", r.State.Term,
			"vote_term", r.State.VoteTerm, "candidate", r.State.Candidate)
		if r.Gone {
			l.add("gone", true)
		}
		keep(p.Emit(l))
	})
	if err != nil {
		return err
	}
	return failed
}
