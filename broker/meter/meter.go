package meter

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-analytics/weir/broker/record"
)

// Sum is what a partition's state machine has committed since it was opened, at
// one moment.
type Sum struct {
	Since   int64 // offset at which it began to count
	To      int64 // high watermark
	Records int64
	Bytes   int64
}

// Partition is one partition of this node.
type Partition interface {
	ID() ID
	Topic() string
	// Leads says whether this node serves the partition, and in which epoch.
	Leads() (epoch int32, ok bool)
	// Sum is what was committed. It takes the partition's lock for a moment.
	Sum() Sum
	LogStart() int64
	// Count adds up what the log has between two offsets, by the headers of
	// batches.
	Count(from, to int64) (records, bytes int64, err error)
}

// Log is the node as the meter sees it.
type Log interface {
	// Partitions are those that are counted.
	Partitions() []Partition
	// Ready makes the topic if it is missing and waits until it serves.
	Ready(ctx context.Context) error
	// Exists says that the topic is there and serves.
	Exists() bool
	// Append writes to the topic and returns once that is committed.
	Append(ctx context.Context, recs []record.Record) error
	// Bounds are the offsets between which the topic has records.
	Bounds() (start, end int64)
	// Read returns whole batches from an offset on.
	Read(offset int64, maxBytes int) ([]byte, error)
	// OffsetForTime is the first record at or after a time; ok is false when
	// there is none.
	OffsetForTime(ms int64) (offset int64, ok bool, err error)
}

// Config is what New needs.
type Config struct {
	Log      Log
	Now      func() time.Time      // nil: time.Now
	Registry prometheus.Registerer // nil: metrics are not exported
	Logger   *slog.Logger          // nil: nothing is logged
}

const (
	// headsEvery is how often the record is written that says how far all
	// partitions are: a start looks no further back than to the last one.
	headsEvery = 10 * time.Minute
	// retryAfter is how long a write that failed waits, a guess.
	retryAfter = 5 * time.Second
	// flushWithin bounds the last write before the node stops.
	flushWithin = 3 * time.Second
	// atOnce bounds the records of one batch, about 150 KiB.
	atOnce = 500
)

// Meter counts. Its methods may be called from any goroutine; Run once.
type Meter struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics

	// Of Run alone.
	cursors   map[ID]*cursor
	minute    Minute // of the newest range
	lastHeads time.Time
	recs      []record.Record // collected and not known to be written
	steps     map[ID]*cursor  // behind what was collected; nil when that is written
}

// cursor is how far a partition is counted.
type cursor struct {
	to   int64 // end of the last range that was written
	sum  Sum   // of the moment to which to belongs
	live bool  // sum was taken from the partition as it is open now
}

// New returns a meter that does nothing before Run.
func New(cfg Config) *Meter {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	m := &Meter{cfg: cfg, log: cfg.Logger, metrics: newMetrics(cfg.Registry), cursors: map[ID]*cursor{}}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	return m
}

// Run writes the ranges of each minute until ctx ends, and then those of the
// minute under way.
func (m *Meter) Run(ctx context.Context) error {
	loaded := false
	for {
		now := m.cfg.Now()
		next := MinuteOf(now).Time().Add(time.Minute)
		select {
		case <-time.After(next.Sub(now)):
		case <-ctx.Done():
			if m.cfg.Log.Exists() {
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
				defer cancel()
				m.flush(last, &loaded, MinuteOf(m.cfg.Now()), true)
			}
			return nil
		}
		m.flush(ctx, &loaded, MinuteOf(next.Add(-time.Second)), false)
	}
}

// flush writes what was committed up to now as that of a minute, and tries until
// it is written or ctx ends. While it does, nothing else is counted: what comes
// meanwhile is in the next range.
func (m *Meter) flush(ctx context.Context, loaded *bool, minute Minute, last bool) {
	for {
		err := m.tryFlush(ctx, loaded, minute, last)
		if err == nil || ctx.Err() != nil {
			return
		}
		m.metrics.failed.Inc()
		m.log.Warn("what partitions have received was not written down; it is tried again", "topic", Topic, "err", err)
		select {
		case <-time.After(retryAfter):
		case <-ctx.Done():
			return
		}
	}
}

