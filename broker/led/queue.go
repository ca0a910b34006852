package led

import "context"

// Queue holds what a shard has yet to write to its partition, in order. Its methods are called under the lock of the shard, but for Run.
type Queue[W any] struct {
	ready   chan struct{} // one token: the queue is not empty
	waiting []queued[W]
	bytes   int
	writing bool          // what Take returned is being appended
	idle    chan struct{} // when somebody waits: closed when nothing is queued or being appended
}

type queued[W any] struct {
	write W
	bytes int
	alone bool // can't be joined with others into one batch
}

// NewQueue makes an empty queue.
func NewQueue[W any]() Queue[W] { return Queue[W]{ready: make(chan struct{}, 1)} }

// Add puts a write of so many bytes at the end. One that is alone is not joined with others into one batch.
func (q *Queue[W]) Add(w W, bytes int, alone bool) {
	q.waiting = append(q.waiting, queued[W]{w, bytes, alone})
	q.bytes += bytes
	Signal(q.ready)
}

// Bytes is the size of what waits.
func (q *Queue[W]) Bytes() int { return q.bytes }

// Take removes from the queue what goes into one batch: up to maxBytes, but at least one write if there is one. That is being written
// until the next Take or Settled.
func (q *Queue[W]) Take(maxBytes int) []W {
	var batch []W
	bytes := 0
	for i, w := range q.waiting {
		if i > 0 && (bytes+w.bytes > maxBytes || q.waiting[0].alone || w.alone) {
			break
		}
		batch = append(batch, w.write)
		bytes += w.bytes
	}
	clear(q.waiting[:len(batch)])
	q.waiting = q.waiting[len(batch):]
	q.bytes -= bytes
	q.writing = len(batch) > 0
	return batch
}

// Settled notes that the outcome of what Take returned has been told to everybody.
func (q *Queue[W]) Settled() {
	q.writing = false
	q.noteIdle()
}

// Drop empties the queue and returns what was in it. What is being appended counts no longer.
func (q *Queue[W]) Drop() []W {
	dropped := make([]W, len(q.waiting))
	for i, w := range q.waiting {
		dropped[i] = w.write
	}
	q.waiting, q.bytes = nil, 0
	q.Settled()
	return dropped
}

// Written returns a channel that is closed once nothing is queued or being appended.
func (q *Queue[W]) Written() <-chan struct{} {
	if q.idle == nil {
		q.idle = make(chan struct{})
	}
	idle := q.idle
	q.noteIdle()
	return idle
}

func (q *Queue[W]) noteIdle() {
	if q.idle != nil && !q.writing && len(q.waiting) == 0 {
		close(q.idle)
		q.idle = nil
	}
}

// Run appends what is queued, one batch at a time, until ctx ends; what comes meanwhile goes into the next one. take is Take under the lock.
func (q *Queue[W]) Run(ctx context.Context, take func() []W, write func(batch []W)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.ready:
		}
		for batch := take(); len(batch) > 0; batch = take() {
			write(batch)
		}
	}
}
