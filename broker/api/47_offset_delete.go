package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/wire"
)

// OffsetDelete (47): forget the offsets of a group for topics that it does not read.
func (h *Handler) offsetDeleteKey() key {
	return key{num: 47, min: 0, max: 0, serve: decoded(h.offsetDelete)}
}

func (h *Handler) offsetDelete(ctx context.Context, _ *wire.Request, q *kmsg.OffsetDeleteRequest) *kmsg.OffsetDeleteResponse {
	return h.groups.OffsetDelete(ctx, q)
}
