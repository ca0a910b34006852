package table

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/rollup/bucket"
	"github.com/weir-analytics/weir/rollup/feed"
	"github.com/weir-analytics/weir/rollup/zone"
)

// Config says where the table is and what fills it.
type Config struct {
	Dir        string
	Log        feed.Log
	Topics     map[zone.Unit]string // the topic of each length of windows
	CacheBytes int64                // of blocks in memory; 0 is 32 MiB
	Metrics    *Metrics             // nil: counted and not shown
	Logger     *slog.Logger
}

// Table is the on-disk copy. It is safe for concurrent use.
type Table struct {
	cfg     Config
	db      *pebble.DB
	metrics *Metrics

	mu      sync.Mutex
	parts   map[partID]*part
	changed chan struct{} // closed at the next change of any part
	refit   chan struct{} // holds a token when a part began or ceased to be fed

	began time.Time        // when Run first knew the ends of the topics; Run's own
	aims  map[partID]int64 // where the topics ended at the start, of the parts that have not got there; guarded by mu

	dirty atomic.Bool           // something is in memory only
	bad   atomic.Pointer[error] // what was found to be damaged

	watchMu  sync.Mutex
	watchers map[uint32]map[chan struct{}]struct{}
}

type partID struct {
	unit      zone.Unit
	partition int32
}

// part is a partition of one of the topics. Its fields are guarded by Table.mu.
type part struct {
	state
	pending  []*kgo.Record // read, and after the last progress record
	readTo   int64         // offset after the last record read
	settleAt int64         // somebody waits for the records before this offset, with or without a progress record behind them
	fed      bool          // its writer hands it over: see feed.go
	fedTo    int64         // the records before this offset are committed, as a writer said
}

// state is what the table says of a partition. It is stored under partKey.
type state struct {
	next      int64 // offset of the next record to take
	any       bool  // there was a progress record
	progress  bucket.Progress
	maxFolded int64 // greatest folded_to of all cells
}

// consistent says whether the cells are those at the end of one flush.
func (s *state) consistent() bool { return s.maxFolded <= s.progress.FoldedTo }

// memTableBytes bounds a memory table of the store. A cell that changes again while it is in one never reaches the disk as it was. There
// are three at most; each grows as it is filled.
const memTableBytes = 16 << 20

