package raftfsm

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/raftfsm/peer"
)

// Config says how to open the controller. The zero value of each optional field is replaced by Default's.
type Config struct {
	DataDir   string // the node's data directory; must exist
	NodeID    int32  // 1 and up; 0: that of the directory, or the first that is free
	ClusterID string // optional: refuse a directory of another cluster, and refuse to form one

	// Peers says how the other members are reached. Nil serves a cluster of one node.
	Peers *Peers
	// ElectionTimeout is how long a silent leader is waited for. One voter waits for nobody.
	ElectionTimeout time.Duration
	// SnapshotEvery is the number of commands after which the state is written out and the log is cut.
	SnapshotEvery uint64

	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer // optional
}

// Peers says how a node reaches the others of its cluster.
type Peers struct {
	Listener  net.Listener // of TCP, which the controller closes
	Advertise string       // HOST:PORT where the others reach it
	Own       *peer.Keys   // of an operator's authority; nil: the cluster's own
	Join      string       // HOST:PORT of a member to join through, when the directory is empty
	Token     peer.Token   // with which it may join
}

// Default returns the configuration of a single node with its data in dir.
func Default(dir string) Config {
	return Config{DataDir: dir, ElectionTimeout: time.Second, SnapshotEvery: 1024, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
}

// Validate fills in defaults and checks the ranges. Errors name the flag.
func (c *Config) Validate() error {
	def := Default(c.DataDir)
	if c.ElectionTimeout == 0 {
		c.ElectionTimeout = def.ElectionTimeout
	}
	if c.SnapshotEvery == 0 {
		c.SnapshotEvery = def.SnapshotEvery
	}
	if c.Now == nil {
		c.Now = def.Now
	}
	if c.Log == nil {
		c.Log = def.Log
	}
	if c.DataDir == "" {
		return errors.New("--data: a data directory is needed")
	}
	if c.NodeID < 0 {
		return fmt.Errorf("--node-id: %d, 1 to %d are allowed", c.NodeID, int32(1<<31-1))
	}
	if c.ElectionTimeout < 10*time.Millisecond || c.ElectionTimeout > time.Minute {
		return fmt.Errorf("election timeout: %s, 10ms to 1m are allowed", c.ElectionTimeout)
	}
	return nil
}

// clusterID draws 16 random bytes in the form that Kafka's tools print: 22 characters of URL-safe base64.
func clusterID() string {
	var b [16]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}
