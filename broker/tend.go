package broker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/weir-analytics/weir/broker/replica"
	"github.com/weir-analytics/weir/raftfsm/state"
)

const (
	// tendEvery is how often a leader looks at its group, beside every change of the cluster state.
	tendEvery = 500 * time.Millisecond
	// tendAtOnce bounds the groups that are changed, and the leaderships that are moved, at the same time.
	tendAtOnce = 8
	// stepsAtOnce bounds the steps with one group before others have their turn.
	stepsAtOnce = 8
	// settleFor is how long a partition keeps its leader before another one is preferred: one that has just started has other things to do.
	settleFor = 5 * time.Second
	// handOverFor bounds handing everything over before a stop.
	handOverFor = 5 * time.Second
)

// tend brings the groups that this node leads to where the cluster wants them, one step at a time, until ctx ends.
func (b *Broker) tend(ctx context.Context) error {
	slots := make(chan struct{}, tendAtOnce)
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		changed := b.ctl.Changed()
		s := b.ctl.State()
		for _, p := range b.partitions() {
			box := p.engine.Load()
			if box == nil {
				continue
			}
			box.Watch(time.Now())
			if b.dropIfGone(s, p, box) || !b.leadsHere(p, box) || !p.tending.CompareAndSwap(false, true) {
				continue
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
			wg.Go(func() {
				defer func() { p.tending.Store(false); <-slots }()
				for range stepsAtOnce {
					if !b.tendOne(s, p, box) {
						return
					}
				}
			})
		}
		select {
		case <-changed:
		case <-time.After(tendEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

// leadsHere says whether this node leads a partition, and notes since when.
func (b *Broker) leadsHere(p *partition, e engine) bool {
	if _, _, serving := e.Leader(); !serving || e.Err() != nil {
		p.ledSince.Store(0)
		return false
	}
	p.ledSince.CompareAndSwap(0, time.Now().UnixNano())
	return true
}

// tendOne takes one step with one partition that this node leads: learners first, voters once all of them have caught up, then the replicas
// that are not wanted any more go, and at last the leader is the one that should lead. It says whether there may be more to do at once.
func (b *Broker) tendOne(s *state.State, p *partition, e engine) (more bool) {
	topic, ok := s.Topics[p.spec.Topic.Name]
	if !ok || topic.ID != p.spec.Topic.ID {
		return false
	}
	want := servers(s, s.PlacementOf(topic, p.spec.Partition).Replicas)
	if len(want) == 0 {
		return false
	}
	have := e.Membership()
	what, err := step(want, have, b.cfg.ServerID, e)
	if what == "" {
		err = b.preferLeader(p, e, want[0])
		what = "move the leader"
	}
	log := b.log.With("topic", p.spec.Topic.Name, "partition", p.spec.Partition)
	if err != nil {
		log.Debug("the replicas of a partition are not as they should be yet", "step", what, "err", err)
		return false
	}
	if what == "move the leader" {
		return false
	}
	log.Debug("the replicas of a partition change", "step", what)
	b.changed.wake()
	return true
}

// servers are the server ids of nodes, those that are members.
func servers(s *state.State, nodes []int32) (list []string) {
	for _, id := range nodes {
		if n, ok := s.Nodes[id]; ok {
			list = append(list, n.ServerID)
		}
	}
	return list
}

// step does the next thing that makes the members of a group those that are wanted, and names it. "" when nothing is to be done now.
func step(want []string, have replica.Membership, self string, e engine) (what string, err error) {
	var learners []string // of those that are wanted
	for _, id := range want {
		voter, learner := have.Has(id)
		switch {
		case !voter && !learner:
			return "add a learner", e.AddLearner(id, have.Index)
		case learner:
			learners = append(learners, id)
		}
	}
	for _, id := range have.Learners {
		if !slices.Contains(want, id) {
			return "remove a learner", e.RemoveMember(id, have.Index)
		}
	}
	if len(learners) > 0 {
		if slices.ContainsFunc(learners, func(id string) bool { return !e.CaughtUp(id) }) {
			return "", nil // two voters are worse than one while the third is not there
		}
		return "make a learner a voter", e.Promote(learners[0], have.Index)
	}
	for _, id := range have.Voters {
		if slices.Contains(want, id) {
			continue
		}
		if id == self {
			return "hand over before leaving", e.HandOver("")
		}
		return "remove a replica", e.RemoveMember(id, have.Index)
	}
	return "", nil
}

// preferLeader hands a partition over to the node that should lead it, once that has caught up.
func (b *Broker) preferLeader(p *partition, e engine, preferred string) error {
	voter, _ := e.Membership().Has(preferred)
	settled := time.Since(time.Unix(0, p.ledSince.Load())) > settleFor
	if preferred == b.cfg.ServerID || !voter || !settled || !e.CaughtUp(preferred) {
		return nil
	}
	return e.HandOver(preferred)
}

// dropIfGone closes a replica that the cluster has taken out of its group, and removes its files. Only the word of the leader counts: the
// cluster state says what is wanted, not what is done.
func (b *Broker) dropIfGone(s *state.State, p *partition, e engine) bool {
	topic, ok := s.Topics[p.spec.Topic.Name]
	if !ok || topic.ID != p.spec.Topic.ID || slices.Contains(s.PlacementOf(topic, p.spec.Partition).Replicas, b.cfg.NodeID) {
		return false
	}
	_, epoch, serving := e.Leader()
	node, said, told := b.leaders.find(p.spec.group(), time.Now())
	if serving || !told || node == b.cfg.NodeID || said.Epoch < epoch || slices.Contains(said.Members, b.cfg.NodeID) {
		return false
	}
	b.log.Info("a replica was moved away; its files are removed here", "topic", p.spec.Topic.Name, "partition", p.spec.Partition, "leader", node)
	go p.leave(func() error { return b.engines.removePartition(p.spec) })
	return true
}

// handOver gives everything that this node leads to others, before it stops. What nobody else can take stays.
func (b *Broker) handOver() {
	end := time.Now().Add(handOverFor)
	slots := make(chan struct{}, 4*tendAtOnce)
	for time.Now().Before(end) {
		var wg sync.WaitGroup
		left := 0
		for _, p := range b.partitions() {
			box := p.engine.Load()
			if box == nil {
				continue
			}
			if _, _, serving := box.Leader(); !serving || len(box.Membership().Voters) < 2 {
				continue
			}
			left++
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				if err := box.HandOver(""); err != nil {
					b.log.Debug("a partition is not handed over yet", "topic", p.spec.Topic.Name, "partition", p.spec.Partition, "err", err)
				}
			})
		}
		wg.Wait()
		if left == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond) // until followers that were refused have caught up
	}
}
