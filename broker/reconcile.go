package broker

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weir-analytics/weir/broker/api"
	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// opensAtOnce bounds how many partitions are opened at the same time. Opening waits for the disk most of the time; a guess.
const opensAtOnce = 8

// follow keeps what is served in step with the cluster state until ctx ends.
func (b *Broker) follow(ctx context.Context) error {
	for {
		changed := b.ctl.Changed()
		b.reconcile(b.ctl.State())
		b.readyOnce.Do(func() { close(b.ready) })
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// reconcile publishes a view of s, with partitions opened for what is new and closed for what is gone. On return every partition that
// opens by itself is open or has failed.
func (b *Broker) reconcile(s *state.State) {
	old := b.view.Load()
	if s.Version == b.version && old.ClusterID == s.ClusterID {
		return
	}
	next := &api.View{
		ClusterID: s.ClusterID, NodeID: b.cfg.NodeID,
		ByName: make(map[string]*api.Topic, len(s.Topics)), ByID: make(map[[16]byte]*api.Topic, len(s.Topics)),
	}
	next.Brokers = slices.SortedFunc(maps.Values(s.Brokers), func(a, b state.Broker) int { return cmp.Compare(a.ID, b.ID) })
	var opens []*partition
	for _, t := range s.Topics {
		topic, started := b.topic(s, t, old.ByID[t.ID])
		opens = append(opens, started...)
		next.ByName[t.Name], next.ByID[t.ID] = topic, topic
		next.Topics = append(next.Topics, topic)
	}
	slices.SortFunc(next.Topics, func(a, b *api.Topic) int { return strings.Compare(a.Name, b.Name) })
	b.version = s.Version
	b.view.Store(next)
	b.changed.wake()
	b.openAll(opens)
	for _, t := range old.Topics {
		if next.ByID[t.ID] == nil {
			b.remove(t)
		}
	}
}

// topic makes the topic of the next view. Partitions that exist stay; the ones to open now are returned.
func (b *Broker) topic(s *state.State, t state.Topic, old *api.Topic) (*api.Topic, []*partition) {
	placed := func(x, y state.Placement) bool {
		return slices.Equal(x.Replicas, y.Replicas) && x.Moved == y.Moved && x.Open == y.Open
	}
	if old != nil && old.Partitions != nil && len(old.Partitions) == int(t.Partitions) && maps.Equal(old.Configs, t.Configs) &&
		slices.EqualFunc(old.Placement, t.Placement, placed) && !b.clustered() {
		return old, nil
	}
	topic := &api.Topic{Topic: t, Config: api.ParseTopicConfig(t.Configs)}
	var opens []*partition
	if old != nil {
		topic.Partitions = slices.Clone(old.Partitions)
		for _, one := range topic.Partitions {
			p := one.(*partition)
			p.reconfigure(topic.Config)
			if b.place(s, t, p) && b.clustered() {
				opens = append(opens, p)
			}
		}
	}
	for n := int32(len(topic.Partitions)); n < t.Partitions; n++ {
		p := b.newPartition(engineSpec{Topic: t, Partition: n, Config: topic.Config}, api.Opening)
		topic.Partitions = append(topic.Partitions, p)
		if b.place(s, t, p) {
			opens = append(opens, p)
		}
	}
	if err := b.engines.nameTopic(t); err != nil {
		b.log.Warn("write the topic's name beside its partitions", "topic", t.Name, "err", err)
	}
	return topic, opens
}

// place tells a partition which nodes are to have it, and says whether this node is to open it now. One that has files here is opened
// wherever it is to be: its group may count on this node still.
func (b *Broker) place(s *state.State, t state.Topic, p *partition) (open bool) {
	lazy := state.OpensWhenNeeded(t.Name)
	if !b.clustered() {
		p.replicas.Store(&[]int32{b.cfg.NodeID})
		return p.closedUntilNeeded(lazy && !b.engines.holds(p.spec))
	}
	at := s.PlacementOf(t, p.spec.Partition)
	p.replicas.Store(&at.Replicas)
	here := slices.Contains(at.Replicas, b.cfg.NodeID)
	members, all := firstMembers(s, at)
	p.mu.Lock()
	p.spec.Members, p.spec.Join = members, at.Moved || !here || !all
	p.mu.Unlock()
	switch {
	case p.hasStarted():
		return false
	case b.engines.holds(p.spec):
		return p.closedUntilNeeded(false)
	case lazy && !at.Open:
		return p.closedUntilNeeded(true)
	}
	return p.closedUntilNeeded(false) && here
}

// firstMembers are the members of a group that begins now, nil for one of this node alone. all is false when one of them is no member of the
// cluster any more: the group is not begun then, since those who did would not agree on it.
func firstMembers(s *state.State, at state.Placement) (list []replica.Member, all bool) {
	if len(at.Replicas) < 2 {
		return nil, true
	}
	for _, id := range at.Replicas {
		n, ok := s.Nodes[id]
		if !ok {
			return nil, false
		}
		list = append(list, replica.Member{NodeID: id, ServerID: n.ServerID, Address: n.ServerID})
	}
	return list, true
}

// closedUntilNeeded sets the phase of a partition that was not opened yet. It returns the opposite.
func (p *partition) closedUntilNeeded(closed bool) (open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started || p.closed {
		return false
	}
	p.phase = api.Opening
	if closed {
		p.phase = api.Closed
	}
	return !closed
}

func (p *partition) hasStarted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.started || p.closed
}

// openAll opens partitions and waits for all of them.
func (b *Broker) openAll(opens []*partition) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, opensAtOnce)
	for _, p := range opens {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			b.start(p)
		})
	}
	wg.Wait()
}

// start opens one partition and says so when that fails.
func (b *Broker) start(p *partition) error {
	err := p.start()
	if err != nil {
		b.log.Error("a partition does not open; the others go on without it", "topic", p.spec.Topic.Name, "partition", p.spec.Partition, "err", err)
		b.partitionMoved()
	}
	return err
}

// remove closes a deleted topic and removes its files.
func (b *Broker) remove(t *api.Topic) {
	log := b.log.With("topic", t.Name)
	var specs []engineSpec
	for _, p := range t.Partitions {
		p := p.(*partition)
		if err := p.close(); err != nil {
			log.Warn("close a partition of a deleted topic", "partition", p.spec.Partition, "err", err)
		}
		specs = append(specs, p.spec)
	}
	if err := b.engines.removeTopic(t.Topic, specs); err != nil {
		log.Warn("remove the files of a deleted topic", "err", err)
	}
	log.Info("topic deleted")
}
