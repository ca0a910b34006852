package replica

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/broker/seglog"
)

// snapshots is raft's view of where the log can begin.
//
// Raft's own snapshots are of the applied state and replace the log below. Here
// the log is the data, so there are two others:
//
//   - While raft starts, List returns the checkpoint: the applied state of this
//     replica near the end of its log, from where entries are applied again.
//   - From then on it returns a synthetic snapshot at the anchor, made of the
//     state of the partition at the log start. A follower behind the log start
//     gets that, and then every entry that is kept.
type snapshots struct {
	r *Replica

	mu       sync.Mutex
	starting *saved // what List returns while raft starts; nil afterwards
	staged   map[string]*staged
	last     int // number of the last staged one
}

// staged is a snapshot that a leader sends.
type staged struct {
	snaps *snapshots
	meta  raft.SnapshotMeta
	body  bytes.Buffer
}

var _ raft.SnapshotStore = (*snapshots)(nil)

// started ends the time in which List returns the checkpoint.
func (s *snapshots) started() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting = nil
}

// List implements raft.SnapshotStore.
func (s *snapshots) List() ([]*raft.SnapshotMeta, error) {
	s.mu.Lock()
	starting := s.starting
	s.mu.Unlock()
	if starting != nil {
		if starting.index == 0 {
			return nil, nil
		}
		return []*raft.SnapshotMeta{metaOf("start", starting, 0)}, nil
	}
	body, state, err := s.atAnchor()
	if err != nil || state == nil {
		return nil, err
	}
	return []*raft.SnapshotMeta{metaOf(savedName(anchorPrefix, state.index), state, int64(len(body)))}, nil
}

// members decodes a membership; none has no members. What is given was
// checked against a checksum, or the library would panic.
func members(config []byte) raft.Configuration {
	if len(config) == 0 {
		return raft.Configuration{}
	}
	return raft.DecodeConfiguration(config)
}

func metaOf(id string, s *saved, size int64) *raft.SnapshotMeta {
	return &raft.SnapshotMeta{
		Version: raft.SnapshotVersionMax, ID: id, Index: s.index, Term: s.term, Size: size,
		Configuration: members(s.config), ConfigurationIndex: s.configIndex,
	}
}

// atAnchor returns the state at the anchor as it is sent; nil without an
// anchor, when the log goes back to the first entry and no snapshot is needed.
func (s *snapshots) atAnchor() ([]byte, *saved, error) {
	a := s.r.log.Bounds().Anchor
	if a.Index == 0 {
		return nil, nil, nil
	}
	state, err := readSaved(s.r.cfg.FS, s.r.cfg.Dir, anchorPrefix, a.Index, 0)
	if err != nil {
		return nil, nil, err
	}
	return state.encode(), state, nil
}

// Open implements raft.SnapshotStore.
func (s *snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	s.mu.Lock()
	st := s.staged[id]
	s.mu.Unlock()
	if st != nil {
		return &st.meta, io.NopCloser(bytes.NewReader(st.body.Bytes())), nil
	}
	body, state, err := s.atAnchor()
	if err != nil {
		return nil, nil, err
	}
	if state == nil || savedName(anchorPrefix, state.index) != id {
		return nil, nil, fmt.Errorf("snapshot %s is gone, the log start has moved", id)
	}
	return metaOf(id, state, int64(len(body))), io.NopCloser(bytes.NewReader(body)), nil
}

// Create implements raft.SnapshotStore. Raft calls it for what a leader sends.
func (s *snapshots) Create(version raft.SnapshotVersion, index, term uint64, c raft.Configuration,
	configIndex uint64, _ raft.Transport,
) (raft.SnapshotSink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	st := &staged{snaps: s, meta: raft.SnapshotMeta{
		Version: version, ID: fmt.Sprintf("staged-%d", s.last), Index: index, Term: term,
		Configuration: c, ConfigurationIndex: configIndex,
	}}
	return st, nil
}

// ID implements raft.SnapshotSink.
func (st *staged) ID() string { return st.meta.ID }

// Write implements raft.SnapshotSink.
func (st *staged) Write(b []byte) (int, error) {
	if st.body.Len()+len(b) > maxSavedBytes {
		return 0, errors.New("snapshot of a partition is larger than any can be")
	}
	return st.body.Write(b)
}

// Close implements raft.SnapshotSink: the snapshot can be opened from now on.
// It becomes durable when it is restored, together with the emptied log.
func (st *staged) Close() error {
	st.meta.Size = int64(st.body.Len())
	st.snaps.mu.Lock()
	defer st.snaps.mu.Unlock()
	st.snaps.staged = map[string]*staged{st.meta.ID: st} // an older one is of no use
	return nil
}

// Cancel implements raft.SnapshotSink.
func (st *staged) Cancel() error { return nil }

// restore begins anew with the state at a leader's log start. Checkpoints go
// first: one that is ahead of the emptied log would look like lost data.
func (r *Replica) restore(body []byte) error {
	s, err := parseSaved(body, r.cfg.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	err = func() error {
		list, err := listSaved(r.cfg.FS, r.cfg.Dir, ckptPrefix)
		if err != nil {
			return err
		}
		for _, index := range list {
			if err := r.cfg.FS.Remove(r.cfg.Dir + "/" + savedName(ckptPrefix, index)); err != nil {
				return err
			}
		}
		if err := writeSaved(r.cfg.FS, r.cfg.Dir, anchorPrefix, s, keepSaved); err != nil {
			return err
		}
		return r.log.ResetTo(s.anchor(), s.logStart)
	}()
	if err != nil {
		r.fail(fmt.Errorf("restore snapshot: %w", err))
		return err
	}
	r.load(s)
	r.logs.noteServers(members(s.config))
	r.ckptIndex.Store(s.index)
	r.report(Restored{s.anchor()})
	r.changed.notify()
	return nil
}

// anchor is the place in the log that the state belongs to.
func (s *saved) anchor() seglog.Anchor {
	return seglog.Anchor{
		Index: s.index, Term: uint32(s.term), NextOffset: s.next, Config: s.config, ConfigIndex: s.configIndex,
	}
}
