package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/wire"
)

// OffsetFetch (9): the offsets of a group.
//
//	v1 offsets kept by the broker; v2 null asks for all topics; v5 leader epochs; v6 tagged fields; v7 only stable ones; v8 several
//	groups at once; v9 KIP-848; v10 topic ids
//
// Without transactions every offset is stable.
func (h *Handler) offsetFetchKey() key {
	return key{num: 9, min: 0, max: 10, serve: decoded(h.offsetFetch)}
}

func (h *Handler) offsetFetch(ctx context.Context, _ *wire.Request, q *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	return h.groups.OffsetFetch(ctx, q)
}
