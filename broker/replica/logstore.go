package replica

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/seglog"
)

// errNotStored marks an append that was undone: the entries are not in the log.
var errNotStored = errors.New("entries were not stored")

// logStore is raft's view of the partition's log.
//
// The anchor, the entry below the first one kept, is answered with its index
// and term: raft compares logs at the entry before the first one it sends, and
// without it a follower behind the log start would be sent snapshots for ever.
//
// Deleting a prefix is left to retention, deleting a suffix is real. It is not
// "monotonic" in raft's sense: that would let raft delete the whole log.
type logStore struct {
	r *Replica
	// headsOnly is set while the group has one voter: nobody is sent entries,
	// and to apply one its header is enough.
	headsOnly atomic.Bool
	// running is set once raft's own goroutines call, see fatal.
	running atomic.Bool
	// storing is since when entries are being stored, in Unix ns; 0: they are not.
	storing atomic.Int64
}

var _ raft.LogStore = (*logStore)(nil)

// FirstIndex implements raft.LogStore.
func (s *logStore) FirstIndex() (uint64, error) {
	b := s.r.log.Bounds()
	if b.LastIndex == b.Anchor.Index {
		return b.Anchor.Index, nil // 0 when there is nothing at all
	}
	return b.Anchor.Index + 1, nil
}

// LastIndex implements raft.LogStore.
func (s *logStore) LastIndex() (uint64, error) { return s.r.log.Bounds().LastIndex, nil }

// GetLog implements raft.LogStore.
func (s *logStore) GetLog(index uint64, out *raft.Log) error {
	if a := s.r.log.Bounds().Anchor; index == a.Index && index > 0 {
		*out = raft.Log{Index: a.Index, Term: uint64(a.Term), Type: raft.LogNoop}
		return nil
	}
	e, err := s.entry(index)
	if errors.Is(err, seglog.ErrNotFound) {
		return raft.ErrLogNotFound
	}
	if err != nil {
		return s.fatal(fmt.Errorf("read entry %d: %w", index, err))
	}
	*out = raft.Log{Index: e.Index, Term: uint64(e.Term), Data: e.Data}
	switch e.Kind {
	case seglog.KindBatch:
		out.Type = raft.LogCommand
	case kindCommand:
		out.Type, out.Extensions = raft.LogCommand, commandMark
	case seglog.KindHole:
		out.Type, out.Extensions = raft.LogCommand, holeMark
	case seglog.KindConfig:
		out.Type = raft.LogConfiguration
	case kindBarrier:
		out.Type = raft.LogBarrier
	case kindNoop:
		out.Type = raft.LogNoop
	default:
		return s.fatal(fmt.Errorf("%w: entry %d has unknown kind %d", ErrCorrupt, index, e.Kind))
	}
	return nil
}

func (s *logStore) entry(index uint64) (seglog.Entry, error) {
	if s.headsOnly.Load() {
		return s.r.log.Head(index)
	}
	return s.r.log.Entry(index)
}

// StoreLog implements raft.LogStore.
func (s *logStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore. New batches get their offsets here, on
// the leader, before anybody else sees them; all entries are durable when it
// returns, after one sync.
func (s *logStore) StoreLogs(logs []*raft.Log) error {
	entries := make([]seglog.Entry, len(logs))
	for i, l := range logs {
		e, err := s.convert(l)
		if err != nil {
			return s.fatal(err)
		}
		entries[i] = e
	}
	began := time.Now()
	s.storing.Store(began.UnixNano())
	err := s.r.log.Append(entries)
	s.storing.Store(0)
	s.r.cfg.Metrics.stored(entries, time.Since(began))
	if err != nil {
		if !errors.Is(err, seglog.ErrFailed) {
			err = fmt.Errorf("%w: %w", errNotStored, err)
		}
		s.r.fail(fmt.Errorf("store %d entries: %w", len(logs), err))
		return err
	}
	return nil
}

func (s *logStore) convert(l *raft.Log) (seglog.Entry, error) {
	e := seglog.Entry{Index: l.Index, Term: uint32(l.Term), Data: l.Data}
	if uint64(e.Term) != l.Term {
		return e, fmt.Errorf("term %d is beyond what a leader epoch can hold", l.Term)
	}
	switch l.Type {
	case raft.LogCommand:
		e.Kind = seglog.KindBatch
		switch {
		case isHole(l.Extensions):
			e.Kind = seglog.KindHole
		case len(l.Extensions) > 0:
			e.Kind = kindCommand
		default:
			s.r.stamp(e.Data)
		}
	case raft.LogNoop:
		e.Kind = kindNoop
	case raft.LogBarrier:
		e.Kind = kindBarrier
	case raft.LogConfiguration:
		e.Kind = seglog.KindConfig
		s.noteServers(raft.DecodeConfiguration(l.Data))
	default:
		return e, fmt.Errorf("raft entry of unknown type %s", l.Type)
	}
	return e, nil
}

// noteServers looks at a membership before raft acts on it.
func (s *logStore) noteServers(c raft.Configuration) { s.setSole(len(c.Servers) <= 1) }

// setSole says whether the group has one member. Entries are kept in memory
// only for others.
func (s *logStore) setSole(sole bool) {
	s.headsOnly.Store(sole)
	s.r.log.KeepTail(!sole)
}

// stamp sets the append time of a batch that is new, as the topic wishes.
// Raft's main loop is the only caller.
func (r *Replica) stamp(batch []byte) {
	if r.settings.Load().Timestamps != LogAppendTime {
		return
	}
	if h, err := record.ParseHeader(batch); err != nil || h.LeaderEpoch != -1 {
		return // from a leader, stamped already
	}
	r.mu.Lock()
	committed := r.st.lastStampMs
	r.mu.Unlock()
	r.lastStampMs = max(r.lastStampMs, committed, r.cfg.Now().UnixMilli())
	record.SetLogAppendTime(batch, r.lastStampMs)
}

// DeleteRange implements raft.LogStore.
func (s *logStore) DeleteRange(from, to uint64) error {
	b := s.r.log.Bounds()
	if to < b.LastIndex || to <= b.Anchor.Index {
		return nil // a prefix: retention's business
	}
	if err := s.r.log.TruncateFrom(from); err != nil {
		s.r.fail(fmt.Errorf("remove entries from %d on: %w", from, err))
		return err
	}
	sole, err := s.r.soleVoter() // a membership may have been among them
	if err != nil {
		return s.fatal(err)
	}
	s.setSole(sole)
	return nil
}

// fatal stops the replica. Raft panics, and with it the whole program, when
// some of its reads and writes fail; so its goroutine ends here instead. What
// it holds is released by its deferred calls, and the group is shut down.
func (s *logStore) fatal(err error) error {
	s.r.fail(err)
	if s.running.Load() {
		runtime.Goexit()
	}
	return err
}

// stableStore is raft's view of the hard state, with the same fence.
type stableStore struct {
	raft.StableStore
	logs *logStore
}

// Set implements raft.StableStore.
func (s stableStore) Set(key, val []byte) error {
	if err := s.StableStore.Set(key, val); err != nil {
		return s.logs.fatal(fmt.Errorf("store vote: %w", err))
	}
	return nil
}

// SetUint64 implements raft.StableStore.
func (s stableStore) SetUint64(key []byte, val uint64) error {
	if err := s.StableStore.SetUint64(key, val); err != nil {
		return s.logs.fatal(fmt.Errorf("store term: %w", err))
	}
	return nil
}
