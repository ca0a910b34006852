package txn

import (
	"time"

	"github.com/weir-analytics/weir/broker/led"
)

// initRequest asks for a producer id and epoch under a transactional id.
type initRequest struct {
	timeoutMs int32
	// expected is what the producer has (KIP-360), nil for one that starts.
	expected *producer
	// freshID is an id that nobody has, noProducerID when none was got yet.
	freshID int64
}

// initProducer gives the caller an epoch that nobody had, and so fences everybody who had an older one. A running transaction is
// aborted first. It returns a channel when the caller should ask again after that is closed, and needID when it should come
// again with an id; done is called only otherwise.
func (t *txn) initProducer(now time.Time, r initRequest, done func(answer)) (again <-chan struct{}, needID bool) {
	if t.next != nil {
		return t.settled, false
	}
	if r.expected != nil && !t.mayGoOn(*r.expected) {
		done(failed(codeProducerFenced))
		return nil, false
	}
	switch t.meta.state {
	case prepareCommit, prepareAbort:
		return t.settled, false
	case ongoing:
		last := noEpoch
		if r.expected != nil {
			last = r.expected.epoch
		}
		settled := t.settled
		t.fence(now, last, func(_ time.Time, err error) {
			if err == nil {
				t.env.metrics.ended.WithLabelValues("fenced").Inc()
			}
		})
		return settled, false
	}
	next, ok := t.successor(r)
	if !ok {
		return nil, true
	}
	next.state, next.timeoutMs, next.partitions, next.startedMs = empty, r.timeoutMs, nil, noTime
	t.write(now, next, func(_ time.Time, err error) {
		if err != nil {
			done(failed(led.StoreCode(err)))
			return
		}
		done(answer{codeNone, next.producer})
	})
	return nil, false
}

// mayGoOn says whether a producer that was given p is still the one that the id belongs to.
func (t *txn) mayGoOn(p producer) bool {
	m := &t.meta
	switch {
	case m.epoch == noEpoch: // the id was forgotten or is made just now: nobody else has it
		return true
	case t.isNext(p):
		return true
	case p.id == m.id:
		return p.epoch == m.epoch || (p.epoch >= 0 && p.epoch == m.lastEpoch)
	}
	return p.id == m.previousID && p.epoch == m.lastEpoch && p.epoch >= lastUsableEpoch
}

// successor is the producer that r gets, ok false when it takes a fresh id.
func (t *txn) successor(r initRequest) (next metadata, ok bool) {
	next = t.meta
	switch {
	case next.epoch == noEpoch:
		next.producer, next.lastEpoch = producer{r.freshID, 0}, noEpoch
		return next, r.freshID != noProducerID
	case r.expected != nil && *r.expected != next.producer && next.epoch <= lastUsableEpoch:
		return next, true // the answer to its last request got lost, or it was too slow and nobody has come since
	case next.exhausted():
		next.previousID, next.lastEpoch = noProducerID, noEpoch
		if r.expected != nil {
			next.previousID, next.lastEpoch = next.id, r.expected.epoch
		}
		next.producer = producer{r.freshID, 0}
		return next, r.freshID != noProducerID
	}
	next.previousID, next.lastEpoch = noProducerID, noEpoch
	if r.expected != nil {
		next.lastEpoch = next.epoch
	}
	next.epoch++
	return next, true
}

// isNext says that p is what the producer of a prepared transaction was told to go on as.
func (t *txn) isNext(p producer) bool {
	return t.meta.nextID != noProducerID && p == producer{t.meta.nextID, 0}
}

// check says whether p is the producer of the id, in Kafka's order of tests.
func (t *txn) check(p producer) int16 {
	switch {
	case t.isNext(p):
		return codeNone // and it will find the transaction busy
	case t.meta.id != p.id:
		return codeInvalidProducerIDMapping
	case t.meta.epoch != p.epoch:
		return codeProducerFenced
	}
	return codeNone
}

// add makes partitions part of the transaction, which begins with the first. It returns a channel when the caller should ask
// again after that is closed; done is called only otherwise.
func (t *txn) add(now time.Time, p producer, version int16, tps []topicPartition, conn uint64, done func(answer)) (again <-chan struct{}) {
	if code := t.check(p); code != codeNone {
		// What is under way may be what made p the one before.
		done(failed(code))
		return nil
	}
	if t.busy() {
		return t.settled
	}
	if t.meta.state == ongoing && t.meta.has(tps) {
		done(answer{codeNone, p})
		return nil
	}
	next := t.meta
	next.version, next.partitions = version, next.with(tps)
	begins := next.state != ongoing
	if begins {
		next.state, next.startedMs = ongoing, now.UnixMilli()
	}
	t.write(now, next, func(_ time.Time, err error) {
		if err == nil && begins {
			t.begunOn, t.doubted, t.retryAt = conn, nil, time.Time{}
			t.env.metrics.begun.Inc()
		}
		done(answer{led.StoreCode(err), p})
	})
	return nil
}

// verify says whether a partition is part of p's running transaction. It returns a channel when the caller should ask again
// after that is closed.
func (t *txn) verify(p producer, tp topicPartition) (code int16, again <-chan struct{}) {
	if code := t.check(p); code != codeNone {
		return code, nil
	}
	if t.meta.state.prepared() {
		return codeNone, t.settled
	}
	if t.meta.state != ongoing || !t.meta.has([]topicPartition{tp}) {
		return codeInvalidTxnState, nil
	}
	return codeNone, nil
}
