package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
)

// InitProducerId (22): an id for an idempotent producer.
//
//	v2 tagged fields; v3 the id and epoch that the producer has (KIP-360); v4, v5 error codes of transactions
//
// Without a transactional id every request gets a fresh id with epoch 0, as in Kafka, also when it names the id it had.
// Left out on purpose: transactional ids. They are refused for good (TRANSACTIONAL_ID_AUTHORIZATION_FAILED is the one error that no
// client tries again), rather than taken without the guarantee.
func (h *Handler) initProducerIDKey() key {
	return key{num: 22, min: 0, max: 5, serve: decoded(h.initProducerID)}
}

const noTransactions = "this broker does not take part in transactions"

func (h *Handler) initProducerID(ctx context.Context, req *wire.Request, q *kmsg.InitProducerIDRequest) *kmsg.InitProducerIDResponse {
	r := kmsg.NewPtrInitProducerIDResponse()
	r.ProducerID, r.ProducerEpoch = -1, -1
	if err := h.authorizeProducer(req, q.TransactionalID); err != nil {
		r.ErrorCode = code(err)
		return r
	}
	switch {
	case q.TransactionalID != nil && *q.TransactionalID == "":
		r.ErrorCode = kerr.InvalidRequest.Code
		return r
	case q.TransactionalID != nil:
		r.ErrorCode = kerr.TransactionalIDAuthorizationFailed.Code
		return r
	}
	id, err := h.ids.take(ctx, h.backend.AllocateProducerIDs)
	if err != nil {
		h.log.Warn("no producer id", "err", err)
		r.ErrorCode = kerr.CoordinatorNotAvailable.Code // clients try again
		return r
	}
	r.ProducerID, r.ProducerEpoch = id, 0
	return r
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
