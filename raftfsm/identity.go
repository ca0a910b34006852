package raftfsm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
)

// identity is the file identity.json: one JSON document, written to a temporary file, synced and renamed into place. Readers refuse
// another version and ignore fields they do not know.
//
// Formed is false from the moment the file is created until the first command of the cluster is committed; a crash in between leaves
// nothing that was acknowledged, and the next start forms the cluster again under the same ids.
type identity struct {
	Version   int    `json:"version"`
	ClusterID string `json:"cluster_id"`
	NodeID    int32  `json:"node_id"`
	ServerID  string `json:"server_id"` // drawn when the directory was created: another directory is another server, whatever its node id
	Formed    bool   `json:"formed"`
	Joined    bool   `json:"joined,omitempty"` // it was taken into a cluster that others began: it never begins one
}

const (
	identityFile    = "identity.json"
	identityVersion = 1
)

// harmless are the entries that an empty data directory may have: what the process makes before the controller opens, and what operators
// and file systems put there.
var harmless = map[string]bool{"lock": true, "admin.sock": true, "lost+found": true, "weir.toml": true, ".gitkeep": true, ".keep": true, identityFile + ".tmp": true, joinFile: true, joinFile + ".tmp": true, peerDir: true}

// loadIdentity reads the identity of dir, or draws one when dir is empty.
func loadIdentity(dir string, cfg Config) (identity, error) {
	b, err := os.ReadFile(filepath.Join(dir, identityFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return newIdentity(dir, cfg)
	case err != nil:
		return identity{}, fmt.Errorf("read identity: %w", err)
	}
	var id identity
	if err := json.Unmarshal(b, &id); err != nil {
		return id, fmt.Errorf("%s is damaged (%w): restore it from a copy; deleting it would make this another node", filepath.Join(dir, identityFile), err)
	}
	if id.Version != identityVersion {
		return id, fmt.Errorf("%s has version %d, this weir reads version %d: start a newer weir", filepath.Join(dir, identityFile), id.Version, identityVersion)
	}
	if id.ClusterID == "" || id.ServerID == "" {
		return id, fmt.Errorf("%s is damaged (it says cluster %q, server %q): restore it from a copy; deleting it would make this another node", filepath.Join(dir, identityFile), id.ClusterID, id.ServerID)
	}
	if cfg.NodeID != 0 && id.NodeID != cfg.NodeID {
		return id, fmt.Errorf("%w: it is node %d, configured is node %d (--node-id)", ErrIdentity, id.NodeID, cfg.NodeID)
	}
	if cfg.ClusterID != "" && cfg.ClusterID != id.ClusterID {
		return id, fmt.Errorf("%w: it is of cluster %s, configured is %s (--cluster-id)", ErrIdentity, id.ClusterID, cfg.ClusterID)
	}
	return id, nil
}

func newIdentity(dir string, cfg Config) (identity, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return identity{}, fmt.Errorf("look into the data directory: %w", err)
	}
	for _, e := range entries {
		if !harmless[e.Name()] {
			return identity{}, fmt.Errorf("%w: %s has %q; choose an empty directory with --data", ErrNotEmpty, dir, e.Name())
		}
	}
	if cfg.Peers != nil && cfg.Peers.Join != "" {
		return join(dir, cfg)
	}
	if cfg.ClusterID != "" {
		return identity{}, fmt.Errorf("%w: %s is empty, and cluster %s is configured (--cluster-id); a second cluster of that name is not formed", ErrIdentity, dir, cfg.ClusterID)
	}
	id := identity{Version: identityVersion, ClusterID: clusterID(), NodeID: max(cfg.NodeID, 1), ServerID: uuid.NewString()}
	return id, saveIdentity(dir, id)
}

// saveIdentity replaces the file; it is durable when nil is returned.
func saveIdentity(dir string, id identity) error {
	b, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return fmt.Errorf("encode identity: %w", err)
	}
	return replaceFile(filepath.Join(dir, identityFile), append(b, '\n'))
}

// replaceFile writes b to path so that a crash leaves the old or the new content, and syncs file and directory.
func replaceFile(path string, b []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}
