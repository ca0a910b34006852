package broker

import (
	"context"
	"fmt"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/meter"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// Received returns what partitions have taken in, by minute, as the topic broker.received has it.
func (b *Broker) Received(ctx context.Context, q meter.Query) (meter.Answer, error) {
	return b.meter.Find(ctx, q)
}

// received shows the broker to the meter.
type received struct{ b *Broker }

// ReceivedTopic is the topic of the meter, which makes it when it is missing. A minute of forty busy partitions is about 12 KB: thirty days of it are half a gigabyte, less
// what is bounded by size.
func ReceivedTopic() state.TopicSpec {
	value := func(s string) *string { return &s }
	return state.TopicSpec{
		Name: meter.Topic, Partitions: 1, ReplicationFactor: -1, Internal: true,
		Configs: map[string]*string{
			"cleanup.policy":  value("compact,delete"),
			"retention.ms":    value("2592000000"), // 30 days
			"retention.bytes": value("268435456"),  // 256 MiB
			"segment.bytes":   value("16777216"),
		},
	}
}

func (r received) partition() (*partition, bool) {
	p, ok := r.b.view.Load().ByName[meter.Topic].Partition(0)
	if !ok || p.Phase() != api.Serving && p.Phase() != api.Following || p.LogStart() < 0 {
		return nil, false
	}
	return p.(*partition), true
}

// Partitions are all that are open, without that of the meter.
func (r received) Partitions() (list []meter.Partition) {
	for _, t := range r.b.view.Load().Topics {
		if t.Name == meter.Topic {
			continue
		}
		for _, p := range t.Partitions {
			if box := p.(*partition).engine.Load(); box != nil {
				list = append(list, metered{p.(*partition), box})
			}
		}
	}
	return list
}

func (r received) Ready(ctx context.Context) error {
	_, err := backend{r.b}.openOne(ctx, ReceivedTopic(), func(int32) int32 { return 0 })
	return err
}

func (r received) Exists() bool {
	_, ok := r.partition()
	return ok
}

func (r received) errNotServed() error {
	return fmt.Errorf("partition 0 of %s: %w", meter.Topic, replica.ErrNotReady)
}

func (r received) Append(ctx context.Context, recs []record.Record) error {
	p, ok := r.b.view.Load().ByName[meter.Topic].Partition(0)
	if !ok {
		return r.errNotServed()
	}
	_, err := r.b.appendAnywhere(ctx, p.(*partition), recs)
	return err
}

func (r received) Bounds() (start, end int64) {
	if p, ok := r.partition(); ok {
		return p.LogStart(), p.HighWatermark()
	}
	return 0, 0
}

func (r received) Read(offset int64, maxBytes int) ([]byte, error) {
	if p, ok := r.partition(); ok {
		return p.Read(offset, maxBytes)
	}
	return nil, r.errNotServed()
}

func (r received) OffsetForTime(ms int64) (offset int64, ok bool, err error) {
	p, served := r.partition()
	if !served {
		return 0, false, r.errNotServed()
	}
	offset, _, ok, err = p.OffsetForTime(ms)
	return offset, ok, err
}

// metered is a partition that is open.
type metered struct {
	p *partition
	e engine
}

func (m metered) ID() meter.ID {
	return meter.ID{TopicID: m.p.spec.Topic.ID, Partition: m.p.spec.Partition}
}
func (m metered) Topic() string   { return m.p.spec.Topic.Name }
func (m metered) LogStart() int64 { return m.e.LogStart() }

func (m metered) Leads() (epoch int32, ok bool) {
	_, epoch, ok = m.e.Leader()
	return epoch, ok
}

func (m metered) Sum() meter.Sum {
	r := m.e.Received()
	return meter.Sum{Since: r.Since, To: r.To, Records: r.Records, Bytes: r.Bytes}
}

func (m metered) Count(from, to int64) (records, bytes int64, err error) {
	return m.e.CountStored(from, to)
}
