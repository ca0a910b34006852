package raftfsm

import (
	"context"
	"sync"
)

// outcomesKept bounds the outcomes that are remembered for whoever asked another node for a change. A guess: more than are ever under way.
const outcomesKept = 1024

// outcomes are what the newest entries came to, by index. The zero value is ready.
type outcomes struct {
	mu    sync.Mutex
	ring  [outcomesKept]indexed
	last  uint64        // index of the newest entry
	lost  uint64        // what was applied up to here may have come in a snapshot, without outcomes
	moved chan struct{} // when somebody waits: closed at the next change
}

type indexed struct {
	index uint64
	outcome
}

func (o *outcomes) put(index uint64, out outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ring[index%outcomesKept] = indexed{index, out}
	o.last = index
	o.wake()
}

// lose notes that a snapshot has taken the place of entries. Whoever waits for one of those never hears of it.
func (o *outcomes) lose() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost++
	o.wake()
}

func (o *outcomes) wake() {
	if o.moved != nil {
		close(o.moved)
		o.moved = nil
	}
}

// wait returns what the entry at index came to, once it is applied here. known is false when ctx ends first or the outcome is lost.
func (o *outcomes) wait(ctx context.Context, index uint64) (out outcome, known bool) {
	o.mu.Lock()
	lost := o.lost
	for {
		one := o.ring[index%outcomesKept]
		if one.index == index {
			o.mu.Unlock()
			return one.outcome, true
		}
		if o.last > index || o.lost != lost {
			o.mu.Unlock()
			return out, false
		}
		if o.moved == nil {
			o.moved = make(chan struct{})
		}
		moved := o.moved
		o.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return out, false
		}
		o.mu.Lock()
	}
}
