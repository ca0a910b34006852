package txn

import (
	"context"
	"time"

	"github.com/weir-analytics/weir/broker/led"
)

// step is one try of a request under the lock of its shard: it arranges for done, or returns a channel when it is to be tried
// again after that is closed. t is nil when the id is not known.
type step func(s *shard, t *txn, now time.Time, done func(answer)) (again <-chan struct{})

// run runs a step until it is answered. What meets a change under way waits for it a little before it is answered
// CONCURRENT_TRANSACTIONS.
func (c *Coordinator) run(ctx context.Context, id string, fn step) answer {
	var patience <-chan time.Time
	for {
		res, again := c.try(ctx, id, fn)
		if again == nil {
			return res
		}
		if patience == nil {
			timer := time.NewTimer(c.env.cfg.SettleWait)
			defer timer.Stop()
			patience = timer.C
		}
		select {
		case <-again:
		case <-patience:
			return failed(codeConcurrentTransactions)
		case <-ctx.Done():
			return failed(codeConcurrentTransactions)
		}
	}
}

func (c *Coordinator) try(ctx context.Context, id string, fn step) (res answer, again <-chan struct{}) {
	s, code := c.shardOf(ctx, id)
	if code != codeNone {
		return failed(code), nil
	}
	w := led.NewWaiter[answer]()
	ok := s.do(func(now time.Time) {
		t := s.txns[id]
		again = fn(s, t, now, w.Answer)
		if t = s.txns[id]; t != nil {
			s.settle(t)
		}
	})
	if again != nil {
		return answer{}, again
	}
	res, answered := w.Await(ctx, ok)
	if !answered || !s.Current() {
		return failed(codeNotCoordinator), nil
	}
	return res, nil
}

// fencedCode is the code for a fenced producer as a version knows it: PRODUCER_FENCED came later than the requests.
func fencedCode(code, version, since int16) int16 {
	if code == codeProducerFenced && version < since {
		return codeInvalidProducerEpoch
	}
	return code
}
