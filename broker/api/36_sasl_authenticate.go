package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/wire"
)

// SaslAuthenticate (36): one message of the mechanism that SaslHandshake chose.
//
//	v1 how long the log-in holds, after which it is to be repeated on the same connection (KIP-368); v2 tagged fields
//
// The answer to a log-in that fails is held back, for longer after each one from the same address, and is the last on its connection. It
// does not say what was wrong. A log-in that is repeated must be the same user's.
const keySASLAuthenticate = 36

func (h *Handler) saslAuthenticateKey() key {
	return key{num: keySASLAuthenticate, min: 0, max: 2, serve: h.saslAuthenticate}
}

func (h *Handler) saslAuthenticate(ctx context.Context, req *wire.Request) wire.Reply {
	var failed error
	var held time.Duration
	reply := decoded(h, func(ctx context.Context, req *wire.Request, q *kmsg.SASLAuthenticateRequest) *kmsg.SASLAuthenticateResponse {
		r := kmsg.NewPtrSASLAuthenticateResponse()
		l := loginOf(req)
		if l.mechanism == "" {
			failed = kerr.IllegalSaslState
			r.ErrorCode, r.ErrorMessage = code(failed), message(errors.New("SaslHandshake comes first"))
			return r
		}
		mechanism := l.mechanism
		answer, done, err := h.step(ctx, req, l, q.SASLAuthBytes)
		if failed = err; err != nil {
			held = h.loginFailed(req, mechanism, err)
			r.ErrorCode, r.ErrorMessage = kerr.SaslAuthenticationFailed.Code, message(errLogin)
			return r
		}
		r.SASLAuthBytes = answer
		if r.SASLAuthBytes == nil {
			r.SASLAuthBytes = []byte{}
		}
		if done {
			h.logins.total.WithLabelValues(mechanism, "ok").Inc()
			r.SessionLifetimeMillis = h.cfg.Access.Reauthenticate.Milliseconds()
		}
		return r
	})(ctx, req)
	if failed == nil || reply.Err != nil {
		return reply
	}
	return lateAndLast(ctx, reply, held)
}

// lateAndLast holds an answer back and ends the connection with it.
func lateAndLast(ctx context.Context, reply wire.Reply, held time.Duration) wire.Reply {
	body := reply.Body
	reply.Wait = func() (net.Buffers, error) {
		timer := time.NewTimer(held)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return body, nil
	}
	reply.Close = true
	return reply
}

// saslRaw is one message of a mechanism without a header around it, as old clients send it. A log-in that fails is answered by closing.
func (h *Handler) saslRaw(ctx context.Context, req *wire.Request) wire.Reply {
	l := loginOf(req)
	mechanism := l.mechanism
	answer, done, err := h.step(ctx, req, l, req.Body)
	if err != nil {
		reply := lateAndLast(ctx, wire.Reply{}, h.loginFailed(req, mechanism, err))
		wait := reply.Wait
		reply.Wait = func() (net.Buffers, error) {
			wait()
			return nil, fmt.Errorf("%w (%s)", errLogin, mechanism)
		}
		return reply
	}
	if done {
		h.logins.total.WithLabelValues(mechanism, "ok").Inc()
	}
	return wire.Reply{Body: net.Buffers{answer}}
}

// loginFailed counts and tells of a log-in that failed, and returns how long its answer is held back.
func (h *Handler) loginFailed(req *wire.Request, mechanism string, err error) time.Duration {
	h.logins.total.WithLabelValues(mechanism, "failed").Inc()
	h.log.Info("Kafka log-in failed", "peer", req.Client.Host, "mechanism", mechanism, "err", err)
	return h.logins.delay(req.Client.Host, h.cfg.Now())
}
