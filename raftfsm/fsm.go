package raftfsm

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/command"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// maxSnapshot bounds what is read of a snapshot, in bytes. A state of 100 000 sites is about 20 MB.
const maxSnapshot = 1 << 30

// fsm applies committed entries and publishes the states that result.
type fsm struct {
	current atomic.Pointer[state.State] // never nil
	failed  chan error                  // takes the first error after which this replica must not go on; bound 1, later ones are dropped
	erased  chan struct{}               // holds one token: salts were erased from the state and are in files still
	done    outcomes

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each publish, after current is set
}

// outcome is what raft hands back to the proposer.
type outcome struct {
	result any
	err    error
}

func newFSM() *fsm {
	f := &fsm{failed: make(chan error, 1), erased: make(chan struct{}, 1), changed: make(chan struct{})}
	f.current.Store(state.New())
	return f
}

func (f *fsm) publish(s *state.State) {
	f.current.Store(s)
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fsm) watch() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// Apply is called by raft, one entry at a time.
func (f *fsm) Apply(entry *raft.Log) any {
	out := f.apply(entry)
	f.done.put(entry.Index, out)
	return out
}

func (f *fsm) apply(entry *raft.Log) outcome {
	cmd, at, err := command.Parse(entry.Data)
	if err != nil {
		return f.fail(fmt.Errorf("controller entry %d: %w", entry.Index, err))
	}
	before := f.current.Load()
	after, result, err := before.Apply(cmd, at)
	if errors.Is(err, command.ErrUnsupported) {
		return f.fail(fmt.Errorf("controller entry %d: %w", entry.Index, err))
	}
	if after != before {
		f.publish(after)
	}
	if salts, ok := cmd.(command.AgreeSalts); ok && len(salts.Erase) > 0 {
		select {
		case f.erased <- struct{}{}:
		default: // one look at the files is enough
		}
	}
	return outcome{result: result, err: err}
}

// fail reports an entry that this version cannot apply. Going on would make this replica differ from the others.
func (f *fsm) fail(err error) outcome {
	select {
	case f.failed <- err:
	default:
	}
	return outcome{err: err}
}

// Snapshot is called by raft between two Applies. States are immutable, so holding one is enough.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) { return fsmSnapshot{f.current.Load()}, nil }

// Restore replaces the state by a snapshot's. Raft checked its checksum.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxSnapshot+1))
	if err != nil {
		return fmt.Errorf("read controller snapshot: %w", err)
	}
	if len(b) > maxSnapshot {
		return fmt.Errorf("read controller snapshot: more than %d bytes", maxSnapshot)
	}
	s, err := state.ParseSnapshot(b)
	if err != nil {
		return err
	}
	f.publish(s)
	f.done.lose()
	return nil
}

type fsmSnapshot struct{ state *state.State }

func (s fsmSnapshot) Persist(sink raft.SnapshotSink) error {
	b, err := s.state.AppendSnapshot(nil)
	if err == nil {
		_, err = sink.Write(b)
	}
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

func (fsmSnapshot) Release() {}
