package fold

import (
	"cmp"
	"context"
	"fmt"

	"github.com/weir-analytics/weir/rollup/feed"
)

// Open makes the workers of partitions that were assigned to this member: each goes on after the last progress record of its partition.
func (f *Fold) Open(ctx context.Context, partitions []int32) (map[int32]feed.Start, error) {
	client, err := f.Log.Client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	published, err := feed.PartitionBounds(ctx, client, f.Topic)
	if err != nil {
		return nil, err
	}
	deltas, err := feed.PartitionBounds(ctx, client, f.Deltas)
	if err != nil {
		return nil, err
	}
	starts := make(map[int32]feed.Start, len(partitions))
	for _, partition := range partitions {
		out, ok := published[partition]
		if !ok {
			return nil, fmt.Errorf("topic %s has no partition %d: it needs as many as %s", f.Topic, partition, f.Deltas)
		}
		err := cmp.Or(out.Err, deltas[partition].Err)
		var p *Partition
		if err == nil {
			p, err = f.open(ctx, partition, out.End, deltas[partition])
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			starts[partition] = feed.Start{Err: err}
			continue
		}
		starts[partition] = feed.Start{Worker: p, Offset: p.next}
	}
	return starts, nil
}

func (f *Fold) open(ctx context.Context, partition int32, outEnd int64, deltas feed.Bounds) (*Partition, error) {
	f.Table.Unfeed(f.Unit, partition) // by a worker that is gone
	if err := f.Table.Settle(ctx, f.Unit, partition, outEnd); err != nil {
		return nil, fmt.Errorf("wait for the table of %ss: %w", f.Unit, err)
	}
	progress, _, err := f.Table.Progress(f.Unit, partition)
	if err != nil {
		return nil, fmt.Errorf("look up the progress of %ss: %w", f.Unit, err)
	}
	p := f.newPartition(partition)
	p.outEnd = outEnd
	p.sourceTo, p.receivedMs = progress.SourceTo, progress.ReceivedMs
	p.next = progress.FoldedTo
	switch {
	case p.next > deltas.End:
		return nil, fmt.Errorf("topic %s partition %d ends at offset %d, and deltas up to %d are folded already: the topic was cut or made anew",
			f.Deltas, partition, deltas.End, p.next)
	case p.next < deltas.Start:
		f.Logger.Error("deltas were deleted by retention before they were folded: give topic "+f.Deltas+" more room or time",
			"window", f.Unit.String(), "partition", partition, "from", p.next, "to", deltas.Start)
		f.Metrics.lostRuns.WithLabelValues(f.Unit.String()).Add(float64(deltas.Start - p.next))
		p.next = deltas.Start
	}
	p.foldedTo, p.publishedTo = p.next, p.next
	return p, nil
}
