package api

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/broker/txn"
	"github.com/weir-analytics/weir/broker/wire"
)

// FindCoordinator (10): the broker that coordinates a group or a transactional id.
//
//	v1 the kind of key, error text; v3 tagged fields; v4 several keys at once; v5 error codes of transactions; v6 share groups
//
// Makes __consumer_offsets or __transaction_state when the first is looked for, and answers once its partition serves.
// Left out on purpose: share groups, which are refused with a text.
func (h *Handler) findCoordinatorKey() key {
	return key{num: 10, min: 0, max: 6, serve: decoded(h, h.findCoordinator)}
}

const (
	coordinatorOfGroup       = 0
	coordinatorOfTransaction = 1

	// coordinatorWait is how long a partition of a coordinator may take to open. A guess: it takes milliseconds.
	coordinatorWait = 3 * time.Second
)

func (h *Handler) findCoordinator(ctx context.Context, req *wire.Request, q *kmsg.FindCoordinatorRequest) *kmsg.FindCoordinatorResponse {
	r := kmsg.NewPtrFindCoordinatorResponse()
	if q.Version >= 4 {
		for _, name := range q.CoordinatorKeys {
			r.Coordinators = append(r.Coordinators, h.coordinator(ctx, req, q.CoordinatorType, name))
		}
		return r
	}
	c := h.coordinator(ctx, req, q.CoordinatorType, q.CoordinatorKey)
	r.ErrorCode, r.ErrorMessage, r.NodeID, r.Host, r.Port = c.ErrorCode, c.ErrorMessage, c.NodeID, c.Host, c.Port
	return r
}

func (h *Handler) coordinator(ctx context.Context, req *wire.Request, kind int8, name string) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.NodeID, c.Port = name, -1, -1
	var err error
	var leader int32
	switch kind {
	case coordinatorOfGroup:
		if err = h.authorize(req, acl.Group, name, acl.Describe); err == nil {
			leader, err = h.groupReady(ctx, name)
		}
	case coordinatorOfTransaction:
		if err = h.authorize(req, acl.TransactionalID, name, acl.Describe); err == nil {
			leader, err = h.transactionReady(ctx, name)
		}
	default:
		err = refuse(kerr.InvalidRequest, "only groups and transactional ids have coordinators here")
	}
	b, registered := h.backend.View().Broker(leader)
	if err == nil && !registered {
		err = kerr.CoordinatorNotAvailable
	}
	if err != nil {
		c.ErrorCode, c.ErrorMessage = code(err), message(err)
		return c
	}
	c.NodeID = b.ID
	c.Host, c.Port = b.Address(req.Client.Listener)
	return c
}

// groupReady waits until the group's partition of the offsets topic serves, and returns where.
func (h *Handler) groupReady(ctx context.Context, name string) (int32, error) {
	return h.ready(ctx, name, h.backend.OffsetsTopic, group.PartitionOf)
}

// transactionReady waits until the transactional id's partition of the transaction topic serves, and returns where.
func (h *Handler) transactionReady(ctx context.Context, id string) (int32, error) {
	return h.ready(ctx, id, h.backend.TransactionsTopic, txn.PartitionOf)
}

func (h *Handler) ready(ctx context.Context, name string, open func(context.Context, func(int32) int32) (int32, error), partitionOf func(string, int32) int32) (int32, error) {
	ctx, cancel := context.WithTimeout(ctx, coordinatorWait)
	defer cancel()
	leader, err := open(ctx, func(count int32) int32 { return partitionOf(name, count) })
	if err != nil {
		level := slog.LevelWarn
		if errors.Is(err, context.Canceled) { // the client did not wait, or the node stops
			level = slog.LevelDebug
		}
		h.log.Log(ctx, level, "open the partition of a coordinator", "key", name, "err", err)
		return -1, refuse(kerr.CoordinatorNotAvailable, err.Error())
	}
	return leader, nil
}
