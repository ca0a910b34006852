package api

import (
	"cmp"
	"context"
	"net"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/wire"
)

// ApiVersions (18): which keys and versions this node answers.
//
//	v1 throttle time; v3 client software name and version, tagged features; v4 allows a lowest feature version of 0
//
// The response header never has a tag section, whatever the version: the client does not know yet what we speak. A version we do
// not know is answered in the layout of v0 with UNSUPPORTED_VERSION and the list, from which clients pick the version to try next.
// One feature is finalized: transaction.version, by which clients choose version 2 of transactions (KIP-890).
// Left out on purpose: v5 (routing check).
const keyAPIVersions = 18

func (h *Handler) apiVersionsKey() key {
	return key{num: keyAPIVersions, min: 0, max: 4, serve: h.apiVersions}
}

const (
	txnFeature = "transaction.version"
	txnVersion = 2
)

// softwareName is what KIP-511 allows for name and version of client software.
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func (h *Handler) apiVersions(ctx context.Context, req *wire.Request) wire.Reply {
	reply := decoded(h, func(_ context.Context, _ *wire.Request, q *kmsg.ApiVersionsRequest) *kmsg.ApiVersionsResponse {
		r := kmsg.NewPtrApiVersionsResponse()
		if q.Version >= 3 && !(softwareName.MatchString(q.ClientSoftwareName) && softwareName.MatchString(q.ClientSoftwareVersion)) {
			r.ErrorCode = kerr.InvalidRequest.Code
			return r
		}
		r.ApiKeys = h.advertised()
		r.SupportedFeatures = []kmsg.ApiVersionsResponseSupportedFeature{{Name: txnFeature, MinVersion: 1, MaxVersion: txnVersion}}
		r.FinalizedFeatures = []kmsg.ApiVersionsResponseFinalizedFeature{{Name: txnFeature, MinVersionLevel: txnVersion, MaxVersionLevel: txnVersion}}
		r.FinalizedFeaturesEpoch = 1 // it rises when a level changes, and none does
		return r
	})(ctx, req)
	reply.PlainHeader = true
	return reply
}

func (h *Handler) apiVersionsFallback() wire.Reply {
	r := kmsg.NewPtrApiVersionsResponse()
	r.ErrorCode = kerr.UnsupportedVersion.Code
	r.ApiKeys = h.advertised()
	r.SetVersion(0)
	return wire.Reply{Body: net.Buffers{r.AppendTo(nil)}, PlainHeader: true}
}

func (h *Handler) advertised() []kmsg.ApiVersionsResponseApiKey {
	list := make([]kmsg.ApiVersionsResponseApiKey, 0, len(h.keys))
	for _, k := range h.keys {
		a := kmsg.NewApiVersionsResponseApiKey()
		a.ApiKey, a.MinVersion, a.MaxVersion = k.num, k.min, k.max
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b kmsg.ApiVersionsResponseApiKey) int { return cmp.Compare(a.ApiKey, b.ApiKey) })
	return list
}
