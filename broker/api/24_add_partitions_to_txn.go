package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// AddPartitionsToTxn (24): make partitions part of a transaction before records are sent to them.
//
//	v2 PRODUCER_FENCED; v3 tagged fields; v4 several transactions at once, or only the question whether partitions are in one: between
//	brokers; v5 TRANSACTION_ABORTABLE
//
// librdkafka has version 0 alone, franz-go stays with 3. Clients of transactions version 2 do without: Produce adds (00_produce.go).
func (h *Handler) addPartitionsToTxnKey() key {
	return key{num: 24, min: 0, max: 5, serve: decoded(h, h.addPartitionsToTxn)}
}

func (h *Handler) addPartitionsToTxn(ctx context.Context, req *wire.Request, q *kmsg.AddPartitionsToTxnRequest) *kmsg.AddPartitionsToTxnResponse {
	refused := h.authorize(req, acl.TransactionalID, q.TransactionalID, acl.Write)
	if q.Version >= 4 {
		refused = h.authorizeCluster(req, acl.ClusterAction)
	}
	return h.txns.AddPartitionsToTxn(ctx, req.Client.Conn, q, func(topic string) int16 {
		if refused != nil {
			return code(refused)
		}
		return code(h.authorize(req, acl.Topic, topic, acl.Write))
	})
}
