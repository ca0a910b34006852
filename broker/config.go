package broker

import (
	"fmt"
	"log/slog"
	"net"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/broker/wire"
)

// Config is what a node says about its log.
type Config struct {
	DataDir  string // partitions live in DataDir/topics
	NodeID   int32
	ServerID string // of this node's data; a replica that lost its data gets another one
	Listen   string // HOST:PORT of the Kafka listener

	// FixedPartitions names topics whose number of partitions must not change.
	FixedPartitions func(topic string) bool

	Wire  wire.Config  // limits of connections
	API   api.Config   // limits and defaults of requests
	Group group.Config // limits of consumer groups

	Registry prometheus.Registerer // nil: metrics are kept but not exported
	Log      *slog.Logger          // nil: nothing is logged
}

// Default returns the configuration of a node that listens on loopback only.
func Default() Config {
	return Config{NodeID: 1, Listen: "127.0.0.1:9092", Wire: wire.Default(), API: api.Default(), Group: group.Default()}
}

// Validate names the first field out of its range.
func (c *Config) Validate() error {
	if c.DataDir == "" {
		return fmt.Errorf("data directory: none is given")
	}
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("kafka listener %q: must be HOST:PORT: %w", c.Listen, err)
	}
	if err := c.Wire.Validate(); err != nil {
		return err
	}
	return c.API.Validate()
}
