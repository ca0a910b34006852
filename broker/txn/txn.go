package txn

import (
	"time"

	"github.com/weir-analytics/weir/broker/record"
)

// journal takes what a transaction wants to have in the log. done is called once, later, under the same lock as all methods
// of the transaction, in the order of the writes; err is nil when the record is committed.
type journal interface {
	write(t *txn, rec record.Record, done func(now time.Time, err error))
	// finish makes the outcome of a prepared transaction known to all its partitions, then calls complete.
	finish(t *txn)
}

// txn is one transactional id: a state machine that takes the time as an argument and is guarded by the lock of its shard.
type txn struct {
	id      string
	env     *env
	journal journal

	// meta is what the log says, next what is being written, nil when nothing is. There is one write at a time, so that
	// every decision is made on what is committed.
	meta metadata
	next *metadata
	// stored is true when the log holds a record of the id.
	stored bool
	// settled is closed and replaced whenever a change has ended, well or not.
	settled chan struct{}
	// begunOn is the number of the connection that began the running transaction, 0 when unknown: what comes from an older
	// connection may have been sent before it.
	begunOn uint64
	// doubted are the connections from which an end of the running transaction was taken for a late one.
	doubted []uint64
	// retryAt is when an abort that could not be stored is tried again.
	retryAt time.Time
}

// answer is the outcome of a step.
type answer struct {
	code int16
	producer
}

func failed(code int16) answer { return answer{code: code, producer: producer{noProducerID, noEpoch}} }

func newTxn(id string, e *env, j journal) *txn {
	return &txn{
		id: id, env: e, journal: j, settled: make(chan struct{}),
		meta: metadata{producer: producer{noProducerID, noEpoch}, previousID: noProducerID, nextID: noProducerID, lastEpoch: noEpoch, startedMs: noTime},
	}
}

// busy says that a change is under way, which clients are told as CONCURRENT_TRANSACTIONS.
func (t *txn) busy() bool { return t.next != nil || t.meta.state.prepared() }

// write stores next. done is called after next has become meta, or has failed to.
func (t *txn) write(now time.Time, next metadata, done func(now time.Time, err error)) {
	next.updatedMs = now.UnixMilli()
	t.next = &next
	t.journal.write(t, encode(t.id, &next), func(now time.Time, err error) {
		t.next = nil
		if err == nil {
			t.env.log.Debug("transaction changes state", "txn", t.id, "from", t.meta.state, "to", next.state, "epoch", next.epoch)
			t.meta, t.stored = next, true
		}
		t.wake()
		done(now, err)
	})
}

// wake lets those look again who wait for the change that was under way.
func (t *txn) wake() {
	close(t.settled)
	t.settled = make(chan struct{})
}

// prepare stores the outcome of the running transaction and sees to it that it becomes known.
func (t *txn) prepare(now time.Time, next metadata, done func(now time.Time, err error)) {
	t.write(now, next, func(now time.Time, err error) {
		if err == nil {
			t.journal.finish(t)
		}
		done(now, err)
	})
}

// fence aborts the running transaction under an epoch that its producer does not have. last is the epoch that may ask for the
// new one as its successor, noEpoch for none.
func (t *txn) fence(now time.Time, last int16, done func(now time.Time, err error)) {
	next := t.meta
	next.state, next.lastEpoch = prepareAbort, last
	next.epoch = min(next.epoch, lastUsableEpoch) + 1
	t.prepare(now, next, done)
}

// complete stores that all partitions know the outcome. It is called by the journal, for prepared transactions only.
func (t *txn) complete(now time.Time, done func(now time.Time, err error)) {
	next := t.meta
	next.state = completeAbort
	if t.meta.state == prepareCommit {
		next.state = completeCommit
	}
	next.partitions = nil
	if next.nextID != noProducerID {
		next.previousID = next.id
		next.producer, next.nextID = producer{next.nextID, 0}, noProducerID
	}
	t.write(now, next, done)
}

// retryAfter is how long an abort waits that could not be stored.
const retryAfter = time.Second

// tick aborts a transaction that has run for too long. The producer may go on: the epoch after its own is given to it alone,
// unless another producer has asked for the transactional id meanwhile.
func (t *txn) tick(now time.Time) {
	due := t.due()
	if due.IsZero() || now.Before(due) {
		return
	}
	last := t.meta.epoch
	t.retryAt = time.Time{}
	t.env.log.Info("transaction took too long and is aborted", "txn", t.id, "producer", t.meta.id, "epoch", last, "timeout_ms", t.meta.timeoutMs)
	t.fence(now, last, func(now time.Time, err error) {
		if err != nil {
			t.retryAt = now.Add(retryAfter)
			return
		}
		t.env.metrics.ended.WithLabelValues("timeout").Inc()
	})
}

// due is when tick has to be called, zero for never.
func (t *txn) due() time.Time {
	switch {
	case t.next != nil || t.meta.state != ongoing:
		return time.Time{}
	case t.retryAt.After(t.meta.deadline()):
		return t.retryAt
	}
	return t.meta.deadline()
}

// expired says that the id has not been used for so long that it is forgotten.
func (t *txn) expired(now time.Time) bool {
	if t.next != nil || t.meta.state == ongoing || t.meta.state.prepared() {
		return false
	}
	return now.Sub(time.UnixMilli(t.meta.updatedMs)) >= t.env.cfg.IDExpiry
}

// forget writes a tombstone. The id is dead once that is committed.
func (t *txn) forget(now time.Time) {
	next := t.meta
	next.state = dead
	t.next = &next
	t.journal.write(t, tombstone(t.id, now), func(_ time.Time, err error) {
		t.next = nil
		if err == nil {
			t.meta.state, t.stored = dead, false
			t.env.metrics.expired.Inc()
		}
		t.wake()
	})
}

// disposable says that nothing would be lost by forgetting the id.
func (t *txn) disposable() bool { return t.next == nil && !t.stored }
