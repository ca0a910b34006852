package txn

import (
	"context"
	"fmt"
	"sync"
)

// idsPerBlock is Kafka's number: one agreement with the controller per thousand producers.
const idsPerBlock = 1000

// producerIDs hands out ids from blocks agreed on with the controller. Ids of a block not used before a restart are skipped.
type producerIDs struct {
	allocate func(ctx context.Context, n int64) (first int64, err error)

	mu         sync.Mutex
	next, past int64
}

func (p *producerIDs) take(ctx context.Context) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == p.past {
		first, err := p.allocate(ctx, idsPerBlock)
		if err != nil {
			return noProducerID, fmt.Errorf("get producer ids: %w", err)
		}
		p.next, p.past = first, first+idsPerBlock
	}
	p.next++
	return p.next - 1, nil
}

// NewProducerID returns an id that no producer has had, for a producer without transactions.
func (c *Coordinator) NewProducerID(ctx context.Context) (int64, error) { return c.ids.take(ctx) }
