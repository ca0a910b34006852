package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/ingest/clientip"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// MaxLinkWait bounds Config.LinkWait: a person waits no longer for a page.
const MaxLinkWait = 10 * time.Second

// Config says what an Ingest works with. Sites and Appender must be set; the rest has defaults, see Default.
type Config struct {
	Sites    Sites
	Appender Appender
	Topic    string // that hits are written to
	// Partitions is the number of partitions of a topic of the log, 0 while that is not known. nil: Sites knows them.
	Partitions func(topic string) int32
	NodeID     int32 // part of the identity of hits, so that people can tell where one came in

	GeoIP          string         // MaxMind DB file; "" is the built-in database
	GeoIPASN       string         // MaxMind DB file of autonomous systems; "" is none
	TrustedProxies []netip.Prefix // whose forwarding headers are believed
	TrustedHops    int            // proxies next to this server that are believed whatever their addresses are
	ClientHeader   string         // header in which a trusted proxy names the client, before all others; "" is none

	Rules  Rules  // what is set apart
	Limits Limits // how much one sender may send

	DubSecret string // of Dub's webhook; "" leaves its signature unchecked, and its hook to tokens

	// LinkWait is how long the answer of a short link waits at most until its click is committed. 0: not at all. The redirect comes in any case.
	LinkWait time.Duration
	// Started is closed once Sites shows what the cluster agreed on; until then no link is known. nil stands for one that is closed.
	Started <-chan struct{}

	EventBytes  int64 // largest body of a single hit; Plausible's limit
	ClicksBytes int64 // largest body of a batch, after decompression
	LineBytes   int   // longest line of a batch; longer ones are rejected by their number
	MaxClicks   int   // clicks in one batch

	BodiesBytes int64 // bodies of more than 64 KiB that are read at the same time; more is refused with 503

	QueueBytes    int64         // encoded hits that wait to be written, over all partitions; more is refused with 503
	BatchBytes    int           // encoded hits in one record batch; must stay below the topic's max.message.bytes
	BatchHits     int           // hits in one record batch
	AppendTimeout time.Duration // how long writing one batch is tried before the hits in it are refused
	DrainTimeout  time.Duration // how long a stop waits for batches under way

	// Counted returns nil once the hits before the given offset of each partition of Topic are in the counts, and an error when ctx ends first. nil:
	// nobody counts here, and who asks for it is told that the hits are committed.
	Counted func(ctx context.Context, offsets map[int32]int64) error

	// Highest returns the highest sequence of a source that is counted in a partition of Topic, 0 when that is not known. An import leaves out the
	// lines that it says are counted. nil: every line is written, and counting drops the repeats.
	Highest func(partition int32, source string) (uint64, error)

	Now      func() time.Time
	Log      *slog.Logger
	Registry prometheus.Registerer // nil: metrics are kept but not registered
}

// Default returns a Config with everything but Sites and Appender.
func Default() Config {
	return Config{
		Topic:          "events",
		TrustedProxies: clientip.Loopback(),
		Limits:         Limits{AddressRate: 2000, AddressBurst: 20_000, SiteRate: 100_000, SiteBurst: 200_000},
		EventBytes:     1_000_000,
		ClicksBytes:    16 << 20,
		LineBytes:      64 << 10,
		MaxClicks:      50_000,
		BodiesBytes:    256 << 20,
		QueueBytes:     64 << 20,
		BatchBytes:     512 << 10,
		BatchHits:      5000,
		AppendTimeout:  10 * time.Second,
		DrainTimeout:   10 * time.Second,
		Now:            time.Now,
		Log:            slog.New(slog.DiscardHandler),
	}
}

// Validate reports the first thing that cannot work.
func (c *Config) Validate() error {
	if c.Sites == nil || c.Appender == nil {
		return errors.New("ingest needs Sites and Appender")
	}
	for _, limit := range []struct {
		name          string
		got, min, max int64
	}{
		{"event bytes", c.EventBytes, 1 << 10, 16 << 20},
		{"clicks bytes", c.ClicksBytes, 1 << 10, 256 << 20},
		{"line bytes", int64(c.LineBytes), 1 << 10, 1 << 20},
		{"clicks in a batch", int64(c.MaxClicks), 1, 1 << 20},
		{"bodies bytes", c.BodiesBytes, c.ClicksBytes, 64 << 30},
		{"queue bytes", c.QueueBytes, 1 << 20, 16 << 30},
		{"batch bytes", int64(c.BatchBytes), 16 << 10, 64 << 20},
		{"batch hits", int64(c.BatchHits), 1, 1 << 20},
	} {
		if limit.got < limit.min || limit.got > limit.max {
			return fmt.Errorf("ingest: %s is %d, allowed is %d to %d", limit.name, limit.got, limit.min, limit.max)
		}
	}
	if c.TrustedHops < 0 || c.TrustedHops > clientip.MaxHops {
		return fmt.Errorf("ingest: trusted hops are %d, 0 to %d are allowed", c.TrustedHops, clientip.MaxHops)
	}
	if c.LinkWait < 0 || c.LinkWait > MaxLinkWait {
		return fmt.Errorf("ingest: link wait is %s, 0 to %s are allowed", c.LinkWait, MaxLinkWait)
	}
	if c.AppendTimeout <= 0 || c.DrainTimeout <= 0 {
		return errors.New("ingest: timeouts must be positive")
	}
	return c.Limits.Validate()
}

// partitions is the number of partitions of a topic, 0 when there is none.
func (c *Config) partitions(s *state.State, topic string) int32 {
	if c.Partitions != nil {
		return c.Partitions(topic)
	}
	return s.Topics[topic].Partitions
}
