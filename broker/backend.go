package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/group"
	"github.com/weir-analytics/weir/broker/record"
	"github.com/weir-analytics/weir/broker/txn"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// backend shows the broker to the request handlers.
type backend struct{ b *Broker }

func (k backend) View() *api.View          { return k.b.view.Load() }
func (k backend) Changed() <-chan struct{} { return k.b.changed.wait() }

func (k backend) Access() api.AccessStore { return k.b.ctl }

func (k backend) CreateTopic(ctx context.Context, spec state.TopicSpec) (state.Topic, error) {
	return k.b.ctl.CreateTopic(ctx, spec)
}

func (k backend) DeleteTopic(ctx context.Context, name string) error {
	return k.b.ctl.DeleteTopic(ctx, name)
}

func (k backend) AddPartitions(ctx context.Context, name string, total int32) error {
	return k.b.ctl.AddPartitions(ctx, name, total)
}

func (k backend) SetTopicConfigs(ctx context.Context, name string, configs map[string]string) error {
	return k.b.ctl.SetTopicConfigs(ctx, name, configs)
}

func (k backend) WriteMarker(ctx context.Context, topic string, partition int32, m record.Marker) error {
	return markers(k).Write(ctx, topic, partition, m)
}

func (k backend) Controller() int32 { return k.b.ctl.Leader() }

func (k backend) OffsetsTopic(ctx context.Context, choose func(count int32) int32) (int32, error) {
	return k.openOne(ctx, coordinatorSpec(group.OffsetsTopic, group.DefaultPartitions), choose)
}

func (k backend) TransactionsTopic(ctx context.Context, choose func(count int32) int32) (int32, error) {
	return k.openOne(ctx, coordinatorSpec(txn.StateTopic, txn.DefaultPartitions), choose)
}

// openOne makes the topic of a coordinator when it is missing, opens one partition of it, waits until that serves and returns where.
func (k backend) openOne(ctx context.Context, spec state.TopicSpec, choose func(count int32) int32) (leader int32, err error) {
	topic, err := k.ensureTopic(ctx, spec)
	if err != nil {
		return -1, err
	}
	n := choose(int32(len(topic.Partitions)))
	p := topic.Partitions[n].(*partition)
	if err := k.open(ctx, topic, p); err != nil {
		return -1, err
	}
	for {
		changed := k.Changed()
		switch p.Phase() {
		case api.Serving, api.Following:
			leader, _, _ := p.Leader()
			return leader, nil
		case api.Failed, api.Gone:
			return -1, fmt.Errorf("partition %d of %s can't be used: %w", n, topic.Name, p.errClosed())
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return -1, fmt.Errorf("partition %d of %s does not serve yet: %w", n, topic.Name, ctx.Err())
		}
	}
}

// open opens a partition that is opened when it is needed, on all nodes that have it.
func (k backend) open(ctx context.Context, topic *api.Topic, p *partition) error {
	if !k.b.clustered() {
		p.Open() // not given up when this request is
		return nil
	}
	s := k.b.ctl.State()
	if t, ok := s.Topics[topic.Name]; !ok || !state.OpensWhenNeeded(t.Name) || s.PlacementOf(t, p.spec.Partition).Open {
		return nil // it follows the state
	}
	return k.b.ctl.OpenPartitions(ctx, topic.ID, []int32{p.spec.Partition})
}

func (k backend) ensureTopic(ctx context.Context, spec state.TopicSpec) (*api.Topic, error) {
	if t := k.View().ByName[spec.Name]; t != nil {
		return t, nil
	}
	if _, err := k.CreateTopic(ctx, spec); err != nil && !errors.Is(err, state.ErrExists) {
		return nil, fmt.Errorf("create %s: %w", spec.Name, err)
	}
	for {
		changed := k.Changed()
		if t := k.View().ByName[spec.Name]; t != nil {
			return t, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %s: %w", spec.Name, ctx.Err())
		}
	}
}

// coordinatorSpec is a topic whose partitions are opened when the first client asks for them.
func coordinatorSpec(name string, partitions int32) state.TopicSpec {
	value := func(s string) *string { return &s }
	return state.TopicSpec{
		Name: name, Partitions: partitions, ReplicationFactor: -1, Internal: true,
		Configs: map[string]*string{
			"cleanup.policy":   value("compact"),
			"compression.type": value("producer"),
			"segment.bytes":    value("16777216"), // 16 MiB: the cleaner works on closed segments
		},
	}
}
