package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/broker/record"
)

// A batch may unpack to this many times the topic's limit: more than text ever
// gains, and little enough that a few hostile ones don't fill the memory.
const (
	inflatedFactor = 32
	minInflated    = 32 << 20
)

// Append hands one record batch to the group and takes ownership of it; base
// offset and leader epoch are filled in by the log. It does not wait for the
// disk. It waits until there is room in the queue or ctx ends; batches of one
// goroutine are written in the order of its calls.
func (r *Replica) Append(ctx context.Context, batch []byte) *Pending {
	return r.AppendVerified(ctx, batch, noOffset)
}

// AppendVerified is Append for a batch of which the caller has asked the
// coordinator whether it belongs to a transaction of its producer: since is the
// high watermark from before that question. When the producer has no
// transaction open and a marker came since then, the batch is refused with
// ErrInvalidTxnState: it would begin a transaction that nobody ends.
func (r *Replica) AppendVerified(ctx context.Context, batch []byte, since int64) *Pending {
	p := &Pending{done: make(chan struct{}), batch: batch, since: since}
	if err := r.admit(ctx, p); err != nil {
		r.cfg.Metrics.answered(Appended{}, err)
		p.finish(Appended{}, err)
	}
	return p
}

// takes returns nil when this replica takes anything.
func (r *Replica) takes() error {
	if err := r.serving(); err != nil {
		return err
	}
	r.cfg.Space.Watch(time.Now())
	if err := r.cfg.Space.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return nil
}

// MaxInflated is how many bytes a batch of at most maxBatchBytes may inflate to.
func MaxInflated(maxBatchBytes int) int { return max(minInflated, inflatedFactor*maxBatchBytes) }

// admit checks the batch and queues it.
func (r *Replica) admit(ctx context.Context, p *Pending) error {
	if err := r.takes(); err != nil {
		return err
	}
	settings := r.settings.Load()
	if len(p.batch) > settings.MaxBatchBytes {
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrBatchTooLarge, len(p.batch), settings.MaxBatchBytes)
	}
	head, err := record.Validate(p.batch, record.Rules{
		MaxInflated: MaxInflated(settings.MaxBatchBytes), RequireKey: settings.RequireKey,
	})
	if err != nil {
		return batchError(err)
	}
	head.Raw = nil
	p.head = head
	record.SetPlace(p.batch, 0, -1) // marks it as new for the log
	return r.enqueue(ctx, p)
}

// enqueue waits for room and puts what was checked into the queue.
func (r *Replica) enqueue(ctx context.Context, p *Pending) error {
	p.held = min(int64(len(p.batch)), r.cfg.QueueBytes)
	if err := r.room.Acquire(ctx, p.held); err != nil {
		return fmt.Errorf("%w: %w", ErrQueueFull, context.Cause(ctx))
	}
	r.cfg.Metrics.held(p.held)
	select {
	case r.queue <- p:
	case <-ctx.Done():
		r.release(p)
		return fmt.Errorf("%w: %w", ErrQueueFull, context.Cause(ctx))
	case <-r.ctx.Done():
		r.release(p)
		return r.endError()
	}
	if r.ctx.Err() != nil {
		r.drainQueue() // the appender may have looked before this batch came
	}
	return nil
}

func (r *Replica) endError() error {
	if err := r.Err(); err != nil {
		return err
	}
	return ErrStopped
}

// appendLoop is the appender: it alone proposes batches, so that their order in
// the queue is that in the log.
func (r *Replica) appendLoop() {
	defer close(r.inflight)
	for {
		select {
		case p := <-r.queue:
			r.propose(p)
		case <-r.ctx.Done():
			r.drainQueue()
			return
		}
	}
}

func (r *Replica) drainQueue() {
	for {
		select {
		case p := <-r.queue:
			r.answer(p, Appended{}, r.endError())
		default:
			return
		}
	}
}

// answer ends the wait for a batch and gives its room back.
func (r *Replica) answer(p *Pending, res Appended, err error) {
	r.cfg.Metrics.answered(res, err)
	p.finish(res, err)
	r.release(p)
}

func (r *Replica) release(p *Pending) {
	r.cfg.Metrics.held(-p.held)
	r.room.Release(p.held)
}

// proposal is a batch that raft has got, with raft's promise.
type proposal struct {
	p      *Pending
	future raft.ApplyFuture
}

