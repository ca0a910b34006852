package seglog

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-analytics/weir/internal/vfs"
)

// Entry is one entry of the log. Data belongs to the log once it was appended
// and must not be changed by whoever gets it back.
type Entry struct {
	Index uint64
	Term  uint32
	Kind  Kind
	Data  []byte
	// BaseOffset of the batch; for internal entries the offset of the next
	// batch. Append fills it in.
	BaseOffset int64
	// Count is the number of offsets taken, 0 for internal entries. Append
	// fills it in.
	Count int32
}

// Config is what a log is opened with.
type Config struct {
	FS  vfs.FS
	Dir string
	// SegmentBytes is the size at which a segment is sealed; 0 means 128 MiB,
	// the most is 1 GiB.
	SegmentBytes int64
	// Shared is common to all logs of the node. Required.
	Shared *Shared
	// Now is the clock for the age of segments; nil means time.Now.
	Now func() time.Time
	// OnEvent is told of rare, important things; it must not call the log.
	OnEvent func(Event)
}

const (
	defaultSegmentBytes = 128 << 20
	maxSegmentBytes     = 1 << 30 // positions are 32 bits and one append may run over
)

func (c *Config) complete() error {
	switch {
	case c.FS == nil || c.Dir == "" || c.Shared == nil:
		return errors.New("seglog: FS, Dir and Shared are required")
	case c.SegmentBytes < 0:
		return fmt.Errorf("seglog: segment size of %d bytes, want 0 to %d", c.SegmentBytes, maxSegmentBytes)
	case c.SegmentBytes == 0:
		c.SegmentBytes = defaultSegmentBytes
	}
	c.SegmentBytes = min(c.SegmentBytes, maxSegmentBytes)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.OnEvent == nil {
		c.OnEvent = func(Event) {}
	}
	return nil
}

// Log is the log of one partition.
type Log struct {
	cfg    Config
	shared *Shared
	tail   tail
	noTail atomic.Bool

	segmentBytes atomic.Int64 // size at which a segment is sealed
	maxOffsets   atomic.Int64 // that a segment may span

	// wmu is held by whoever changes the end of the log or its files; it is
	// taken before mu. The segments' own fields for writing belong to it.
	wmu    sync.Mutex
	failed error // set once; see ErrFailed

	metaMu sync.Mutex // after wmu, before mu
	meta   *metaFile

	// mu guards what readers see.
	mu        sync.RWMutex
	segs      []*segment // never empty after Open
	anchor    Anchor
	logStart  int64
	next      int64
	lastIndex uint64
	lastTerm  uint32
	epochs    []Epoch
	pins      []*view // held open until Close, see swap
	closed    bool
}

// Bounds is where a log begins and ends at one moment.
type Bounds struct {
	Anchor     Anchor
	LastIndex  uint64 // equals Anchor.Index when there are no entries
	LastTerm   uint32
	LogStart   int64 // offset of the first record that may be read
	NextOffset int64 // offset that the next record gets
}

// Bounds returns where the log begins and ends.
func (l *Log) Bounds() Bounds {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return Bounds{l.anchor, l.lastIndex, l.lastTerm, l.logStart, l.next}
}

// SizeBytes is the size of all record batches on disk, without side files.
func (l *Log) SizeBytes() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	n := int64(0)
	for _, s := range l.segs {
		n += s.sum.logSize
	}
	return n
}

// SegmentInfo describes one segment.
type SegmentInfo struct {
	Base       int64 // offset of its first record
	NextOffset int64 // offset after its last record
	SizeBytes  int64
	MinTimeMs  int64 // of its records, -1 when they carry none
	MaxTimeMs  int64
	Sealed     bool
	Compacted  bool // it was cleaned: see Rewrite
	Term       uint32
	CreatedMs  int64 // when this replica began it, 0 when unknown
}

// Segments describes all segments, oldest first.
func (l *Log) Segments() []SegmentInfo {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := make([]SegmentInfo, len(l.segs))
	for i, s := range l.segs {
		out[i] = SegmentInfo{s.head.base, s.sum.next, s.sum.logSize, s.sum.minTimeMs, s.sum.maxTimeMs, s.sealed,
			s.head.compacted, s.sum.batchTerm, s.head.createdMs}
	}
	return out
}

// SetSegments says at how many bytes a segment is sealed, 0 for 128 MiB, and how
// many offsets it may span, 0 for no bound of the owner's. It holds for what is
// appended from now on.
func (l *Log) SetSegments(bytes, offsets int64) {
	if bytes <= 0 {
		bytes = defaultSegmentBytes
	}
	if offsets <= 0 {
		offsets = math.MaxInt32
	}
	l.segmentBytes.Store(min(bytes, maxSegmentBytes))
	l.maxOffsets.Store(min(offsets, math.MaxInt32))
}

// KeepTail says whether new entries are kept in memory, for replication. It
// begins as true.
func (l *Log) KeepTail(on bool) {
	l.noTail.Store(!on)
	if !on {
		l.tail.truncate(0)
	}
}

// active is the segment that is appended to; the caller holds wmu.
func (l *Log) active() *segment {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.segs[len(l.segs)-1]
}

// writable is asked with wmu held before anything is changed.
func (l *Log) writable() error {
	if l.closed {
		return ErrClosed
	}
	return l.failed
}

// fail stops all writing for good. Readers go on.
func (l *Log) fail(cause error) error {
	if l.failed == nil {
		l.failed = fmt.Errorf("%w: %w", ErrFailed, cause)
		l.cfg.OnEvent(Failed{Err: cause})
	}
	return l.failed
}

// Close trims the files to their length, marks them as whole, syncs and closes
// them. A log that has failed is closed as it is, for the next Open to examine.
func (l *Log) Close() error { return l.close(true) }

// Abandon closes the files as they are. The next Open reads the last segment
// through, as after a crash: for owners that have found damage.
func (l *Log) Abandon() error { return l.close(false) }

func (l *Log) close(trim bool) error {
	l.wmu.Lock()
	defer l.wmu.Unlock()
	if l.closed {
		return nil
	}
	var errs []error
	if last := l.active(); trim && l.failed == nil && !last.sealed {
		errs = append(errs, l.seal(last))
	}
	l.mu.Lock()
	l.closed = true
	segs, pins := l.segs, l.pins
	l.pins = nil
	l.mu.Unlock()
	for _, v := range pins {
		l.shared.forget(v.s, true)
		v.release()
	}
	for _, s := range segs {
		l.shared.forget(s, true)
		if s.own != nil {
			l.shared.release(s, s.own)
		}
	}
	l.tail.truncate(0)
	errs = append(errs, l.meta.close())
	return errors.Join(errs...)
}
