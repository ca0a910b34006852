package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// ListTransactions (66): the transactional ids that this node coordinates.
//
//	v1 those whose transaction has been running for some time; v2 a pattern for the id
func (h *Handler) listTransactionsKey() key {
	return key{num: 66, min: 0, max: 2, serve: decoded(h, h.listTransactions)}
}

func (h *Handler) listTransactions(ctx context.Context, req *wire.Request, q *kmsg.ListTransactionsRequest) *kmsg.ListTransactionsResponse {
	r := h.txns.ListTransactions(ctx, q)
	r.TransactionStates = slices.DeleteFunc(r.TransactionStates, func(t kmsg.ListTransactionsResponseTransactionState) bool {
		return !h.may(req, acl.TransactionalID, t.TransactionalID, acl.Describe)
	})
	return r
}
