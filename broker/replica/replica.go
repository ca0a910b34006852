package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sync/semaphore"

	"github.com/weir-analytics/weir/broker/seglog"
	"github.com/weir-analytics/weir/raftfsm/transport"
)

// Replica is one partition. Its methods are safe for concurrent use.
type Replica struct {
	cfg      Config
	settings atomic.Pointer[Settings]
	log      *seglog.Log
	logs     *logStore
	snaps    *snapshots
	link     transport.Group
	raft     *raft.Raft
	// running is raft for fail, which may be called before Open is done.
	running atomic.Pointer[raft.Raft]
	notices chan bool // from raft, closed when it has ended

	changed       changes
	highWatermark atomic.Int64
	lastStable    atomic.Int64 // never above highWatermark
	lead          atomic.Pointer[leadership]
	stopped       atomic.Pointer[error] // set once, when the replica ends
	readable      atomic.Bool           // it stopped after a failed write, and can still be read
	damaged       atomic.Pointer[error] // set once, by the first reader that met damage

	mu      sync.Mutex
	st      state
	overlay overlay
	waiting map[*Pending]struct{} // handed to raft and not yet answered

	lastStampMs int64 // raft's main loop alone

	// room bounds the bytes that are queued or under way; a batch holds its
	// share until it is answered. queue bounds their number as well; when it
	// is full Append waits.
	room     *semaphore.Weighted
	queue    chan *Pending
	inflight chan proposal // in the order of the log; one reader

	refusing         atomic.Int64 // since when raft refuses batches because it hands over, Unix ns; 0: it does not
	refused          atomic.Int64 // when it last did
	staleAborted     atomic.Bool  // the checkpoint's sums of the aborted index are older than the index
	sinceCkptEntries atomic.Int64
	sinceCkptBytes   atomic.Int64
	ckptIndex        atomic.Uint64 // of the newest checkpoint
	keeperKick       chan struct{} // holds one; more kicks are merged

	ctx       context.Context // ends when the replica does
	cancel    context.CancelCauseFunc
	wg        sync.WaitGroup // appender and keeper
	watcher   chan struct{}  // closed when the watcher of leadership has ended
	completed chan struct{}  // closed when every proposal was answered
	dead      chan struct{}  // closed by fail
	shutdown  func() raft.Future
	closeOnce sync.Once
	closeErr  error
}

const (
	// queueEntries bounds the number of batches in the queue, inflightEntries
	// those that raft has got; when one is full the appender's callers wait.
	// Guesses: twice what one sync takes (maxAppendEntries). Both channels are
	// made in full for every partition, so that larger ones cost memory.
	queueEntries    = 2 * maxAppendEntries
	inflightEntries = 2 * maxAppendEntries
)

// HighWatermark is the offset after the last committed record.
func (r *Replica) HighWatermark() int64 { return r.highWatermark.Load() }

// LogStart is the offset of the first record that can be read.
func (r *Replica) LogStart() int64 { return r.log.Bounds().LogStart }

// SizeBytes is the size of the partition's records on disk.
func (r *Replica) SizeBytes() int64 { return r.log.SizeBytes() }

// Changed returns a channel that is closed at the next change of high
// watermark, log start or leadership. Take it before reading those.
func (r *Replica) Changed() <-chan struct{} { return r.changed.next() }

// Err returns why the replica has stopped, nil while it runs.
func (r *Replica) Err() error {
	if err := r.stopped.Load(); err != nil {
		return *err
	}
	return nil
}

// Readable says whether a replica that has stopped by itself can still be read:
// after a failed write what was committed before is whole, and as the only
// voter there is nobody who could have committed more.
func (r *Replica) Readable() bool { return r.readable.Load() }

// probeBytes is what Writable writes: a few times what opening the partition
// again writes besides its checkpoint.
const probeBytes = 1 << 20

// Writable tries whether the disk takes writes in the partition's directory. It
// leaves nothing behind.
func (r *Replica) Writable() error {
	r.cfg.Space.Watch(time.Now())
	if err := r.cfg.Space.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	name := r.cfg.Dir + "/probe"
	f, err := r.cfg.FS.Create(name)
	if err != nil {
		return fmt.Errorf("try the disk: %w", err)
	}
	_, err = f.WriteAt(make([]byte, probeBytes), 0)
	if err == nil {
		err = f.SyncData()
	}
	if err = errors.Join(err, f.Close(), r.cfg.FS.Remove(name)); err != nil {
		return fmt.Errorf("try the disk: %w", err)
	}
	return nil
}

