package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weir-analytics/weir/raftfsm/hardstate"
	"github.com/weir-analytics/weir/raftfsm/transport"
)

const (
	// tellEvery is how often a node tells the others which partitions it leads, beside every change. tellWithin bounds one telling.
	tellEvery  = 2 * time.Second
	tellWithin = time.Second
	// toldFor is how long that counts: then nobody is known to lead.
	toldFor = 10 * time.Second
)

// ledElsewhere is what the leader of a partition says of it.
type ledElsewhere struct {
	Topic     [16]byte `json:"t"`
	Partition int32    `json:"p"`
	Epoch     int32    `json:"e"`
	InSync    []int32  `json:"i"` // nodes that have almost all of the log, the leader first
	Members   []int32  `json:"m"` // nodes in the group
}

func (l ledElsewhere) group() hardstate.GroupID {
	return hardstate.PartitionGroup(l.Topic, l.Partition)
}

// told is what one node leads, as it said last.
type told struct {
	at   time.Time
	said map[hardstate.GroupID]ledElsewhere
}

// leaders knows which partitions other nodes lead. Replicas know their own group's leader; the others, and who is in sync, are only known
// from what leaders tell.
type leaders struct {
	mu   sync.Mutex
	told map[int32]told // by node
}

// find returns the newest that a node has said of a partition which it leads.
func (l *leaders) find(id hardstate.GroupID, now time.Time) (node int32, what ledElsewhere, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, t := range l.told {
		if one, led := t.said[id]; led && now.Sub(t.at) < toldFor && (!ok || one.Epoch > what.Epoch) {
			node, what, ok = n, one, true
		}
	}
	return node, what, ok
}

// hear notes what a node leads, all of it, and says whether it is anything else than before.
func (l *leaders) hear(node int32, list []ledElsewhere, now time.Time) (changed bool) {
	said := make(map[hardstate.GroupID]ledElsewhere, len(list))
	for _, one := range list {
		said[one.group()] = one
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	same := maps.EqualFunc(said, l.told[node].said, func(a, b ledElsewhere) bool {
		return a.Epoch == b.Epoch && slices.Equal(a.InSync, b.InSync) && slices.Equal(a.Members, b.Members)
	})
	if l.told == nil {
		l.told = map[int32]told{}
	}
	l.told[node] = told{now, said}
	return !same
}

// ledHere is what this node leads.
func (b *Broker) ledHere() []ledElsewhere {
	list := []ledElsewhere{}
	for _, p := range b.partitions() {
		box := p.engine.Load()
		if box == nil {
			continue
		}
		if _, epoch, serving := box.Leader(); serving && box.Err() == nil {
			all, inSync := p.followers(box)
			list = append(list, ledElsewhere{p.spec.Topic.ID, p.spec.Partition, epoch, inSync, all})
		}
	}
	return list
}

// tell tells the other nodes what this one leads, at each change and now and then, until ctx ends.
func (b *Broker) tell(ctx context.Context) error {
	b.cfg.Peers.Handle(transport.ServiceLeaders, b.hearLeaders)
	var last []byte
	var lastAt time.Time
	for {
		moved := b.changed.wait()
		body, err := json.Marshal(b.ledHere())
		if err != nil {
			return fmt.Errorf("encode what this node leads: %w", err)
		}
		if string(body) != string(last) || time.Since(lastAt) >= tellEvery {
			last, lastAt = body, time.Now()
			b.tellAll(ctx, body)
		}
		select {
		case <-moved:
			select { // what moves together is told together
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return nil
			}
		case <-time.After(tellEvery / 4):
		case <-ctx.Done():
			return nil
		}
	}
}

func (b *Broker) tellAll(ctx context.Context, body []byte) {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	var wg sync.WaitGroup
	for _, to := range b.cfg.Peers.Known() {
		wg.Go(func() { _, _ = b.cfg.Peers.Call(ctx, to, transport.ServiceLeaders, body) }) // said again soon
	}
	wg.Wait()
}

func (b *Broker) hearLeaders(_ context.Context, from string, body []byte) ([]byte, error) {
	var list []ledElsewhere
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("what another node leads: %w", err)
	}
	n, ok := b.ctl.State().NodeOf(from)
	if !ok {
		return nil, fmt.Errorf("server %s is no node that is known here", from)
	}
	if b.leaders.hear(n.ID, list, time.Now()) {
		b.partitionMoved()
	}
	return nil, nil
}