// propose judges a batch by its producer's sequence and hands it to raft.
func (r *Replica) propose(p *Pending) {
	if err := r.serving(); err != nil {
		r.answer(p, Appended{}, err)
		return
	}
	batch := p.batch // p may be given up, and with it its batch, once it waits
	r.mu.Lock()
	v, err := judge(r.st.producers, r.overlay, p)
	switch {
	case err != nil:
	case v.underWay != nil:
		v.underWay.twins = append(v.underWay.twins, p)
	case v.committed == nil:
		r.overlay.add(p)
		r.waiting[p] = struct{}{}
	}
	r.mu.Unlock()
	switch {
	case err != nil:
		r.answer(p, Appended{}, err)
	case v.committed != nil:
		r.answer(p, Appended{
			BaseOffset: v.committed.base, LogStart: r.LogStart(), LogAppendTimeMs: v.committed.timeMs, Duplicate: true,
		}, nil)
	case v.underWay == nil:
		r.handOver(p, batch)
	}
}

// handOver gives a batch to raft. Raft may take it and never answer once it
// has stopped: what is waiting when that is known is answered by
// giveUpWaiting, what comes later here.
func (r *Replica) handOver(p *Pending, batch []byte) {
	if r.isDead() {
		r.complete(p, Appended{}, r.endError())
		return
	}
	select {
	case r.inflight <- proposal{p, r.raft.ApplyLog(raft.Log{Data: batch}, 0)}:
	case <-r.dead:
	}
	if r.isDead() {
		r.complete(p, Appended{}, errGivenUp)
	}
}

func (r *Replica) isDead() bool {
	select {
	case <-r.dead:
		return true
	default:
		return false
	}
}

// completeLoop answers batches in the order of the log.
func (r *Replica) completeLoop() {
	defer close(r.completed)
	for q := range r.inflight {
		err := q.future.Error()
		r.noteRefusal(err)
		if err != nil {
			r.complete(q.p, Appended{}, proposeError(err))
			continue
		}
		a, ok := q.future.Response().(applied)
		if !ok {
			r.complete(q.p, Appended{}, fmt.Errorf("%w: the replica stopped while it applied the batch", ErrOutcomeUnknown))
			continue
		}
		r.complete(q.p, Appended{BaseOffset: a.base, LogStart: r.LogStart(), LogAppendTimeMs: a.timeMs}, nil)
	}
}

// noteRefusal keeps since when every batch is refused because leadership is being handed over.
func (r *Replica) noteRefusal(err error) {
	if !errors.Is(err, raft.ErrLeadershipTransferInProgress) {
		r.refusing.Store(0)
		return
	}
	now := time.Now().UnixNano()
	r.refused.Store(now)
	r.refusing.CompareAndSwap(0, now)
}

// complete answers a batch that was under way, and its retries.
func (r *Replica) complete(p *Pending, res Appended, err error) {
	r.mu.Lock()
	_, waits := r.waiting[p]
	delete(r.waiting, p)
	r.overlay.remove(p)
	twins := p.twins
	p.twins = nil
	r.mu.Unlock()
	if !waits {
		return // given up
	}
	r.answer(p, res, err)
	if err == nil {
		res.Duplicate = true
	}
	for _, t := range twins {
		r.answer(t, res, err)
	}
}

var errGivenUp = fmt.Errorf("%w: the partition has stopped", ErrOutcomeUnknown)

// giveUpWaiting answers everything that raft may never answer.
func (r *Replica) giveUpWaiting() {
	r.mu.Lock()
	list := make([]*Pending, 0, len(r.waiting))
	for p := range r.waiting {
		list = append(list, p)
	}
	r.mu.Unlock()
	for _, p := range list {
		r.complete(p, Appended{}, errGivenUp)
	}
}

// SetLogStart makes everything below offset unreadable, on all replicas, and
// returns the log start, which may be higher already. Offset -1 means the high
// watermark. The files go soon afterwards.
func (r *Replica) SetLogStart(ctx context.Context, offset int64) (int64, error) {
	if err := r.serving(); err != nil {
		return 0, err
	}
	hw := r.HighWatermark()
	if offset == -1 {
		offset = hw
	}
	if offset < 0 || offset > hw {
		return 0, fmt.Errorf("%w: can't move the log start to %d, the high watermark is %d", ErrOffsetOutOfRange, offset, hw)
	}
	if now := r.LogStart(); offset <= now {
		return now, nil
	}
	if err := r.command(ctx, encodeSetLogStart(offset)); err != nil {
		return 0, err
	}
	return r.LogStart(), nil
}

// command proposes an entry of our own and waits until it is applied. When ctx
// ends first the outcome is unknown.
func (r *Replica) command(ctx context.Context, b []byte) error {
	future := r.raft.ApplyLog(raft.Log{Data: b, Extensions: commandMark}, 0)
	done := make(chan error, 1)
	go func() { done <- future.Error() }()
	select {
	case err := <-done:
		if err != nil {
			return proposeError(err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, context.Cause(ctx))
	case <-r.ctx.Done():
		return errors.Join(ErrOutcomeUnknown, r.endError())
	}
}
