package wire

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Config says how many connections there may be and how large and slow their requests may be.
type Config struct {
	MaxConnections      int           // at once, all peers; in-process connections are not counted
	MaxConnectionsPerIP int           // at once, one address
	MaxProduceBytes     int           // largest produce request; Kafka's default for all requests is 100 MiB
	MaxRequestBytes     int           // largest request of any other key
	MemoryBytes         int           // large requests held in memory at once, all connections; more of them wait. The largest one's worth of it is for one at a time
	IdleFor             time.Duration // a connection without requests for this long is closed; Kafka's default is 10 minutes
	StallFor            time.Duration // longest waiting for a frame that does not come on, in total, and the least time granted for writing a response
	DrainFor            time.Duration // how long Close waits for requests that were handed over
	Pipeline            int           // requests of one connection that may be unanswered before its next ones wait in the socket

	Registry prometheus.Registerer // nil: metrics are kept but not exported
	Log      *slog.Logger          // nil: nothing is logged
}

// Default returns the limits of a node of its own.
func Default() Config {
	return Config{
		MaxConnections:      4096,
		MaxConnectionsPerIP: 1024,
		MaxProduceBytes:     100 << 20,
		MaxRequestBytes:     8 << 20, // guess: an OffsetCommit of 100k partitions is 3 MiB
		MemoryBytes:         384 << 20,
		IdleFor:             10 * time.Minute,
		StallFor:            30 * time.Second,
		DrainFor:            5 * time.Second,
		Pipeline:            64, // franz-go and librdkafka send at most 5 produce requests ahead unless idempotence is off
	}
}

// Validate names the first field out of its range.
func (c *Config) Validate() error {
	switch {
	case c.MaxConnections < 1:
		return fmt.Errorf("kafka connections: %d, must be at least 1", c.MaxConnections)
	case c.MaxConnectionsPerIP < 1:
		return fmt.Errorf("kafka connections per address: %d, must be at least 1", c.MaxConnectionsPerIP)
	case c.MaxRequestBytes < 64<<10 || c.MaxRequestBytes > 1<<30:
		return fmt.Errorf("kafka request size: %d bytes, must be from 64 KiB to 1 GiB", c.MaxRequestBytes)
	case c.MaxProduceBytes < c.MaxRequestBytes || c.MaxProduceBytes > 1<<30:
		return fmt.Errorf("kafka produce request size: %d bytes, must be from the request size (%d) to 1 GiB", c.MaxProduceBytes, c.MaxRequestBytes)
	case c.MemoryBytes < c.largestCost():
		return fmt.Errorf("kafka request memory: %d bytes, must hold one request of the largest size (%d)",
			c.MemoryBytes, c.largestCost())
	case c.IdleFor <= 0 || c.StallFor <= 0 || c.DrainFor < 0:
		return fmt.Errorf("kafka connection times: idle %v, stall %v, drain %v, must be positive", c.IdleFor, c.StallFor, c.DrainFor)
	case c.Pipeline < 1:
		return fmt.Errorf("kafka pipeline: %d, must be at least 1", c.Pipeline)
	}
	return nil
}

// largestCost is what one request may take of MemoryBytes.
func (c *Config) largestCost() int { return max(c.MaxProduceBytes, decodeFactor*c.MaxRequestBytes) }
