package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// InitProducerId (22): an id for an idempotent producer, or the producer of a transactional id under a fresh epoch.
//
//	v2 tagged fields; v3 the id and epoch that the producer has (KIP-360); v4 PRODUCER_FENCED; v5 error codes of transactions
//
// Without a transactional id every request gets a fresh id with epoch 0, as in Kafka, also when it names the id it had.
// It is also how an administrator fences the producers of a transactional id.
func (h *Handler) initProducerIDKey() key {
	return key{num: 22, min: 0, max: 5, serve: decoded(h, h.initProducerID)}
}

func (h *Handler) initProducerID(ctx context.Context, req *wire.Request, q *kmsg.InitProducerIDRequest) *kmsg.InitProducerIDResponse {
	if err := h.authorizeProducer(req, q.TransactionalID); err != nil {
		r := kmsg.NewPtrInitProducerIDResponse()
		r.ProducerID, r.ProducerEpoch, r.ErrorCode = -1, -1, code(err)
		return r
	}
	return h.txns.InitProducerID(ctx, q)
}

// authorizeProducer lets who may write somewhere have an id, and who may use a transactional id have that.
func (h *Handler) authorizeProducer(req *wire.Request, transactionalID *string) error {
	switch {
	case transactionalID != nil:
		return h.authorize(req, acl.TransactionalID, *transactionalID, acl.Write)
	case h.mayWriteSomewhere(req):
		return nil
	}
	return h.authorizeCluster(req, acl.IdempotentWrite)
}
