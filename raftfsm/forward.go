package raftfsm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/transport"
)

// errNoLeader is returned by a node that is asked what only the leader knows.
var errNoLeader = errors.New("this node does not lead the controller")

func serverAddress(id string) raft.ServerAddress { return raft.ServerAddress(id) }

// leader returns the server id of the leader as this node knows it, "" when it knows none.
func (c *Controller) leader() string {
	_, id := c.raft.LeaderWithID()
	return string(id)
}

// Leader returns the number of the node that leads the controller, -1 when this node knows none.
func (c *Controller) Leader() int32 {
	if n, ok := c.State().NodeOf(c.leader()); ok {
		return n.ID
	}
	if c.Leading() {
		return c.id.NodeID
	}
	return -1
}

// askLeader asks a service of the leader, again while there is none that answers, until ctx ends. It asks once more only after errors that say
// that nothing was done.
func (c *Controller) askLeader(ctx context.Context, s transport.Service, body []byte) ([]byte, error) {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		var err error = errNoLeader
		if to := c.leader(); to != "" && to != c.id.ServerID {
			var b []byte
			if b, err = c.peers.Call(ctx, to, s, body); err == nil {
				return b, nil
			}
			if !errors.Is(err, transport.ErrNotSent) && !errors.Is(err, transport.ErrRefused) {
				return nil, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
			}
		} else if to == c.id.ServerID {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, errLeaderMoved)
		}
		select {
		case <-time.After(wait):
		case <-c.closed:
			return nil, ErrUnavailable
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
}

// errLeaderMoved says that a change was not made because another node leads than was thought: it is tried again there.
var errLeaderMoved = errors.New("another node leads the controller now")

// forwardWait bounds a change that is handed to the leader, when the caller's context has no deadline.
const forwardWait = 15 * time.Second

// forward has the leader commit a command and waits until it is applied here.
func (c *Controller) forward(ctx context.Context, entry []byte) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, forwardWait)
	defer cancel()
	b, err := c.askLeader(ctx, transport.ServiceChange, entry)
	if err != nil {
		return nil, err
	}
	if len(b) != 8 {
		return nil, fmt.Errorf("%w: the leader answered with %d bytes", ErrOutcomeUnknown, len(b))
	}
	out, known := c.fsm.done.wait(ctx, binary.BigEndian.Uint64(b))
	if !known {
		return nil, fmt.Errorf("%w: the change is agreed on and has not come here yet", ErrOutcomeUnknown)
	}
	return out.result, out.err
}

// serveChange commits a command for another node and answers with its index. An error says that it was not committed, and is not given when
// that is not known.
func (c *Controller) serveChange(ctx context.Context, _ string, entry []byte) ([]byte, error) {
	if !c.Leading() {
		return nil, errNoLeader
	}
	future := c.raft.Apply(entry, enqueueWait)
	if err := c.wait(ctx, future); err != nil {
		if errors.Is(outcomeOf(err), ErrUnavailable) {
			return nil, err
		}
		<-ctx.Done() // the asker hears nothing, and so that the outcome is unknown
		return nil, err
	}
	return binary.BigEndian.AppendUint64(nil, future.Index()), nil
}

// serveVersion says how far the state of the leader is, once it is sure that it leads.
func (c *Controller) serveVersion(ctx context.Context, _ string, _ []byte) ([]byte, error) {
	if !c.Leading() {
		return nil, errNoLeader
	}
	if err := c.wait(ctx, c.raft.Barrier(enqueueWait)); err != nil {
		return nil, err
	}
	return binary.BigEndian.AppendUint64(nil, c.State().Version), nil
}

// catchUp waits until this node has what the leader had when it was asked.
func (c *Controller) catchUp(ctx context.Context) error {
	b, err := c.askLeader(ctx, transport.ServiceVersion, nil)
	if err != nil {
		return err
	}
	if len(b) != 8 {
		return fmt.Errorf("the leader answered with %d bytes", len(b))
	}
	version := binary.BigEndian.Uint64(b)
	for {
		changed := c.Changed()
		if c.State().Version >= version {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.closed:
			return ErrUnavailable
		}
	}
}