// Open opens or makes the table.
func Open(cfg Config) (*Table, error) {
	if cfg.CacheBytes == 0 {
		cfg.CacheBytes = 32 << 20
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics(nil)
	}
	cache := pebble.NewCache(cfg.CacheBytes)
	defer cache.Unref()
	opts := &pebble.Options{
		Cache:                       cache,
		MemTableSize:                memTableBytes,
		MemTableStopWritesThreshold: 3,
		MaxOpenFiles:                256,
		FormatMajorVersion:          pebble.FormatNewest,
		Logger:                      storeLog{cfg.Logger},
		EventListener:               sayDamage(cfg.Logger),
		// Memory tables reach the disk whole and in order, so without a log of its own the store holds, after any kind of stop, what the
		// table was at one earlier moment: counts with the positions they belong to. The rest is read again from the topics.
		DisableWAL: true,
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	opts.Levels[0].Compression = uncompressed // soon written again, into a level below
	opts.Levels[1].Compression = snappy
	db, err := openStore(cfg, opts)
	if err != nil {
		return nil, err
	}
	t := &Table{cfg: cfg, db: db, metrics: cfg.Metrics, changed: make(chan struct{}), refit: make(chan struct{}, 1), watchers: map[uint32]map[chan struct{}]struct{}{}}
	if err := t.loadParts(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return t, nil
}

func uncompressed() *sstable.CompressionProfile { return sstable.NoCompression }
func snappy() *sstable.CompressionProfile       { return sstable.SnappyCompression }

func (t *Table) loadParts() error {
	parts := map[partID]*part{}
	err := t.scan([]byte{'p'}, func(key, value []byte) error {
		if len(key) != 6 {
			return fmt.Errorf("%w: key %x", ErrDamaged, key)
		}
		id := partID{zone.Unit(key[1]), int32(binary.BigEndian.Uint32(key[2:]))}
		p := &part{}
		if err := p.state.parse(id, value); err != nil {
			return err
		}
		p.readTo = p.next
		parts[id] = p
		return nil
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts = parts
	return err
}

func (s *state) append(dst []byte) []byte {
	flag := uint64(0)
	if s.any {
		flag = 1
	}
	for _, n := range [...]uint64{flag, uint64(s.next), uint64(s.maxFolded), uint64(s.progress.FoldedTo), uint64(s.progress.SourceTo), uint64(s.progress.ReceivedMs)} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

func (s *state) parse(id partID, value []byte) error {
	var n [6]uint64
	for i := range n {
		v, size := binary.Uvarint(value)
		if size <= 0 {
			return fmt.Errorf("%w: position of partition %d", ErrDamaged, id.partition)
		}
		n[i], value = v, value[size:]
	}
	*s = state{any: n[0] != 0, next: int64(n[1]), maxFolded: int64(n[2]), progress: bucket.Progress{Window: id.unit.String(),
		Partition: id.partition, FoldedTo: int64(n[3]), SourceTo: int64(n[4]), ReceivedMs: int64(n[5])}}
	return nil
}

// Close brings what is in memory to the disk and closes the store. Run must have returned.
func (t *Table) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := t.flush(ctx); err != nil {
		t.cfg.Logger.Warn("the last counts are read again from the log at the next start", "err", err)
	}
	if err := t.db.Close(); err != nil {
		return fmt.Errorf("close the table of counts: %w", err)
	}
	return nil
}

// Fit empties what was filled from topics that are gone. ids are those of the topics as they are now; a zero id is not compared. Call it
// before Run and before anybody else uses the table. events is the topic that identities are of.
func (t *Table) Fit(ids map[string][16]byte, events string) error {
	for unit, topic := range t.cfg.Topics {
		if err := t.fit(topic, ids[topic], []byte{'c', byte(unit)}, []byte{'p', byte(unit)}, []byte{'g', byte(unit)}); err != nil {
			return err
		}
	}
	if err := t.fit(events, ids[events], []byte{'d'}); err != nil {
		return err
	}
	return t.loadParts()
}

func (t *Table) fit(topic string, id [16]byte, prefixes ...[]byte) error {
	key := append([]byte{'t'}, topic...)
	have, err := t.get(key)
	if err != nil || id == [16]byte{} || string(have) == string(id[:]) {
		return err
	}
	batch := t.db.NewBatch()
	defer batch.Close()
	if have != nil {
		t.cfg.Logger.Warn("a topic was made anew: the table of counts forgets what came from the old one", "topic", topic)
	}
	for _, prefix := range prefixes {
		if err := batch.DeleteRange(prefix, upTo(prefix), nil); err != nil {
			return fmt.Errorf("empty the table of counts: %w", err)
		}
	}
	if err := batch.Set(key, id[:], nil); err != nil {
		return fmt.Errorf("mark the table of counts: %w", err)
	}
	if err := batch.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("empty the table of counts: %w", err)
	}
	return nil
}

// Progress returns the last progress record of a partition, and false when there is none.
func (t *Table) Progress(unit zone.Unit, partition int32) (bucket.Progress, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.part(partID{unit, partition})
	return p.progress, p.any, nil
}

// part returns a partition. t.mu is held.
func (t *Table) part(id partID) *part {
	p := t.parts[id]
	if p == nil {
		p = &part{}
		t.parts[id] = p
	}
	return p
}

// Changed returns a channel that is closed at the next change of any partition. Take it before looking.
func (t *Table) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

// Settle returns when the table holds every record of a partition before an offset, also those that no progress record vouches for.
func (t *Table) Settle(ctx context.Context, unit zone.Unit, partition int32, offset int64) error {
	for {
		t.mu.Lock()
		p := t.part(partID{unit, partition})
		if p.next >= offset {
			t.mu.Unlock()
			return nil
		}
		if p.readTo >= offset {
			err := t.commit(partID{unit, partition}, p, len(p.pending))
			t.mu.Unlock()
			return err
		}
		p.settleAt = max(p.settleAt, offset)
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

// Settled says whether the table holds every record of a partition before an offset.
func (t *Table) Settled(unit zone.Unit, partition int32, offset int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.part(partID{unit, partition}).next >= offset
}

// get returns a copy of a value, nil when there is none.
func (t *Table) get(key []byte) ([]byte, error) {
	value, closer, err := t.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, t.condemn(fmt.Errorf("read the table of counts: %w", err))
	}
	defer closer.Close()
	return append([]byte{}, value...), nil
}

// scan calls f with all keys of a prefix, in order. Key and value are valid during the call.
func (t *Table) scan(prefix []byte, f func(key, value []byte) error) error {
	return t.condemn(scan(t.db, prefix, upTo(prefix), f))
}

func scan(r pebble.Reader, from, to []byte, f func(key, value []byte) error) error {
	iter, err := r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return fmt.Errorf("read the table of counts: %w", err)
	}
	for iter.First(); iter.Valid(); iter.Next() {
		value, err := iter.ValueAndErr()
		if err == nil {
			err = f(iter.Key(), value)
		}
		if err != nil {
			return errors.Join(err, iter.Close())
		}
	}
	if err := iter.Close(); err != nil {
		return fmt.Errorf("read the table of counts: %w", err)
	}
	return nil
}

// sayDamage keeps the store from ending the process over damaged bytes: whoever reads them gets an error, which condemns the table.
func sayDamage(log *slog.Logger) *pebble.EventListener {
	return &pebble.EventListener{DataCorruption: func(info pebble.DataCorruptionInfo) {
		log.Warn("damaged bytes in the table of counts", "path", info.Path, "err", info.Details)
	}}
}

// storeLog passes what the store has to say on. It reports corruption as an error value too.
type storeLog struct{ log *slog.Logger }

func (s storeLog) Infof(format string, args ...any) {
	s.log.Debug("store: " + fmt.Sprintf(format, args...))
}
func (s storeLog) Errorf(format string, args ...any) {
	s.log.Warn("store: " + fmt.Sprintf(format, args...))
}
func (s storeLog) Fatalf(format string, args ...any) {
	panic("the table of counts cannot go on: " + fmt.Sprintf(format, args...))
}
