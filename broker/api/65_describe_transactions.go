package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// DescribeTransactions (65): state, producer and partitions of transactional ids.
func (h *Handler) describeTransactionsKey() key {
	return key{num: 65, min: 0, max: 0, serve: decoded(h, h.describeTransactions)}
}

func (h *Handler) describeTransactions(ctx context.Context, req *wire.Request, q *kmsg.DescribeTransactionsRequest) *kmsg.DescribeTransactionsResponse {
	r := h.txns.DescribeTransactions(ctx, q)
	for i := range r.TransactionStates {
		d := &r.TransactionStates[i]
		if err := h.authorize(req, acl.TransactionalID, d.TransactionalID, acl.Describe); err != nil {
			*d = kmsg.DescribeTransactionsResponseTransactionState{TransactionalID: d.TransactionalID, ErrorCode: code(err)}
		}
		d.Topics = slices.DeleteFunc(d.Topics, func(t kmsg.DescribeTransactionsResponseTransactionStateTopic) bool {
			return !h.may(req, acl.Topic, t.Topic, acl.Describe)
		})
	}
	return r
}
