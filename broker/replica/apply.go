package replica

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
)

// state is what follows from the committed entries. Guarded by Replica.mu.
type state struct {
	index       uint64 // last entry applied
	term        uint64
	next        int64 // the high watermark
	logStart    int64 // what the entries ask for; the log follows once mu is free
	config      []byte
	configIndex uint64
	lastStampMs int64
	producers   producers
	open        openTxns
	received    Received
}

// Received is what was committed since the replica was opened, or began anew from
// a snapshot.
type Received struct {
	Since, To int64 // offsets: from where on it was counted, and the high watermark
	Records   int64 // of producers; markers are left out
	Bytes     int64 // of all batches, as they are stored
}

// Received returns what was committed up to now.
func (r *Replica) Received() Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := r.st.received
	sum.To = r.st.next
	return sum
}

// CountStored adds up what the log has between two offsets of batches, by their
// headers: records of producers, and bytes of all batches.
func (r *Replica) CountStored(from, to int64) (records, bytes int64, err error) {
	if err := r.readErr(); err != nil {
		return 0, 0, err
	}
	err = r.log.ForEachBatch(max(from, r.LogStart()), to, func(h record.Batch, size int) {
		bytes += int64(size)
		if !h.Control() {
			records += int64(h.Count)
		}
	})
	return records, bytes, err
}

// stateOf is the state that was saved.
func stateOf(s *saved) state {
	return state{
		index: s.index, term: s.term, next: s.next, logStart: s.logStart,
		config: s.config, configIndex: s.configIndex,
		lastStampMs: s.lastStampMs, producers: s.producers, open: s.producers.openTxns(),
		received: Received{Since: s.next},
	}
}

// applied is what a committed entry answers.
type applied struct {
	base   int64
	timeMs int64
}

// effect is what a committed entry asks for beside the state.
type effect struct {
	logStart *int64
	aborted  *seglog.Aborted
}

// machine is raft's view of the partition's state. Raft waits for it, so it
// only moves counters and wakes those who wait.
type machine struct{ r *Replica }

var _ raft.BatchingFSM = machine{}

// Apply implements raft.FSM.
func (m machine) Apply(l *raft.Log) any { return m.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch implements raft.BatchingFSM.
func (m machine) ApplyBatch(logs []*raft.Log) []any {
	r := m.r
	out := make([]any, len(logs))
	nowMs := r.cfg.Now().UnixMilli()
	var start int64 = -1
	var aborted []seglog.Aborted
	bytes := 0
	r.mu.Lock()
	for i, l := range logs {
		res, eff, err := r.st.apply(l, nowMs)
		if err != nil {
			r.mu.Unlock()
			r.logs.fatal(fmt.Errorf("apply entry %d: %w", l.Index, err))
			return out
		}
		out[i] = res
		bytes += len(l.Data)
		if eff.logStart != nil {
			start = max(start, *eff.logStart)
		}
		if eff.aborted != nil {
			aborted = append(aborted, *eff.aborted)
		}
	}
	r.log.AddAborted(aborted) // before a reader may come to them
	r.publish()
	r.mu.Unlock()
	if start >= 0 {
		r.moveStart(start)
	}
	r.sinceCkptEntries.Add(int64(len(logs)))
	r.sinceCkptBytes.Add(int64(bytes))
	r.changed.notify()
	return out
}

// publish lets readers see how far the state is; the caller holds mu. The last
// stable offset is never above the high watermark, whichever is read first.
func (r *Replica) publish() {
	r.highWatermark.Store(r.st.next)
	r.lastStable.Store(r.st.lastStable())
}

// apply moves the state by one entry. Of a batch of records it needs the header
// only, a control batch must be whole.
func (s *state) apply(l *raft.Log, nowMs int64) (res applied, eff effect, err error) {
	s.index, s.term = l.Index, l.Term
	switch {
	case l.Type == raft.LogConfiguration:
		s.config, s.configIndex = l.Data, l.Index
	case isHole(l.Extensions):
		end, ok := seglog.HoleEnd(l.Data)
		if !ok {
			return res, eff, fmt.Errorf("%w: hole of %d bytes", ErrCorrupt, len(l.Data))
		}
		s.next = max(s.next, end) // the first entry of a run takes all its offsets
	case len(l.Extensions) > 0:
		cmd, err := parseCommand(l.Data)
		if err != nil {
			return res, eff, err
		}
		s.producers.forget(cmd.forget)
		if eff.logStart = cmd.logStart; cmd.logStart != nil {
			s.logStart = max(s.logStart, *cmd.logStart)
		}
	default:
		res, eff.aborted, err = s.batch(l.Data, nowMs)
	}
	return res, eff, err
}

func (s *state) batch(b []byte, nowMs int64) (res applied, aborted *seglog.Aborted, err error) {
	h, err := record.ParseHeader(b)
	if err != nil {
		return res, nil, err
	}
	if h.BaseOffset != s.next {
		return res, nil, fmt.Errorf("%w: batch at offset %d where %d is next", ErrCorrupt, h.BaseOffset, s.next)
	}
	s.next = h.NextOffset()
	size, _ := record.Size(b)
	s.received.Bytes += int64(size)
	if !h.Control() {
		s.received.Records += int64(h.Count)
	}
	if h.Control() {
		h.Raw = b
		m, ok, err := record.ParseMarker(h)
		if err != nil {
			return res, nil, fmt.Errorf("%w: control batch at offset %d: %w", ErrCorrupt, h.BaseOffset, err)
		}
		if ok {
			aborted = s.end(h, m, nowMs)
		}
	} else {
		s.data(h, nowMs)
	}
	res = applied{h.BaseOffset, record.NoTimestamp}
	if h.LogAppendTime() {
		res.timeMs = h.MaxTimestampMs
		s.lastStampMs = max(s.lastStampMs, h.MaxTimestampMs)
	}
	return res, aborted, nil
}

// moveStart follows a committed command.
func (r *Replica) moveStart(offset int64) {
	before := r.log.Bounds().LogStart
	if now := r.log.SetLogStart(offset); now != before {
		r.report(StartMoved{now})
		r.kickKeeper()
	}
}

// save returns the applied state as it is stored. The log start is that of the
// entries: the log itself may not have followed the last one yet, and a restart
// would not see that entry again.
func (r *Replica) save() *saved {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &saved{
		index: r.st.index, term: r.st.term, next: r.st.next, logStart: max(r.st.logStart, r.log.Bounds().LogStart),
		config: r.st.config, configIndex: r.st.configIndex,
		lastStampMs: r.st.lastStampMs, producers: r.st.producers.clone(),
	}
}

// load replaces the applied state.
func (r *Replica) load(s *saved) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st = stateOf(s)
	r.publish()
}

// Snapshot implements raft.FSM. It is never called: raft's snapshots are of
// the applied state, and a follower that installs one would lose everything
// below it that is still kept. See snapshots.
func (m machine) Snapshot() (raft.FSMSnapshot, error) {
	return nil, errors.New("BUG: raft asked for a snapshot of a partition")
}

// Restore implements raft.FSM: begin anew at the log start of the leader.
func (m machine) Restore(body io.ReadCloser) error {
	b, err := io.ReadAll(io.LimitReader(body, maxSavedBytes))
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	return m.r.restore(b)
}
