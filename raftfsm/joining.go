package raftfsm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/weir-analytics/weir/raftfsm/peer"
	"github.com/weir-analytics/weir/raftfsm/transport"
)

const (
	peerDir  = "peer"           // keys and addresses
	bookFile = "peers.json"     // in peerDir: a JSON object of addresses by server id
	joinFile = "joining.server" // the server id under which this directory asks to join, until it has
)

// joinFor bounds how long a node asks to be taken in: the member may be starting.
const joinFor = 2 * time.Minute

// join asks a cluster to take this directory in. The server id is kept before it is used: after a crash the same data asks again.
func join(dir string, cfg Config) (identity, error) {
	server, err := joiningServer(dir)
	if err != nil {
		return identity{}, err
	}
	q := peer.JoinConfig{
		Dir: filepath.Join(dir, peerDir), Address: cfg.Peers.Join, Token: cfg.Peers.Token, Own: cfg.Peers.Own,
		Server: server, NodeID: cfg.NodeID, Advertise: cfg.Peers.Advertise,
	}
	ctx, cancel := context.WithTimeout(context.Background(), joinFor)
	defer cancel()
	var a peer.JoinAnswer
	for wait := 200 * time.Millisecond; ; wait = min(2*wait, 3*time.Second) {
		if a, err = peer.Join(ctx, q); err == nil || !errors.Is(err, peer.ErrTryAgain) || ctx.Err() != nil {
			break
		}
		cfg.Log.Info("the cluster does not take this node in yet; asking again", "err", err)
		time.Sleep(wait)
	}
	if err != nil {
		return identity{}, fmt.Errorf("--join: %w", err)
	}
	if cfg.ClusterID != "" && cfg.ClusterID != a.Cluster {
		return identity{}, fmt.Errorf("%w: %s is of cluster %s, configured is %s (--cluster-id)", ErrIdentity, cfg.Peers.Join, a.Cluster, cfg.ClusterID)
	}
	if err := saveBook(dir, a.Addresses); err != nil {
		return identity{}, err
	}
	id := identity{Version: identityVersion, ClusterID: a.Cluster, NodeID: a.NodeID, ServerID: server, Joined: true}
	if err := saveIdentity(dir, id); err != nil {
		return identity{}, err
	}
	return id, os.Remove(filepath.Join(dir, joinFile))
}

func joiningServer(dir string) (string, error) {
	path := filepath.Join(dir, joinFile)
	b, err := os.ReadFile(path)
	if err == nil {
		if id, err := uuid.Parse(strings.TrimSpace(string(b))); err == nil {
			return id.String(), nil
		}
		return "", fmt.Errorf("%s is damaged; remove it", path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	id := uuid.NewString()
	return id, replaceFile(path, []byte(id+"\n"))
}

// saveBook keeps where the peers are, for the next start.
func saveBook(dir string, addresses map[string]string) error {
	b, err := json.MarshalIndent(addresses, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the addresses of peers: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, peerDir), 0o700); err != nil {
		return fmt.Errorf("write the addresses of peers: %w", err)
	}
	return replaceFile(filepath.Join(dir, peerDir, bookFile), append(b, '\n'))
}

func loadBook(dir string) (map[string]string, error) {
	path := filepath.Join(dir, peerDir, bookFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the addresses of peers: %w", err)
	}
	var book map[string]string
	if err := json.Unmarshal(b, &book); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): copy it from another node", path, err)
	}
	return book, nil
}

// openPeers opens the way to the other nodes, if there is to be any.
func (c *Controller) openPeers() error {
	if c.cfg.Peers == nil {
		c.peers = transport.NewLocal(serverAddress(c.id.ServerID))
		return nil
	}
	p, dir := c.cfg.Peers, filepath.Join(c.cfg.DataDir, peerDir)
	keys := p.Own
	if keys == nil {
		if !c.id.Joined {
			if err := peer.FoundCA(dir, c.id.ClusterID, c.id.ServerID, c.cfg.Now()); err != nil {
				return err
			}
		}
		var err error
		if keys, err = peer.LoadKeys(dir); err != nil {
			return err
		}
	}
	book, err := loadBook(c.cfg.DataDir)
	if err != nil {
		return err
	}
	c.node = peer.Open(peer.Config{
		ClusterID: c.id.ClusterID, ServerID: c.id.ServerID, Listener: p.Listener, Advertise: p.Advertise, Keys: keys, Log: c.cfg.Log,
	})
	c.keys, c.peers = keys, c.node
	c.node.SetAddresses(book)
	c.node.Handle(transport.ServiceChange, c.serveChange)
	c.node.Handle(transport.ServiceVersion, c.serveVersion)
	return nil
}
