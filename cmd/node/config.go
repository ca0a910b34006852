package node

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"

	"github.com/weir-analytics/weir/cmd/node/kafkalog"
	"github.com/weir-analytics/weir/ingest"
	"github.com/weir-analytics/weir/ingest/clientip"
)

// Config says how to run one node. Start from Default.
type Config struct {
	DataDirs  []string // the first holds everything but the partitions of the log that are spread over all
	NodeID    int32    // 0: that of the data directory, or the first that is free
	ClusterID string   // optional: refuse a data directory of another cluster
	Cluster   Cluster

	HTTP               string // HOST:PORT of dashboard, API and collecting
	HTTPMaxConnections int
	TrustedProxies     []netip.Prefix // whose forwarding headers are believed
	TrustedHops        int            // proxies next to this node that are believed whatever their addresses are
	Dev                bool           // serve the front end from the source tree
	DevAssets          string         // where that is

	Kafka          []string // [SCHEME://]HOST:PORT of each Kafka listener
	KafkaAdvertise []string // [SCHEME://]HOST:PORT that clients of a listener are told to dial; none: the address of the listener
	KafkaAccess    KafkaAccess
	KafkaBrokers   kafkalog.Options // a Kafka cluster that is the log in place of the built-in one
	AutoCreate     bool             // a client that asks for a topic to write to makes it, as with Kafka
	Partitions     int32            // of topics that are made without a number

	ClientHeader string        // header in which a trusted proxy names the visitor's address, before all others; empty: none
	Rules        ingest.Rules  // what is set apart as bots
	Limits       ingest.Limits // how much one sender may send
	DubSecret    string        // of Dub's webhook; never shown
	LinkWait     time.Duration // how long a short link's answer waits for its click to be committed; 0: not at all

	RetainEvents time.Duration // how long hits are kept in the log; 0: for ever
	Counting     bool          // hits are counted; without, they are taken in and kept, and a later start with it counts them
	GeoIP        string        // path of a country or city database; empty: the one in the binary
	GeoIPASN     string        // path of a database of autonomous systems; empty: none

	DebugHTTP string // HOST:PORT that serves Go's profiles; empty: nobody

	Version string
	Commit  string
	Now     func() time.Time
	Log     *slog.Logger
}

// Default returns the configuration of a node that is started without any flag.
func Default() Config {
	return Config{
		DataDirs: []string{"data"},
		HTTP:     ":8080", HTTPMaxConnections: 10_000,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		DevAssets:      "dashboards/dist",
		Kafka:          []string{"127.0.0.1:9092"},
		KafkaAccess:    KafkaAccess{ClientAuth: ClientAuthNone},
		AutoCreate:     true,
		Partitions:     1,
		Limits:         ingest.Default().Limits,
		RetainEvents:   90 * 24 * time.Hour,
		Counting:       true,
		Now:            time.Now, Log: slog.New(slog.DiscardHandler),
	}
}

// first is the data directory that holds everything but partitions.
func (c Config) first() string { return c.DataDirs[0] }

const maxRate = 1e9 // a second; of room ingest

// maxDefaultPartitions is a guess: a mistyped name makes that many Raft groups.
const maxDefaultPartitions = 1000

// Validate says which flag has a wrong value, and what is allowed. What only a room can know it says itself in Open.
func (c Config) Validate() error {
	if err := checkDirs(c.DataDirs); err != nil {
		return err
	}
	if c.NodeID < 0 {
		return fmt.Errorf("--node-id: %d, 1 to %d are allowed", c.NodeID, 1<<31-1)
	}
	if err := c.Cluster.validate(); err != nil {
		return err
	}
	if err := checkAddr("--http", c.HTTP, 0); err != nil {
		return err
	}
	if _, err := c.kafkaListeners(); err != nil {
		return err
	}
	if err := c.KafkaAccess.validate(); err != nil {
		return err
	}
	if err := c.KafkaBrokers.Validate(); err != nil {
		return err
	}
	if len(c.KafkaBrokers.Brokers) > 0 && c.Cluster.Peer != "" {
		return errors.New("--peer: with --kafka-brokers the log has nodes of its own; leave it away")
	}
	if len(c.KafkaBrokers.Brokers) > 0 && len(c.DataDirs) > 1 {
		return errors.New("--data: one directory is enough with --kafka-brokers: the log is not in it")
	}
	if c.DebugHTTP != "" {
		if err := checkAddr("--debug-http", c.DebugHTTP, 0); err != nil {
			return err
		}
	}
	if c.Partitions < 1 || c.Partitions > maxDefaultPartitions {
		return fmt.Errorf("--default-partitions: %d, 1 to %d are allowed", c.Partitions, maxDefaultPartitions)
	}
	for _, rate := range []struct {
		flag     string
		a, burst float64
	}{{"address", c.Limits.AddressRate, c.Limits.AddressBurst}, {"site", c.Limits.SiteRate, c.Limits.SiteBurst}} {
		if !(rate.a >= 0 && rate.a <= maxRate) {
			return fmt.Errorf("--%s-rate: %v, 0 (no limit) to %v are allowed", rate.flag, rate.a, float64(maxRate))
		}
		if rate.a > 0 && !(rate.burst >= 1 && rate.burst <= maxRate) {
			return fmt.Errorf("--%s-burst: %v, 1 to %v are allowed", rate.flag, rate.burst, float64(maxRate))
		}
	}
	if c.TrustedHops < 0 || c.TrustedHops > clientip.MaxHops {
		return fmt.Errorf("--trusted-hops: %d, 0 (only --trusted-proxies) to %d are allowed", c.TrustedHops, clientip.MaxHops)
	}
	if c.LinkWait < 0 || c.LinkWait > ingest.MaxLinkWait {
		return fmt.Errorf("--link-wait: %s, 0s to %s are allowed", c.LinkWait, ingest.MaxLinkWait)
	}
	if c.RetainEvents != 0 && c.RetainEvents < time.Hour {
		return fmt.Errorf("--retain-events: %s, at least 1h is allowed, or forever", c.RetainEvents)
	}
	return nil
}

// checkDirs refuses directories that are none or that lie in each other.
func checkDirs(dirs []string) error {
	if len(dirs) == 0 {
		return errors.New("--data: it is empty, want a directory")
	}
	var seen []string
	for _, dir := range dirs {
		if dir == "" {
			return errors.New("--data: it is empty, want a directory")
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			return fmt.Errorf("--data %s: %w", dir, err)
		}
		for i, other := range seen {
			if within(abs, other) || within(other, abs) {
				return fmt.Errorf("--data %s: it is or lies in the same directory as --data %s; each needs one of its own, on a disk of its own", dir, dirs[i])
			}
		}
		seen = append(seen, abs)
	}
	return nil
}

// within reports whether a path is dir or lies below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// checkAddr checks HOST:PORT with a port from lowest to 65535. Port 0 takes a free one.
func checkAddr(flag, addr string, lowest int) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		example := "127.0.0.1:9092"
		if flag == "--http" {
			example = "127.0.0.1:8080"
		}
		return fmt.Errorf("%s: %q, want HOST:PORT or :PORT, such as %s", flag, addr, example)
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < lowest || n > 65535 {
		return fmt.Errorf("%s: port %q, %d to 65535 are allowed", flag, port, lowest)
	}
	return nil
}