func (m *Meter) tryFlush(ctx context.Context, loaded *bool, minute Minute, last bool) error {
	if err := m.cfg.Log.Ready(ctx); err != nil {
		return err
	}
	if !*loaded || m.tookOver() {
		if err := m.load(ctx); err != nil {
			return err
		}
		*loaded = true
	}
	if m.steps != nil { // a try before this one did not end
		if err := m.write(ctx); err != nil || !last {
			return err
		}
	}
	m.minute = max(m.minute, minute) // a clock that was set back does not go back here
	m.recs, m.steps = m.collect(m.minute)
	if now := m.cfg.Now(); last || now.Sub(m.lastHeads) >= headsEvery {
		m.recs = append(m.recs, m.headsRecord(m.steps))
		m.lastHeads = now
	}
	return m.write(ctx)
}

// tookOver says that this node has come to lead a partition that another one may have counted meanwhile.
func (m *Meter) tookOver() bool {
	if m.steps != nil {
		return false
	}
	for _, p := range m.cfg.Log.Partitions() {
		if c := m.cursors[p.ID()]; c != nil && !c.live {
			if _, leads := p.Leads(); leads {
				return true
			}
		}
	}
	return false
}

// write writes what was collected, and moves the cursors of that. The outcome of a
// write may be unknown; it is then written again as it was, with the same keys,
// before anything else.
func (m *Meter) write(ctx context.Context) error {
	for len(m.recs) > 0 {
		n := min(len(m.recs), atOnce)
		if err := m.cfg.Log.Append(ctx, m.recs[:n]); err != nil {
			return err
		}
		m.metrics.ranges.Add(float64(n))
		m.recs = m.recs[n:]
	}
	maps.Copy(m.cursors, m.steps)
	m.steps = nil
	return nil
}

// collect makes the ranges since the last ones, and the cursors behind them.
func (m *Meter) collect(minute Minute) (recs []record.Record, steps map[ID]*cursor) {
	steps = map[ID]*cursor{}
	for _, p := range m.cfg.Log.Partitions() {
		epoch, leads := p.Leads()
		id := p.ID()
		if !leads {
			if c := m.cursors[id]; c != nil {
				c.live = false // another leader counts meanwhile
			}
			continue
		}
		r, c := m.step(p, m.cursors[id])
		steps[id] = c
		if r.From == r.To {
			continue
		}
		r.Topic, r.TopicID, r.Partition, r.Epoch, r.Minute = p.Topic(), hex.EncodeToString(id.TopicID[:]), id.Partition, epoch, minute
		recs = append(recs, record.Record{Key: r.Key(), Value: Append(nil, r), TimestampMs: m.cfg.Now().UnixMilli()})
	}
	return recs, steps
}

// step is the range of one partition since the last one.
func (m *Meter) step(p Partition, c *cursor) (Range, *cursor) {
	now := p.Sum()
	if c != nil && c.live && c.sum.Since == now.Since && now.Records >= c.sum.Records && now.Bytes >= c.sum.Bytes {
		r := Range{From: c.to, To: now.To, Records: now.Records - c.sum.Records, Bytes: now.Bytes - c.sum.Bytes}
		return r, &cursor{now.To, now, true}
	}
	from := p.LogStart()
	if c != nil {
		from = c.to
	}
	from = min(from, now.To)
	r := Range{From: from, To: now.To}
	if c == nil && from == now.Since { // it was made since: all of it was counted
		r.Records, r.Bytes = now.Records, now.Bytes
		return r, &cursor{now.To, now, true}
	}
	if r.From < r.To {
		r.Recounted = true
		m.metrics.recounted.Inc()
		var err error
		if r.Records, r.Bytes, err = p.Count(from, now.To); err != nil {
			r.Records, r.Bytes, r.Unknown = 0, 0, true
			m.log.Warn("records that came while nobody counted can't be counted in the log", "topic", p.Topic(), "partition", p.ID().Partition, "offset", from, "err", err)
		}
	}
	return r, &cursor{now.To, now, true}
}

