package feed

import (
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// placement is a hook of the client that says when all records of a flush lie in the batches of their partitions. Flushing earlier could
// send a first part of them as a batch of its own.
type placement struct {
	missing atomic.Int64
	wake    chan struct{} // holds one token when nothing is missing
}

var _ kgo.HookProduceRecordPartitioned = (*placement)(nil)

// expect is called before records are handed to the client.
func (p *placement) expect(records int) {
	select {
	case <-p.wake:
	default:
	}
	p.missing.Store(int64(records))
}

// OnProduceRecordPartitioned implements kgo.HookProduceRecordPartitioned.
func (p *placement) OnProduceRecordPartitioned(*kgo.Record, int32) {
	if p.missing.Add(-1) == 0 {
		p.wake <- struct{}{}
	}
}
