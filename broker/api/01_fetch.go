package api

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/acl"
	"github.com/weir-analytics/weir/broker/wire"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// Fetch (1): read record batches, waiting for them if need be.
//
//	v4 isolation level, aborted transactions; v5 log start; v7 sessions; v9 leader epochs; v11 rack, preferred replica; v12 tagged
//	fields, diverging epochs; v13 topic ids; v15 replica state; v16 node endpoints; v17, v18 for followers
//
// v0-3 would need older record formats and are not offered. Answered when min_bytes are there over all partitions, when max_wait has
// passed, or at once when a partition is in error. Only an error that stays, a partition whose disk has failed or records that are
// damaged, takes up to half a second: most clients ask again at once. At least one whole batch comes back even when larger than
// max_bytes; no batch is cut, and those before damaged records are served. Sessions: see type sessions.
// One over its quota is answered at once, with nothing: what was read for it is withheld, and its session is where it was.
// read_committed gets what is below the last stable offset, and beside it the aborted transactions whose records it has to leave out.
// Left out on purpose: fetch from followers, diverging epochs (clients ask OffsetForLeaderEpoch).
func (h *Handler) fetchKey() key {
	return key{num: 1, min: 4, max: 18, serve: h.fetch}
}

// readCommitted is the isolation level that leaves out open and aborted transactions.
const readCommitted = 1

// longestPoll bounds max_wait. A guess: far above the 5 s that clients use, and a connection that is gone is noticed anyway.
const longestPoll = 5 * time.Minute

// brokenPace is how long an error that stays is held back.
const brokenPace = 500 * time.Millisecond

func (h *Handler) fetch(ctx context.Context, req *wire.Request) wire.Reply {
	timing := h.time(req)
	defer timing.stop()
	q := kmsg.NewPtrFetchRequest()
	if err := decode(q, req); err != nil {
		return wire.Reply{Err: err}
	}
	x, err := h.sessions.begin(q, h.cfg.Now())
	if err != nil {
		return refuseFetch(q, err)
	}
	poll := h.newPoll(req, q, x.wants)
	handed := false
	defer func() {
		if !handed { // refused, or a panic below
			poll.release()
		}
	}()
	wait := h.charge(req, state.QuotaFetch, 0)
	if wait == 0 {
		poll.limit(h.left(req, state.QuotaFetch, poll.room))
		h.wait(ctx, poll, time.Duration(max(q.MaxWaitMillis, 0))*time.Millisecond)
		poll.findAborted()
		if wait = timing.charge(); wait == 0 {
			wait = h.take(req, state.QuotaFetch, poll.bytes)
		}
	}
	id, err := h.told(x, poll, wait > 0)
	if err != nil {
		return refuseFetch(q, err)
	}
	reply := wire.Reply{Body: encodeFetch(q, id, poll.parts), Done: poll.release}
	sayThrottled(reply.Body, wait)
	handed = true
	return reply
}

// told notes what the answer tells. That of a client over its quota tells nothing: what was read is withheld, and the session stays as it was.
func (h *Handler) told(x *exchange, poll *poll, withheld bool) (session int32, err error) {
	if withheld {
		for i := range poll.parts {
			poll.parts[i].unchanged = true
		}
		return h.sessions.untold(x)
	}
	session, err = h.sessions.finish(x, poll.parts, h.cfg.Now())
	if err == nil {
		h.metrics.fetched(poll)
	}
	return session, err
}

// refuseFetch is the answer to a whole request. Only sessions, from v7 on, can be wrong as a whole.
func refuseFetch(q *kmsg.FetchRequest, err error) wire.Reply {
	r := kmsg.NewPtrFetchResponse()
	r.ErrorCode = code(err)
	return encode(r, q.Version)
}

// wait fills poll until it is worth an answer.
func (h *Handler) wait(ctx context.Context, poll *poll, limit time.Duration) {
	if poll.fill(ctx) || limit == 0 {
		return
	}
	wake := make(chan struct{}, 1)
	for _, p := range poll.parts {
		if p.source != nil {
			defer p.source.Watch(wake)()
		}
	}
	began := time.Now()
	timer := time.NewTimer(min(limit, longestPoll))
	defer timer.Stop()
	for !poll.fill(ctx) { // first once more: records may have come before Watch
		if poll.broken {
			timer.Reset(min(limit, brokenPace) - time.Since(began))
		}
		select {
		case <-wake:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// newPoll resolves what a request asks for.
func (h *Handler) newPoll(req *wire.Request, q *kmsg.FetchRequest, wants []fetching) *poll {
	v := h.backend.View()
	p := &poll{
		parts:     make([]polled, len(wants)),
		memory:    h.memory,
		room:      min(int(q.MaxBytes), h.cfg.MaxFetchBytes),
		minBytes:  min(int(q.MinBytes), int(q.MaxBytes), h.cfg.MaxFetchBytes),
		committed: q.IsolationLevel == readCommitted,
	}
	if q.MaxBytes <= 0 {
		p.room, p.minBytes = 0, min(int(q.MinBytes), 1)
	}
	for i, w := range wants {
		topic, unknown := v.ByName[w.key.topic], kerr.UnknownTopicOrPartition
		if q.Version >= 13 {
			topic, unknown = v.ByID[w.key.id], kerr.UnknownTopicID
		}
		part := &p.parts[i]
		*part = polled{
			key: w.key, epoch: w.epoch, start: w.offset, next: w.offset, room: int(w.maxBytes),
			highWatermark: -1, lastStable: -1, logStart: -1,
		}
		if part.err = h.denied(req, w.key.topic, topic, acl.Read); part.err != nil {
			continue
		}
		if source, ok := topic.Partition(w.key.number); ok {
			part.source = source
		} else if part.err = unknown; topic != nil {
			part.err = kerr.UnknownTopicOrPartition
		}
	}
	return p
}

// checkEpoch compares the leader epoch a client believes in with ours, as KIP-320 has it; -1 skips the check.
func checkEpoch(p Partition, believed int32) (epoch int32, err error) {
	_, epoch, serving := p.Leader()
	switch {
	case !serving:
		return epoch, notServing(p)
	case believed == -1 || believed == epoch:
		return epoch, nil
	case believed < epoch:
		return epoch, kerr.FencedLeaderEpoch
	}
	return epoch, kerr.UnknownLeaderEpoch
}

// notServing is the error of a partition that does not serve. The retriable one makes clients ask for metadata and come back.
func notServing(p Partition) error {
	switch p.Phase() {
	case Failed:
		return kerr.KafkaStorageError
	case Gone:
		return kerr.UnknownTopicOrPartition
	case Closed:
		p.Open()
	}
	return kerr.NotLeaderForPartition
}
