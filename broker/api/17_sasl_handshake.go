package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/wire"
)

// SaslHandshake (17): which mechanism the log-in uses.
//
//	v0 the messages of the mechanism follow as bare frames; v1 they follow in SaslAuthenticate
//
// Answers which mechanisms there are. PLAIN is one only over TLS and on loopback. On a listener without log-in, while a log-in is under way,
// and after one that holds for as long as the connection, it is ILLEGAL_SASL_STATE.
// Left out on purpose: GSSAPI, OAUTHBEARER, delegation tokens.
const keySASLHandshake = 17

func (h *Handler) saslHandshakeKey() key {
	return key{num: keySASLHandshake, min: 0, max: 1, serve: h.saslHandshake}
}

func (h *Handler) saslHandshake(ctx context.Context, req *wire.Request) wire.Reply {
	failed := false
	reply := decoded(h, func(_ context.Context, req *wire.Request, q *kmsg.SASLHandshakeRequest) *kmsg.SASLHandshakeResponse {
		r := kmsg.NewPtrSASLHandshakeResponse()
		r.SupportedMechanisms = mechanisms(req)
		err := h.beginLogin(req, q)
		r.ErrorCode, failed = code(err), err != nil
		return r
	})(ctx, req)
	reply.Close = failed && req.Client.Principal == ""
	return reply
}

func (h *Handler) beginLogin(req *wire.Request, q *kmsg.SASLHandshakeRequest) error {
	known, _ := req.Client.Session.State.(*login)
	again := known != nil && known.user != ""
	switch {
	case req.Client.Principal != "" && !again, again && (h.cfg.Access.Reauthenticate == 0 || q.Version == 0):
		return kerr.IllegalSaslState
	case known != nil && known.mechanism != "":
		return kerr.IllegalSaslState
	case !slices.Contains(mechanisms(req), q.Mechanism):
		return kerr.UnsupportedSaslMechanism
	}
	l := loginOf(req)
	l.mechanism, l.scram = q.Mechanism, &scram{mechanism: q.Mechanism}
	req.Client.Session.Raw = q.Version == 0
	return nil
}
