package peer

import (
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/transport"
)

func unixNano(ns int64) time.Time { return time.Unix(0, ns) }

// serve answers a message of a peer to one of the groups; done ends the wait for the replica.
func (n *groups) serve(from raft.ServerID, k kind, id transport.GroupID, body []byte, done <-chan struct{}) ([]byte, error) {
	if k == kindHeartbeats {
		return n.serveBeats(from, body, done)
	}
	g := n.find(id)
	if g == nil {
		return nil, fmt.Errorf("raft group %x is not open here", id)
	}
	switch k {
	case kindProbe:
		return nil, nil
	case kindAppend:
		q, err := parseAppendEntries(body)
		if err != nil {
			return nil, err
		}
		q.RPCHeader = header(from)
		q.Leader = q.Addr
		r, err := g.deliver(q, nil, done)
		return encoded(r, err, appendEntriesResponse)
	case kindVote:
		q, err := parseVote(body)
		if err != nil {
			return nil, err
		}
		q.RPCHeader = header(from)
		q.Candidate = q.Addr
		r, err := g.deliver(q, nil, done)
		return encoded(r, err, func(p *raft.RequestVoteResponse) []byte { return granted(p.Term, p.Granted) })
	case kindPreVote:
		q, err := parsePreVote(body)
		if err != nil {
			return nil, err
		}
		q.RPCHeader = header(from)
		r, err := g.deliver(q, nil, done)
		return encoded(r, err, func(p *raft.RequestPreVoteResponse) []byte { return granted(p.Term, p.Granted) })
	case kindTimeoutNow:
		_, err := g.deliver(&raft.TimeoutNowRequest{RPCHeader: header(from)}, nil, done)
		return nil, err
	}
	return nil, fmt.Errorf("%w: kind %d", errMessage, k)
}

// serveSnapshot hands a snapshot to its group, which reads data.
func (n *groups) serveSnapshot(from raft.ServerID, head []byte, data io.Reader, done <-chan struct{}) ([]byte, error) {
	id, q, err := parseSnapshot(head)
	if err != nil {
		return nil, err
	}
	g := n.find(id)
	if g == nil {
		return nil, fmt.Errorf("raft group %x is not open here", id)
	}
	q.RPCHeader = header(from)
	q.Leader = q.Addr
	r, err := g.deliver(q, io.LimitReader(data, q.Size), done)
	return encoded(r, err, func(p *raft.InstallSnapshotResponse) []byte { return granted(p.Term, p.Success) })
}

func encoded[P any](r any, err error, encode func(P) []byte) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	p, ok := r.(P)
	if !ok {
		return nil, fmt.Errorf("raft answered with a %T", r)
	}
	return encode(p), nil
}

// serveBeats passes the heartbeats of many groups on. A replica whose vote can't be stored ends the goroutine that calls it, so they have
// one of their own; what it did not come to is answered as not known.
func (n *groups) serveBeats(from raft.ServerID, body []byte, done <-chan struct{}) ([]byte, error) {
	list, err := parseBeats(body)
	if err != nil {
		return nil, err
	}
	answers := make([]beatAnswer, len(list))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i, h := range list {
			answers[i] = n.beat(from, h)
		}
	}()
	select {
	case <-ended:
		return appendBeatAnswers(answers), nil
	case <-done:
		return nil, errClosed
	}
}

func (n *groups) beat(from raft.ServerID, h beat) (a beatAnswer) {
	g := n.find(h.id)
	if g == nil {
		return a
	}
	handle := g.beats.Load()
	if handle == nil {
		return a
	}
	answer := make(chan raft.RPCResponse, 1)
	(*handle)(raft.RPC{
		Command:  &raft.AppendEntriesRequest{RPCHeader: header(from), Term: h.term, Leader: []byte(from)},
		RespChan: answer,
	})
	select {
	case r := <-answer: // given before the handler returns
		if p, ok := r.Response.(*raft.AppendEntriesResponse); ok && r.Error == nil {
			return beatAnswer{known: true, resp: *p}
		}
	default:
	}
	return a
}
