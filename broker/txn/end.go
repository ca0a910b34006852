package txn

import (
	"slices"
	"time"

	"github.com/weir-analytics/weir/broker/led"
)

// endRequest asks for the end of a transaction.
type endRequest struct {
	producer
	commit  bool
	version int16
	// conn is the number of the connection the request came on, 0 when unknown.
	conn uint64
	// freshID is an id that nobody has, noProducerID when none was got yet.
	freshID int64
}

func (r *endRequest) prepared() state {
	if r.commit {
		return prepareCommit
	}
	return prepareAbort
}

func (r *endRequest) completed() state {
	if r.commit {
		return completeCommit
	}
	return completeAbort
}

// end commits or aborts the running transaction and answers when that is decided for good: stored, not yet known to the
// partitions. A repeated request is told what the first one was. It returns a channel when the caller should ask again after that
// is closed, and needID when it should come again with an id; done is called only otherwise.
func (t *txn) end(now time.Time, r endRequest, done func(answer)) (again <-chan struct{}, needID bool) {
	if r.version >= versionTwo {
		return t.endTwo(now, r, done)
	}
	t.endOne(now, r, done)
	return nil, false
}

// endOne is the end of a transaction whose epoch goes on to the next one.
func (t *txn) endOne(now time.Time, r endRequest, done func(answer)) {
	if code := t.check(r.producer); code != codeNone {
		done(failed(code))
		return
	}
	switch state := t.meta.state; {
	case t.next != nil:
		done(failed(codeConcurrentTransactions))
	case state == ongoing && t.late(r.conn):
		t.env.log.Info("late end of an earlier transaction is not applied to the running one", "txn", t.id, "producer", r.id, "epoch", r.epoch)
		t.env.metrics.late.Inc()
		done(failed(codeConcurrentTransactions))
	case state == ongoing:
		next := t.meta
		next.state, next.version = r.prepared(), r.version
		t.finishBy(now, next, r, func() answer { return answer{codeNone, r.producer} }, done)
	case state == r.completed():
		done(answer{codeNone, t.meta.producer})
	case state == r.prepared():
		done(failed(codeConcurrentTransactions))
	default:
		done(failed(codeInvalidTxnState))
	}
}

// late says that an EndTxn from a connection is taken for one that was sent before the running transaction began, held up on the way, and
// means the one before. That is so for the first from each connection that was opened before the one on which it began. A second one comes
// from a client that has read the answer to the first: one that has several connections open, and means the running transaction.
func (t *txn) late(conn uint64) bool {
	if conn == 0 || conn >= t.begunOn || slices.Contains(t.doubted, conn) {
		return false
	}
	t.doubted = append(t.doubted, conn)
	return true
}

// endTwo is the end of a transaction after which the producer has another epoch (KIP-890). A request with the present epoch
// means the present transaction, one with the epoch before is a repeated one.
func (t *txn) endTwo(now time.Time, r endRequest, done func(answer)) (again <-chan struct{}, needID bool) {
	m := &t.meta
	repeated := t.repeats(r)
	switch {
	case m.state.prepared() && (t.isNext(r.producer) || (r.producer == m.producer && m.epoch <= lastUsableEpoch)):
		return t.settled, false // the transaction before has not ended everywhere
	case !repeated && r.id != m.id:
		done(failed(codeInvalidProducerIDMapping))
	case !repeated && (r.epoch != m.epoch || m.state.prepared()), repeated && (m.state == empty || m.state == ongoing):
		done(failed(codeProducerFenced))
	case t.next != nil, repeated && m.state == r.prepared():
		done(failed(codeConcurrentTransactions))
	case repeated && m.state == r.completed():
		done(answer{codeNone, m.producer})
	case repeated, m.state != ongoing && r.commit:
		done(failed(codeInvalidTxnState))
	case m.exhausted() && r.freshID == noProducerID:
		return nil, true
	default:
		t.endAndRaise(now, r, done)
	}
	return nil, false
}

// repeats says that a request of version 2 was answered before: the producer has gone on.
func (t *txn) repeats(r endRequest) bool {
	m := &t.meta
	if r.id == m.previousID && r.epoch == lastUsableEpoch && m.epoch == 0 {
		return true // the answer was another producer id
	}
	// The highest epoch is in markers alone. It was an answer only if an id to go on with came with it.
	answered := m.epoch <= lastUsableEpoch || m.nextID != noProducerID
	return r.id == m.id && r.epoch == m.epoch-1 && answered
}

func (t *txn) endAndRaise(now time.Time, r endRequest, done func(answer)) {
	next := t.meta
	next.state, next.version = r.prepared(), r.version
	next.previousID, next.lastEpoch = noProducerID, next.epoch
	if t.meta.state != ongoing { // an abort without a transaction raises the epoch all the same
		next.startedMs = now.UnixMilli()
	}
	if t.meta.exhausted() {
		next.nextID = r.freshID
	}
	next.epoch++
	t.finishBy(now, next, r, func() answer {
		if next.nextID != noProducerID {
			return answer{codeNone, producer{next.nextID, 0}}
		}
		return answer{codeNone, next.producer}
	}, done)
}

func (t *txn) finishBy(now time.Time, next metadata, r endRequest, ok func() answer, done func(answer)) {
	t.prepare(now, next, func(_ time.Time, err error) {
		if err != nil {
			done(failed(led.StoreCode(err)))
			return
		}
		outcome := "abort"
		if r.commit {
			outcome = "commit"
		}
		t.env.metrics.ended.WithLabelValues(outcome).Inc()
		done(ok())
	})
}
