package group

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
)

// image is what the log of a partition says about its groups.
type image struct {
	groups map[string]*groupImage
	// staged says which partitions of which groups a producer's open transaction has offsets for.
	staged map[int64]map[imageKey]struct{}
	// skipped counts records of kinds that are not for this coordinator.
	skipped int
}

type imageKey struct {
	group string
	topicPartition
}

type groupImage struct {
	metadata *kmsg.GroupMetadataValue // nil: none, or deleted
	slots    map[topicPartition]*slot
}

func (g *groupImage) slot(tp topicPartition) *slot {
	s, ok := g.slots[tp]
	if !ok {
		s = &slot{}
		g.slots[tp] = s
	}
	return s
}

// loadUntilDone loads the shard, again and again until that succeeds or the shard is no longer wanted. A partition that can't
// be read stays out of service: to serve it would mean to answer "no offset" where there is one.
func (s *shard) loadUntilDone(changed func()) bool {
	read := func() (func(), error) {
		begin := s.env.cfg.Now()
		img := newImage()
		next, err := led.ReadLog(s.ctx, s.part, img.apply)
		return func() {
			s.install(img, next, s.env.cfg.Now().Sub(begin))
			changed()
		}, err
	}
	return led.UntilLoaded(s.ctx, s.Current, read, func(err error, wait time.Duration) {
		s.env.metrics.loads.WithLabelValues("failed").Inc()
		s.log.Error("can't load groups, trying again", "topic", OffsetsTopic, "wait", wait, "err", err)
		s.mu.Lock()
		if s.stage == led.Loading {
			s.stage = led.Failed
		}
		s.mu.Unlock()
		changed()
	})
}

func (img *image) apply(batch record.Batch) error {
	if batch.Control() {
		return img.applyMarker(batch)
	}
	return record.ForEach(batch.Raw, func(r record.Record) error {
		if err := img.applyRecord(batch, r); err != nil {
			return fmt.Errorf("record %d: %w", batch.BaseOffset+int64(r.OffsetDelta), err)
		}
		return nil
	})
}

func newImage() *image {
	return &image{groups: map[string]*groupImage{}, staged: map[int64]map[imageKey]struct{}{}}
}

func (img *image) applyMarker(batch record.Batch) error {
	m, ok, err := record.ParseMarker(batch)
	if err != nil || !ok {
		return err
	}
	for k := range img.staged[m.ProducerID] {
		if g := img.groups[k.group]; g != nil {
			g.slot(k.topicPartition).end(m.ProducerID, m.Commit)
		}
	}
	delete(img.staged, m.ProducerID)
	return nil
}

// applyRecord takes one record in; the last one with a key counts, in a transaction from its marker on.
func (img *image) applyRecord(batch record.Batch, r record.Record) error {
	k, err := parseKey(r.Key)
	if errors.Is(err, errSkip) {
		img.skipped++
		return nil
	}
	if err != nil {
		return err
	}
	g, ok := img.groups[k.group]
	if !ok {
		g = &groupImage{slots: map[topicPartition]*slot{}}
		img.groups[strings.Clone(k.group)] = g
	}
	if k.isOffset {
		return img.applyOffset(g, k, batch, r.Value)
	}
	g.metadata = nil
	if r.Value == nil {
		return nil
	}
	g.metadata, err = parseMetadata(r.Value)
	return err
}

func (img *image) applyOffset(g *groupImage, k key, batch record.Batch, value []byte) error {
	s := g.slot(topicPartition{k.topic, k.partition})
	if value == nil {
		s.forget()
		return nil
	}
	o, err := parseOffset(value)
	switch {
	case err != nil:
		return err
	case !batch.Transactional():
		s.commit(o)
		return nil
	}
	s.stage(batch.ProducerID, o)
	if img.staged[batch.ProducerID] == nil {
		img.staged[batch.ProducerID] = map[imageKey]struct{}{}
	}
	img.staged[batch.ProducerID][imageKey{strings.Clone(k.group), topicPartition{k.topic, k.partition}}] = struct{}{}
	return nil
}

// install makes groups of the image and begins to serve.
func (s *shard) install(img *image, next int64, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage == led.Unloaded {
		return
	}
	now := s.env.cfg.Now()
	s.stage, s.next = led.Loaded, next
	s.alarm.Expire(now)
	for id, gi := range img.groups {
		g := newGroup(id, s.env, s, now)
		gi.fill(g, now)
		if !g.disposable() {
			s.groups[id] = g
			s.alarm.WakeBy(g.due())
			for producer := range g.staged {
				s.note(producer, g)
			}
		}
	}
	s.env.metrics.loads.WithLabelValues("ok").Inc()
	s.env.metrics.loadSeconds.Set(took.Seconds())
	s.log.Info("groups loaded", "groups", len(s.groups), "offset", next, "skipped", img.skipped, "took", took)
}

// fill puts what the log says into a group. Members have a whole session to be heard of.
func (gi *groupImage) fill(g *group, now time.Time) {
	for tp, s := range gi.slots {
		if s.committed != nil {
			g.slot(tp).commit(s.committed)
		}
		for _, o := range s.staged {
			g.stage(o.producer, tp, o.offset)
		}
	}
	v := gi.metadata
	if v == nil {
		return
	}
	g.stored = true
	g.generation, g.protocolType = v.Generation, v.ProtocolType
	if v.CurrentStateTimestamp >= 0 {
		g.stateSince = time.UnixMilli(v.CurrentStateTimestamp)
	}
	if v.Protocol != nil {
		g.protocol = *v.Protocol
	}
	for i := range v.Members {
		g.add(storedMember(&v.Members[i], g.protocol, now))
	}
	if len(g.members) == 0 {
		return
	}
	g.state = stable
	if v.Leader != nil && g.members[*v.Leader] != nil {
		g.leader = *v.Leader
	}
}

func storedMember(v *kmsg.GroupMetadataValueMember, protocolName string, now time.Time) *member {
	m := &member{
		id: v.MemberID, instance: v.InstanceID, clientID: v.ClientID, clientHost: v.ClientHost, hasID: true,
		sessionTimeout:   time.Duration(v.SessionTimeoutMillis) * time.Millisecond,
		rebalanceTimeout: time.Duration(v.RebalanceTimeoutMillis) * time.Millisecond,
		protocols:        []protocol{{name: protocolName, metadata: v.Subscription}},
		assignment:       v.Assignment,
	}
	if v.RebalanceTimeoutMillis < 0 {
		m.rebalanceTimeout = m.sessionTimeout // layout 0 has none
	}
	m.touch(now)
	return m
}
