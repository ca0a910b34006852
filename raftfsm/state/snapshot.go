package state

import (
	"encoding/json"
	"errors"
	"fmt"
)

const snapshotVersion = 1

// ErrSnapshotUnsupported is returned for a snapshot that a newer weir wrote.
var ErrSnapshotUnsupported = errors.New("snapshot is not supported by this version of weir")

type snapshot struct {
	Version int    `json:"snapshot_version"`
	State   *State `json:"state"`
}

// AppendSnapshot appends s as one JSON document: the same state always gives the same bytes.
func (s *State) AppendSnapshot(dst []byte) ([]byte, error) {
	b, err := json.Marshal(snapshot{Version: snapshotVersion, State: s})
	if err != nil {
		return dst, fmt.Errorf("encode snapshot of the cluster state: %w", err)
	}
	return append(dst, b...), nil
}

// ParseSnapshot reads what AppendSnapshot wrote. Fields it does not know are ignored: a newer writer raises the version when an older
// reader would go wrong.
func ParseSnapshot(b []byte) (*State, error) {
	snap := snapshot{State: New()}
	if err := json.Unmarshal(b, &snap); err != nil {
		return nil, fmt.Errorf("read snapshot of the cluster state: %w", err)
	}
	if snap.Version != snapshotVersion {
		return nil, fmt.Errorf("%w: version %d, want %d", ErrSnapshotUnsupported, snap.Version, snapshotVersion)
	}
	if snap.State == nil {
		return nil, errors.New("read snapshot of the cluster state: it holds no state")
	}
	snap.State.Reindex()
	return snap.State, nil
}
