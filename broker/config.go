package broker

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/broker/txn"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/internal/vfs"
	"github.com/weir-analytics/weir/raftfsm/transport"
)

// Config is what a node says about its log.
type Config struct {
	DataDir string // the votes of all partitions live here, and partitions in DataDir/topics
	// MoreDirs are further directories for partitions, on other disks. One that was given at an earlier start and can't be used does not
	// stop the start: only its partitions do not open.
	MoreDirs []string
	// LockDir keeps other processes out of a further directory until it is closed; nil: nothing does.
	LockDir func(dir string) (io.Closer, error)
	FS      vfs.FS // nil: the real one

	// Peers reaches the other nodes; nil: there are none.
	Peers    transport.Peers
	NodeID   int32
	ServerID string // of this node's data; a replica that lost its data gets another one
	// Listeners are where Kafka clients come in; the first is the one that the node itself goes by.
	Listeners []Listener

	// FixedPartitions names topics whose number of partitions must not change.
	FixedPartitions func(topic string) bool

	Wire  wire.Config  // limits of connections
	API   api.Config   // limits and defaults of requests
	Group group.Config // limits of consumer groups
	Txn   txn.Config   // limits of transactions

	nodeOf func(server string) int32 // by the cluster state; set by Open

	Registry prometheus.Registerer // nil: metrics are kept but not exported
	Log      *slog.Logger          // nil: nothing is logged
}

// Listener is one address where Kafka clients come in.
type Listener struct {
	Name  string      // unique in the node; clients of a name are told the addresses of that name
	Addr  string      // HOST:PORT
	TLS   *tls.Config // nil: plaintext
	Login bool        // SASL
}

// Plaintext is a listener that asks nobody who he is.
func Plaintext(addr string) Listener { return Listener{Name: "PLAINTEXT", Addr: addr} }

// Default returns the configuration of a node that listens on loopback only.
func Default() Config {
	return Config{NodeID: 1, Listeners: []Listener{Plaintext("127.0.0.1:9092")}, Wire: wire.Default(), API: api.Default(), Group: group.Default(), Txn: txn.Default()}
}

// Validate names the first field out of its range.
func (c *Config) Validate() error {
	if c.DataDir == "" {
		return fmt.Errorf("data directory: none is given")
	}
	if len(c.Listeners) == 0 {
		return fmt.Errorf("kafka listeners: there is none")
	}
	for _, l := range c.Listeners {
		if _, _, err := net.SplitHostPort(l.Addr); err != nil {
			return fmt.Errorf("kafka listener %q: must be HOST:PORT: %w", l.Addr, err)
		}
	}
	if err := c.Wire.Validate(); err != nil {
		return err
	}
	return c.API.Validate()
}
