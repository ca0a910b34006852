package refusals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/rollup/feed"
)

// Follow reads the only partition of a topic into the ledger, from its beginning and on until ctx ends, starting over by itself after
// errors. It returns only the cause of ctx.
func (l *Ledger) Follow(ctx context.Context, log feed.Log, topic string, now func() time.Time) error {
	next, said := int64(-1), ""
	for {
		err := l.read(ctx, log, topic, now, &next)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, kerr.OffsetOutOfRange) {
			l.reset() // the topic was cut or made anew
			next = -1
		}
		if err.Error() != said {
			said = err.Error()
			log.Logger.Debug("refused hits are read again", "topic", topic, "err", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

func (l *Ledger) read(ctx context.Context, log feed.Log, topic string, now func() time.Time, next *int64) error {
	from := kgo.NewOffset().AtStart()
	if *next >= 0 {
		from = kgo.NewOffset().At(*next)
	}
	client, err := log.Client(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: from}}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxPartitionBytes(1<<20),
		kgo.FetchMaxWait(5*time.Second),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read refused hits: %w", err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if err := l.Add(string(r.Key), r.Value, now()); err != nil {
				log.Logger.Debug("a record is left out", "topic", topic, "offset", r.Offset, "err", err)
			}
			*next = r.Offset + 1
		})
	}
}
