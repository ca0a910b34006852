package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/weir-analytics/weir/broker"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/ingest"
	"github.com/weir-analytics/weir/raftfsm/state"
	"github.com/weir-analytics/weir/rollup"
)

// appender lets ingest write to the log of this process.
type appender struct{ broker *broker.Broker }

// recordLists holds lists of records for reuse.
var recordLists = sync.Pool{New: func() any { return new([]record.Record) }}

// Append implements ingest.Appender.
func (a appender) Append(ctx context.Context, topic string, partition int32, recs []ingest.Record) (int64, error) {
	list := recordLists.Get().(*[]record.Record)
	batch := (*list)[:0]
	for i, r := range recs {
		batch = append(batch, record.Record{Key: r.Key, Value: r.Value, OffsetDelta: int32(i), TimestampMs: r.TimestampMs})
	}
	base, err := a.broker.Append(ctx, topic, partition, batch)
	clear(batch) // the bytes are the caller's again
	*list = batch
	recordLists.Put(list)
	switch {
	case err == nil:
		return base, nil
	case errors.Is(err, replica.ErrOutcomeUnknown):
		return 0, fmt.Errorf("%w: %w", ingest.ErrOutcomeUnknown, err)
	case errors.Is(err, replica.ErrStopped):
		return 0, fmt.Errorf("%w: %w", ingest.ErrRefused, err)
	}
	return 0, fmt.Errorf("%w: %w", ingest.ErrNotWritten, err)
}

// isPipelineTopic reports whether a topic's partitions are fixed: the counts of a partition are made from the hits of the partition with
// the same number.
func isPipelineTopic(name string) bool {
	return slices.ContainsFunc(rollup.Topics(), func(spec state.TopicSpec) bool { return spec.Name == name })
}
