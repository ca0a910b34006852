package txn

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeTransactions shows what is known of transactional ids.
func (c *Coordinator) DescribeTransactions(ctx context.Context, req *kmsg.DescribeTransactionsRequest) *kmsg.DescribeTransactionsResponse {
	resp := req.ResponseKind().(*kmsg.DescribeTransactionsResponse)
	for _, id := range req.TransactionalIDs {
		d := kmsg.NewDescribeTransactionsResponseTransactionState()
		d.TransactionalID = id
		if id == "" {
			d.ErrorCode = codeInvalidRequest
		} else {
			d.ErrorCode = c.describe(ctx, id, &d)
		}
		resp.TransactionStates = append(resp.TransactionStates, d)
	}
	return resp
}

func (c *Coordinator) describe(ctx context.Context, id string, d *kmsg.DescribeTransactionsResponseTransactionState) int16 {
	return c.run(ctx, id, func(_ *shard, t *txn, _ time.Time, done func(answer)) <-chan struct{} {
		if t == nil || !t.stored {
			done(failed(codeTransactionalIDNotFound))
			return nil
		}
		m := &t.meta
		d.State, d.TimeoutMillis, d.StartTimestamp = m.state.String(), m.timeoutMs, m.startedMs
		d.ProducerID, d.ProducerEpoch = m.id, m.epoch
		for _, tp := range m.sorted() {
			if n := len(d.Topics); n == 0 || d.Topics[n-1].Topic != tp.topic {
				d.Topics = append(d.Topics, kmsg.DescribeTransactionsResponseTransactionStateTopic{Topic: tp.topic})
			}
			dt := &d.Topics[len(d.Topics)-1]
			dt.Partitions = append(dt.Partitions, tp.partition)
		}
		done(answer{})
		return nil
	}).code
}

// ListTransactions lists the transactional ids that are coordinated here, in order. Version 0 filters by state and producer,
// 1 also by how long transactions have been running, 2 by a pattern for the whole id.
func (c *Coordinator) ListTransactions(ctx context.Context, req *kmsg.ListTransactionsRequest) *kmsg.ListTransactionsResponse {
	resp := req.ResponseKind().(*kmsg.ListTransactionsResponse)
	for _, name := range req.StateFilters {
		if !slices.Contains(stateNames[:], name) {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, name)
		}
	}
	var pattern *regexp.Regexp
	if req.Version >= 2 && req.TransactionalIDPattern != nil && *req.TransactionalIDPattern != "" {
		var err error
		if pattern, err = regexp.Compile("^(?:" + *req.TransactionalIDPattern + ")$"); err != nil {
			resp.ErrorCode = codeInvalidRegularExpression
			return resp
		}
	}
	for p := range c.env.cfg.Partitions.Count() {
		s, code := c.shards.At(ctx, p)
		if code == codeNotCoordinator {
			continue
		}
		if code != codeNone { // a list with holes would look like ids that are gone
			resp.ErrorCode, resp.TransactionStates = code, nil
			return resp
		}
		s.do(func(now time.Time) {
			for _, t := range s.txns {
				if t.listed(req, pattern, now) {
					resp.TransactionStates = append(resp.TransactionStates, kmsg.ListTransactionsResponseTransactionState{
						TransactionalID: t.id, ProducerID: t.meta.id, TransactionState: t.meta.state.String(),
					})
				}
			}
		})
	}
	slices.SortFunc(resp.TransactionStates, func(a, b kmsg.ListTransactionsResponseTransactionState) int {
		return cmp.Compare(a.TransactionalID, b.TransactionalID)
	})
	return resp
}

func (t *txn) listed(req *kmsg.ListTransactionsRequest, pattern *regexp.Regexp, now time.Time) bool {
	m := &t.meta
	switch {
	case !t.stored:
		return false
	case len(req.StateFilters) > 0 && !slices.Contains(req.StateFilters, m.state.String()):
		return false
	case len(req.ProducerIDFilters) > 0 && !slices.Contains(req.ProducerIDFilters, m.id):
		return false
	case req.Version >= 1 && req.DurationFilterMillis >= 0 && now.UnixMilli()-m.startedMs <= req.DurationFilterMillis:
		return false
	}
	return pattern == nil || pattern.MatchString(t.id)
}
