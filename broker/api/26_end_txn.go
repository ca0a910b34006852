package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// EndTxn (26): commit or abort a transaction. Answered when the outcome is stored; its markers follow.
//
//	v2 PRODUCER_FENCED; v3 tagged fields; v4 TRANSACTION_ABORTABLE; v5 the producer goes on with the id and epoch in the answer (KIP-890)
//
// A repeated request is answered as the first.
func (h *Handler) endTxnKey() key {
	return key{num: 26, min: 0, max: 5, serve: decoded(h, h.endTxn)}
}

func (h *Handler) endTxn(ctx context.Context, req *wire.Request, q *kmsg.EndTxnRequest) *kmsg.EndTxnResponse {
	if err := h.authorize(req, acl.TransactionalID, q.TransactionalID, acl.Write); err != nil {
		r := kmsg.NewPtrEndTxnResponse()
		r.ErrorCode = code(err)
		return r
	}
	return h.txns.EndTxn(ctx, req.Client.Conn, q)
}
