package api

import (
	"cmp"
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// AddOffsetsToTxn (25): make the offsets of a group part of a transaction before they are committed in it.
//
//	v2 PRODUCER_FENCED; v3 tagged fields; v4 TRANSACTION_ABORTABLE
//
// Makes __consumer_offsets when it is missing. Clients of transactions version 2 do without: TxnOffsetCommit adds.
func (h *Handler) addOffsetsToTxnKey() key {
	return key{num: 25, min: 0, max: 4, serve: decoded(h, h.addOffsetsToTxn)}
}

func (h *Handler) addOffsetsToTxn(ctx context.Context, req *wire.Request, q *kmsg.AddOffsetsToTxnRequest) *kmsg.AddOffsetsToTxnResponse {
	r := kmsg.NewPtrAddOffsetsToTxnResponse()
	if q.Group == "" {
		r.ErrorCode = kerr.InvalidGroupID.Code
		return r
	}
	if err := cmp.Or(h.authorize(req, acl.TransactionalID, q.TransactionalID, acl.Write), h.authorize(req, acl.Group, q.Group, acl.Read)); err != nil {
		r.ErrorCode = code(err)
		return r
	}
	if _, err := h.groupReady(ctx, q.Group); err != nil {
		r.ErrorCode = code(err)
		return r
	}
	return h.txns.AddOffsetsToTxn(ctx, req.Client.Conn, q)
}