func (r *Replica) readErr() error {
	if r.readable.Load() {
		return nil
	}
	return r.Err()
}

// Damage returns what the first reader that met damaged records has found, nil
// while none did. Readers of anything else are served.
func (r *Replica) Damage() error {
	if err := r.damaged.Load(); err != nil {
		return *err
	}
	return nil
}

// Read returns whole batches from the one that holds offset on, up to maxBytes
// but at least one, and only below the high watermark; nothing at the high
// watermark itself. A read may end early, at the end of a segment. A replica
// that has stopped is read while Readable says so.
func (r *Replica) Read(offset int64, maxBytes int) ([]byte, error) {
	return r.ReadBelow(offset, maxBytes, r.HighWatermark())
}

// ReadBelow is Read with a lower limit, that of the last stable offset: between
// that and the high watermark it returns nothing.
func (r *Replica) ReadBelow(offset int64, maxBytes int, limit int64) ([]byte, error) {
	if err := r.readErr(); err != nil {
		return nil, err
	}
	hw := r.HighWatermark()
	if start := r.LogStart(); offset < start || offset > hw {
		return nil, fmt.Errorf("%w: %d, records are from %d to %d", ErrOffsetOutOfRange, offset, start, hw)
	}
	limit = min(limit, hw)
	if offset >= limit {
		return nil, nil
	}
	b, err := r.log.Read(offset, maxBytes, limit)
	if err != nil {
		return nil, r.readError(fmt.Errorf("read at offset %d: %w", offset, err))
	}
	return b, nil
}

// readError makes damage known. It does not stop the replica: the records that
// are whole, and new ones, are better served than lost as well.
func (r *Replica) readError(err error) error {
	switch {
	case errors.Is(err, seglog.ErrOffsetRange): // the log start has moved meanwhile
		return fmt.Errorf("%w: %w", ErrOffsetOutOfRange, err)
	case errors.Is(err, ErrCorrupt):
		if r.damaged.CompareAndSwap(nil, &err) {
			r.report(Damaged{Err: err})
		}
	case errors.Is(err, seglog.ErrClosed):
		return fmt.Errorf("%w: %w", ErrStopped, err)
	}
	return err
}

// OffsetForTime returns the first committed record at or after ms.
func (r *Replica) OffsetForTime(ms int64) (offset, timeMs int64, ok bool, err error) {
	if err := r.readErr(); err != nil {
		return 0, 0, false, err
	}
	if offset, timeMs, ok, err = r.log.OffsetForTime(ms, r.HighWatermark()); err != nil {
		err = r.readError(fmt.Errorf("look up time %d: %w", ms, err))
	}
	return offset, timeMs, ok, err
}

// MaxTimestamp returns the committed record with the newest time.
func (r *Replica) MaxTimestamp() (offset, timeMs int64, ok bool, err error) {
	if err := r.readErr(); err != nil {
		return 0, 0, false, err
	}
	if offset, timeMs, ok, err = r.log.MaxTimestamp(r.HighWatermark()); err != nil {
		err = r.readError(fmt.Errorf("look up newest time: %w", err))
	}
	return offset, timeMs, ok, err
}

// EpochEnd returns the largest leader epoch that is not above the one given,
// and the offset at which it ends; (-1, -1) when there is none.
func (r *Replica) EpochEnd(epoch int32) (foundEpoch int32, endOffset int64) {
	return r.log.EpochEnd(epoch, r.HighWatermark())
}

// Stop stops the replica as a failed write does. Its owner calls it when the
// directory is not there any more: what is written to files that are open
// already would be nowhere after the next start.
func (r *Replica) Stop(cause error) { r.fail(cause) }

// fail stops the replica for good: nothing is written any more, and nothing
// read but by Readable. Whoever owns it closes it and may open it again. It is
// called on input/output errors and damage, from any goroutine.
func (r *Replica) fail(cause error) {
	err := fmt.Errorf("%w: %w", ErrStopped, cause)
	if !r.stopped.CompareAndSwap(nil, &err) {
		return
	}
	r.readable.Store(!errors.Is(cause, ErrCorrupt) && r.logs.headsOnly.Load())
	r.report(Stopped{Err: cause})
	r.cancel(err)
	close(r.dead)
	r.setLeadership(&leadership{nodeID: -1, epoch: r.leadership().epoch})
	r.changed.notify()
	if r.running.Load() == nil {
		return // start sees the error
	}
	ended := r.shutdown()
	go func() { // raft may be what called
		_ = ended.Error()
		r.giveUpWaiting() // what raft has dropped without an answer
	}()
}
