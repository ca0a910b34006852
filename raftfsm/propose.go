package raftfsm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/command"
)

// enqueueWait is how long a command may wait for the group to take it, when the caller's context has no deadline. A healthy group takes
// one within a sync of the disk.
const enqueueWait = 10 * time.Second

// change proposes cmd once the controller is ready and returns its result.
func change[T any](ctx context.Context, c *Controller, cmd command.Command) (T, error) {
	var zero T
	select {
	case <-c.ready:
	case <-c.closed:
		return zero, ErrUnavailable
	case <-ctx.Done():
		return zero, fmt.Errorf("%w: %w", ErrUnavailable, context.Cause(ctx))
	}
	select {
	case <-c.closed:
		return zero, ErrUnavailable
	default:
	}
	result, err := c.propose(ctx, cmd)
	if err != nil {
		return zero, err
	}
	if result == nil {
		return zero, nil
	}
	typed, ok := result.(T)
	if !ok {
		panic(fmt.Sprintf("BUG: %T gave a %T", cmd, result))
	}
	return typed, nil
}

// propose commits cmd. A command that the present state refuses is not proposed at all.
func (c *Controller) propose(ctx context.Context, cmd command.Command) (result any, err error) {
	defer func() { c.metrics.count(err) }()
	now := c.cfg.Now()
	b, err := command.Append(nil, now, cmd)
	if err != nil {
		return nil, err
	}
	for began := time.Now(); ; {
		if c.node == nil || c.Leading() {
			result, err = c.commit(ctx, now, cmd, b)
		} else {
			result, err = c.forward(ctx, b)
		}
		if c.node == nil || !errors.Is(err, errLeaderMoved) || time.Since(began) > forwardWait {
			return result, err
		}
		select {
		case <-time.After(c.cfg.ElectionTimeout / 20):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// commit commits a command on the leader.
func (c *Controller) commit(ctx context.Context, now time.Time, cmd command.Command, entry []byte) (any, error) {
	if _, _, err := c.State().Apply(cmd, now); err != nil {
		return nil, err
	}
	wait := enqueueWait
	if deadline, ok := ctx.Deadline(); ok {
		wait = max(time.Until(deadline), time.Millisecond)
	}
	future := c.raft.Apply(entry, wait)
	if err := c.wait(ctx, future); err != nil {
		return nil, outcomeOf(err)
	}
	out := future.Response().(outcome)
	return out.result, out.err
}

// wait waits for a future of raft, or for ctx: the entry is on its way then and may still be committed.
func (c *Controller) wait(ctx context.Context, future raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- future.Error() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// outcomeOf sorts raft's errors into those that mean "certainly not done" and the rest.
func outcomeOf(err error) error {
	if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) {
		return fmt.Errorf("%w: %w: %w", ErrUnavailable, errLeaderMoved, err)
	}
	if errors.Is(err, raft.ErrEnqueueTimeout) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}
