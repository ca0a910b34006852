package led

import "context"

// Waiter is a parked request. Its answer is given at most once and never blocks.
type Waiter[T any] struct{ ch chan T }

// NewWaiter makes a waiter without an answer.
func NewWaiter[T any]() *Waiter[T] { return &Waiter[T]{ch: make(chan T, 1)} }

// Answer gives the answer.
func (w *Waiter[T]) Answer(v T) {
	select {
	case w.ch <- v:
	default:
		panic("BUG: a parked request was answered twice")
	}
}

// Await returns the answer. answered is false when ctx ends first, or nothing was asked because the shard was gone.
func (w *Waiter[T]) Await(ctx context.Context, asked bool) (res T, answered bool) {
	if !asked {
		return res, false
	}
	select {
	case res = <-w.ch: // even when ctx has ended meanwhile
		return res, true
	default:
	}
	select {
	case res = <-w.ch:
		return res, true
	case <-ctx.Done():
		return res, false
	}
}