// headsRecord says how far all partitions are once what is in steps is written.
func (m *Meter) headsRecord(steps map[ID]*cursor) record.Record {
	doc := map[string]map[int32]int64{}
	add := func(id ID, to int64) {
		topic := hex.EncodeToString(id.TopicID[:])
		if doc[topic] == nil {
			doc[topic] = map[int32]int64{}
		}
		doc[topic][id.Partition] = to
	}
	known := map[ID]bool{}
	for _, p := range m.cfg.Log.Partitions() { // those that are gone are left out
		known[p.ID()] = true
	}
	for id, c := range m.cursors {
		if known[id] {
			add(id, c.to)
		}
	}
	for id, c := range steps {
		add(id, c.to)
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic("BUG: heads can't be encoded: " + err.Error())
	}
	return record.Record{Key: []byte(headsKey), Value: b, TimestampMs: m.cfg.Now().UnixMilli()}
}

// errNoHeads says that a part of the topic has no record of how far all are.
var errNoHeads = errors.New("no heads")

// load finds the end of the last range of each partition: from the newest heads
// on, looked for from the end backwards.
func (m *Meter) load(ctx context.Context) error {
	start, end := m.cfg.Log.Bounds()
	for back := int64(1000); ; back *= 4 {
		from := max(start, end-back)
		cursors, minute, err := m.loadFrom(ctx, from, end)
		if errors.Is(err, errNoHeads) && from > start {
			continue
		}
		if err != nil && !errors.Is(err, errNoHeads) {
			return fmt.Errorf("read %s: %w", Topic, err)
		}
		m.cursors, m.minute = cursors, minute
		return nil
	}
}

func (m *Meter) loadFrom(ctx context.Context, from, end int64) (cursors map[ID]*cursor, minute Minute, err error) {
	cursors, heads := map[ID]*cursor{}, false
	set := func(id ID, to int64) {
		if c := cursors[id]; c == nil || c.to < to {
			cursors[id] = &cursor{to: to}
		}
	}
	err = m.forEach(ctx, from, end, func(r record.Record) error {
		if string(r.Key) == headsKey {
			heads = true
			return parseHeads(r.Value, set)
		}
		one, ok, err := Parse(r.Key, r.Value)
		if err != nil || !ok {
			return err
		}
		id, err := one.ID()
		set(id, one.To)
		minute = max(minute, one.Minute)
		return err
	})
	if err == nil && !heads {
		err = errNoHeads
	}
	return cursors, minute, err
}

func parseHeads(b []byte, set func(ID, int64)) error {
	var doc map[string]map[int32]int64
	if err := json.Unmarshal(b, &doc); err != nil {
		return fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	for topic, ends := range doc {
		id, err := hex.DecodeString(topic)
		if err != nil || len(id) != 16 {
			return fmt.Errorf("%w: topic id %q", ErrMalformed, topic)
		}
		for n, to := range ends {
			set(ID{[16]byte(id), n}, to)
		}
	}
	return nil
}

const readBytes = 1 << 20

// forEach calls fn with the records of the topic in [from, end).
func (m *Meter) forEach(ctx context.Context, from, end int64, fn func(record.Record) error) error {
	for from < end {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := m.cfg.Log.Read(from, readBytes)
		if err != nil {
			return err
		}
		if len(b) == 0 {
			return nil
		}
		for len(b) > 0 {
			batch, rest, err := record.Parse(b)
			if err != nil {
				return err
			}
			if !batch.Control() {
				err = record.ForEach(batch.Raw, func(r record.Record) error {
					if offset := batch.BaseOffset + int64(r.OffsetDelta); offset < from || offset >= end {
						return nil
					}
					return fn(r)
				})
				if err != nil {
					return err
				}
			}
			from, b = batch.NextOffset(), rest
		}
	}
	return nil
}
