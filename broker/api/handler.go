package api

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/semaphore"

	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/broker/txn"
	"github.com/weir-analytics/weir/broker/wire"
)

// Config is what the handlers may be told.
type Config struct {
	// AutoCreateTopics lets a Metadata request that allows it create missing topics. Off unless asked for.
	AutoCreateTopics bool
	// DefaultPartitions is given to topics created without a number.
	DefaultPartitions int32
	// FixedPartitions names topics whose number of partitions must not change.
	FixedPartitions func(topic string) bool
	// MaxFetchBytes bounds the records in one answer to Fetch; Kafka's default is 55 MiB.
	MaxFetchBytes int
	// FetchMemoryBytes bounds the records of all answers to Fetch that are being made or written. When it is used up answers are
	// shorter, and at last wait. One batch per answer may come on top.
	FetchMemoryBytes int
	// FetchSessions and FetchSessionPartitions bound the fetch sessions that clients keep here, and the partitions in all of them. The first
	// is Kafka's default, the second a guess: about 25 MiB.
	FetchSessions, FetchSessionPartitions int
	// Transactions knows which partitions are part of which transaction; nil lets producers write without asking.
	Transactions Transactions
	// Access says who may do what beside what the cluster agreed on.
	Access Access
	// Now is the clock of deadlines; nil is time.Now.
	Now      func() time.Time
	Registry prometheus.Registerer
	Log      *slog.Logger
}

// Default is Kafka's defaults, without automatic topics.
func Default() Config {
	return Config{DefaultPartitions: 1, MaxFetchBytes: 55 << 20, FetchMemoryBytes: 256 << 20, FetchSessions: 1000, FetchSessionPartitions: 100_000}
}

// Validate names the first field out of its range.
func (c *Config) Validate() error {
	switch {
	case c.DefaultPartitions < 1:
		return fmt.Errorf("default partitions: %d, must be at least 1", c.DefaultPartitions)
	case c.MaxFetchBytes < 1<<20:
		return fmt.Errorf("fetch size: %d bytes, must be at least 1 MiB", c.MaxFetchBytes)
	case c.FetchMemoryBytes < 16<<20:
		return fmt.Errorf("fetch memory: %d bytes, must be at least 16 MiB", c.FetchMemoryBytes)
	case c.FetchSessions < 0 || c.FetchSessionPartitions < 0:
		return fmt.Errorf("fetch sessions: %d with %d partitions, must not be negative", c.FetchSessions, c.FetchSessionPartitions)
	}
	return nil
}

// Handler answers requests; it implements wire.Handler.
type Handler struct {
	cfg      Config
	backend  Backend
	groups   *group.Coordinator
	txns     *txn.Coordinator
	metrics  *metrics
	log      *slog.Logger
	keys     map[int16]key
	memory   *semaphore.Weighted // of answers to Fetch, in bytes
	sessions *sessions
	logins   *logins
	quotas   *quotas
	rules    atomic.Pointer[ruleSet]
}

// New checks cfg. groups answers the keys of consumer groups, txns those of transactions.
func New(cfg Config, backend Backend, groups *group.Coordinator, txns *txn.Coordinator) (*Handler, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.FixedPartitions == nil {
		cfg.FixedPartitions = func(string) bool { return false }
	}
	h := &Handler{cfg: cfg, backend: backend, groups: groups, txns: txns, metrics: newMetrics(cfg.Registry), log: cfg.Log, keys: make(map[int16]key)}
	h.memory = semaphore.NewWeighted(int64(cfg.FetchMemoryBytes))
	h.sessions = newSessions(cfg.FetchSessions, cfg.FetchSessionPartitions, h.metrics)
	h.logins = newLogins(cfg.Registry)
	h.quotas = newQuotas(cfg.Registry)
	for _, k := range h.list() {
		h.keys[k.num] = k
	}
	return h, nil
}

// key is one entry of what is advertised.
type key struct {
	num, min, max int16
	serve         func(context.Context, *wire.Request) wire.Reply
}

// Serve answers one request. What was never advertised closes the connection, as in Kafka; ApiVersions alone answers any version.
func (h *Handler) Serve(ctx context.Context, req *wire.Request) wire.Reply {
	if req.Raw {
		return h.saslRaw(ctx, req)
	}
	if err := h.admit(req); err != nil {
		return wire.Reply{Err: err}
	}
	k, ok := h.keys[req.Key]
	if !ok {
		return wire.Reply{Err: fmt.Errorf("%w: key %d (%s)", errUnsupported, req.Key, kmsg.NameForKey(req.Key))}
	}
	if req.Version < k.min || req.Version > k.max {
		if req.Key == keyAPIVersions {
			return h.apiVersionsFallback()
		}
		return wire.Reply{Err: fmt.Errorf("%w: %s version %d, served are %d to %d",
			errUnsupported, kmsg.NameForKey(req.Key), req.Version, k.min, k.max)}
	}
	return k.serve(ctx, req)
}

// decoded makes the serve function of a key from one that takes and returns kmsg's types.
func decoded[T any, Q interface {
	*T
	kmsg.Request
}, R kmsg.Response](h *Handler, answer func(context.Context, *wire.Request, Q) R) func(context.Context, *wire.Request) wire.Reply {
	return func(ctx context.Context, req *wire.Request) wire.Reply {
		timing := h.time(req)
		defer timing.stop()
		q := Q(new(T))
		if err := decode(q, req); err != nil {
			return wire.Reply{Err: err}
		}
		return encodeTimed(timing, answer(ctx, req, q), req.Version)
	}
}

func decode(q kmsg.Request, req *wire.Request) error {
	q.SetVersion(req.Version)
	if err := q.ReadFrom(req.Body); err != nil {
		return fmt.Errorf("%w: %s version %d of %d bytes: %w", errMalformed, kmsg.NameForKey(req.Key), req.Version, len(req.Body), err)
	}
	return nil
}

// encodeTimed charges for what the request took, its encoding included, and says so in the answer.
func encodeTimed(t *timing, r kmsg.Response, version int16) wire.Reply {
	reply := encode(r, version)
	if wait := t.charge(); wait > 0 {
		if says, ok := r.(kmsg.SetThrottleResponse); ok {
			says.SetThrottle(int32(wait.Milliseconds()))
			return encode(r, version)
		}
	}
	return reply
}

func encode(r kmsg.Response, version int16) wire.Reply {
	r.SetVersion(version)
	return wire.Reply{Body: net.Buffers{r.AppendTo(nil)}}
}

// await waits until done answers true for what the backend shows, ctx ends or limit has passed, and says whether it did.
func (h *Handler) await(ctx context.Context, limit time.Duration, done func(*View) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		changed := h.backend.Changed()
		if done(h.backend.View()) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// serves reports whether all partitions of a topic can be used now, or will not be without someone's help.
func serves(t *Topic) bool {
	for _, p := range t.Partitions {
		if p.Phase() == Opening {
			return false
		}
	}
	return true
}

// millis turns a timeout of the protocol into a duration, kept between one second and a minute: a peer cannot park a request forever, and
// a zero by oversight does not fail what needs a moment.
func millis(ms int32) time.Duration {
	return min(max(time.Duration(ms)*time.Millisecond, time.Second), time.Minute)
}
