package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/wire"
)

// OffsetCommit (8): keep offsets for a group.
//
//	v1 generation and member; v2 retention time (until v4); v6 leader epochs; v7 static members; v8 tagged fields; v9 KIP-848; v10 topic ids
//
// librdkafka looks for versions 1 and 2 before it commits at all.
func (h *Handler) offsetCommitKey() key {
	return key{num: 8, min: 0, max: 10, serve: decoded(h.offsetCommit)}
}

func (h *Handler) offsetCommit(ctx context.Context, _ *wire.Request, q *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitResponse {
	return h.groups.OffsetCommit(ctx, q)
}
