package txn

import "time"

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
// partitions. A repeated request is told what the first one was. It returns needID when the caller should come again with an
// id; done is called only otherwise.
func (t *txn) end(now time.Time, r endRequest, done func(answer)) (needID bool) {
	if r.version >= versionTwo {
		return t.endTwo(now, r, done)
	}
	t.endOne(now, r, done)
	return false
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
	case state == ongoing && r.conn != 0 && r.conn < t.begunOn:
		// Sent before this transaction began, and held up on the way: it means the one before.
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

// endTwo is the end of a transaction after which the producer has another epoch (KIP-890). A request with the present epoch
// means the present transaction, one with the epoch before is a repeated one.
func (t *txn) endTwo(now time.Time, r endRequest, done func(answer)) (needID bool) {
	m := &t.meta
	again := r.id == m.id && r.epoch == m.epoch-1 && m.epoch <= lastUsableEpoch
	if m.state.prepared() && m.nextID != noProducerID { // the highest epoch is only in the markers
		again = r.id == m.id && r.epoch == m.epoch-1
	}
	if r.id == m.previousID && r.epoch == lastUsableEpoch && m.epoch == 0 {
		again = true // the answer to the first was another producer id
	}
	switch {
	case t.isNext(r.producer):
		done(failed(codeConcurrentTransactions))
		return false
	case !again && r.id != m.id:
		done(failed(codeInvalidProducerIDMapping))
		return false
	case !again && (r.epoch != m.epoch || m.state.prepared()), again && !m.state.prepared() && m.state != completeCommit && m.state != completeAbort:
		done(failed(codeProducerFenced))
		return false
	case t.next != nil:
		done(failed(codeConcurrentTransactions))
		return false
	case again && m.state == r.prepared():
		done(failed(codeConcurrentTransactions))
		return false
	case again && m.state == r.completed():
		done(answer{codeNone, m.producer})
		return false
	case again, m.state != ongoing && r.commit:
		done(failed(codeInvalidTxnState))
		return false
	}
	next := *m
	next.state, next.version = r.prepared(), r.version
	next.previousID, next.lastEpoch = noProducerID, next.epoch
	if m.state != ongoing { // an abort without a transaction raises the epoch all the same
		next.startedMs = now.UnixMilli()
	}
	if m.exhausted() {
		if r.freshID == noProducerID {
			return true
		}
		next.nextID = r.freshID
	}
	next.epoch++
	t.finishBy(now, next, r, func() answer {
		if next.nextID != noProducerID {
			return answer{codeNone, producer{next.nextID, 0}}
		}
		return answer{codeNone, next.producer}
	}, done)
	return false
}

func (t *txn) finishBy(now time.Time, next metadata, r endRequest, ok func() answer, done func(answer)) {
	t.prepare(now, next, func(_ time.Time, err error) {
		if err != nil {
			done(failed(storeCode(err)))
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
