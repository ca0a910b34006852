package broker

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// Append writes recs as one batch to a partition and returns the offset of the first, once they are on disk. Keys, values and headers
// are copied before it returns or fails. The errors of package replica say whether a failed batch was certainly not written; when ctx
// ends after the batch was handed over the error is replica.ErrOutcomeUnknown.
func (b *Broker) Append(ctx context.Context, topic string, number int32, recs []record.Record) (base int64, err error) {
	p, ok := b.view.Load().ByName[topic].Partition(number)
	if !ok {
		return -1, fmt.Errorf("partition %d of topic %q is not on this node: %w", number, topic, replica.ErrNotReady)
	}
	base, err = b.appendAnywhere(ctx, p.(*partition), recs)
	b.metrics.appended(len(recs), err)
	return base, err
}

// Dial connects to this node within the process, through the same code as any connection, and to another node through its port for peers,
// whatever its Kafka listeners ask for. It fits kgo.Dialer.
func (b *Broker) Dial(ctx context.Context, network, host string) (net.Conn, error) {
	for id, other := range b.ctl.State().Brokers {
		if id != b.cfg.NodeID && host == hostPort(other.Host, other.Port) {
			return b.dialNode(ctx, other, network, host)
		}
	}
	select {
	case <-b.ready: // before that, nothing would be answered right
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return b.server.Dial()
}

func hostPort(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }

func (b *Broker) dialNode(ctx context.Context, other state.Broker, network, host string) (net.Conn, error) {
	if !b.clustered() {
		return (&net.Dialer{}).DialContext(ctx, network, host)
	}
	return b.cfg.Peers.Stream(ctx, other.ServerID)
}

// builders keeps the buffers that batches are built in.
var builders = sync.Pool{New: func() any { return record.NewBuilder(record.None) }}

// appendRecords builds a batch, hands it over and waits for it.
func appendRecords(ctx context.Context, p *partition, recs []record.Record) (int64, error) {
	batch, err := buildBatch(recs, func(*record.Builder) {})
	if err != nil {
		return -1, err
	}
	return wait(ctx, p.Append(ctx, batch))
}

// appendAnywhere is appendRecords to the partition's leader, wherever that is.
func (b *Broker) appendAnywhere(ctx context.Context, p *partition, recs []record.Record) (int64, error) {
	batch, err := buildBatch(recs, func(*record.Builder) {})
	if err != nil {
		return -1, err
	}
	return b.appendBatch(ctx, p, batch)
}

// buildBatch makes a batch of records; mark says what its header is to hold beside them.
func buildBatch(recs []record.Record, mark func(*record.Builder)) ([]byte, error) {
	builder := builders.Get().(*record.Builder)
	defer builders.Put(builder)
	builder.Reset()
	mark(builder)
	for _, r := range recs {
		builder.Append(r)
	}
	batch, err := builder.Build()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", replica.ErrInvalidRecord, err)
	}
	return batch, nil
}

// wait returns the offset of what was handed over once that is committed.
func wait(ctx context.Context, pending api.Pending) (int64, error) {
	select {
	case <-pending.Done():
	case <-ctx.Done():
		return -1, fmt.Errorf("%w: %w", replica.ErrOutcomeUnknown, ctx.Err())
	}
	done, err := pending.Result()
	if err != nil {
		return -1, err
	}
	return done.BaseOffset, nil
}
