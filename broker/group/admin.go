package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
)

// DescribeGroups shows state and members. A group that is not there is answered as Dead, from version 6 on also with
// GROUP_ID_NOT_FOUND. Authorized operations (version 3) are for the caller to fill in.
func (c *Coordinator) DescribeGroups(ctx context.Context, req *kmsg.DescribeGroupsRequest) *kmsg.DescribeGroupsResponse {
	resp := req.ResponseKind().(*kmsg.DescribeGroupsResponse)
	for _, id := range req.Groups {
		d := kmsg.NewDescribeGroupsResponseGroup()
		d.Group = id
		d.ErrorCode = c.ask(ctx, id, func(_ *shard, g *group, _ time.Time) int16 {
			if g != nil {
				g.describe(&d)
				return codeNone
			}
			d.State = dead.String()
			if req.Version < 6 {
				return codeNone
			}
			text := fmt.Sprintf("Group %s not found.", id)
			d.ErrorMessage = &text
			return codeGroupIDNotFound
		})
		resp.Groups = append(resp.Groups, d)
	}
	return resp
}

// describe shows what members sent and got only when that is settled.
func (g *group) describe(d *kmsg.DescribeGroupsResponseGroup) {
	d.State, d.ProtocolType = g.state.String(), g.protocolType
	if g.state == stable {
		d.Protocol = g.protocol
	}
	for _, m := range g.order {
		dm := kmsg.DescribeGroupsResponseGroupMember{
			MemberID: m.id, InstanceID: m.instance, ClientID: m.clientID, ClientHost: m.clientHost,
			ProtocolMetadata: []byte{}, MemberAssignment: []byte{},
		}
		if g.state == stable {
			dm.ProtocolMetadata, dm.MemberAssignment = nonNil(m.metadata(g.protocol)), nonNil(m.assignment)
		}
		d.Members = append(d.Members, dm)
	}
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// groupType is the only type of group here, as version 5 of ListGroups names it.
const groupType = "classic"

// ListGroups lists the groups coordinated here. Version 4 filters by state, 5 by type.
func (c *Coordinator) ListGroups(ctx context.Context, req *kmsg.ListGroupsRequest) *kmsg.ListGroupsResponse {
	resp := req.ResponseKind().(*kmsg.ListGroupsResponse)
	if len(req.TypesFilter) > 0 && !containsFold(req.TypesFilter, groupType) {
		return resp
	}
	groups, code := c.list(ctx)
	if code != codeNone {
		resp.ErrorCode = code
		return resp
	}
	for _, g := range groups {
		if len(req.StatesFilter) == 0 || containsFold(req.StatesFilter, g.GroupState) {
			resp.Groups = append(resp.Groups, g)
		}
	}
	return resp
}

func containsFold(list []string, s string) bool {
	return slices.ContainsFunc(list, func(e string) bool { return strings.EqualFold(e, s) })
}

// list collects the groups of all led partitions, in the order of their ids. It waits for those that are being loaded, because
// a list with holes would look like groups that are gone.
func (c *Coordinator) list(ctx context.Context) ([]kmsg.ListGroupsResponseGroup, int16) {
	var groups []kmsg.ListGroupsResponseGroup
	for p := range c.env.cfg.Partitions.Count() {
		s, code := c.shards.At(ctx, p)
		if code == codeNotCoordinator {
			continue
		}
		if code != codeNone {
			return nil, code
		}
		s.do(func(time.Time) {
			for _, g := range s.groups {
				groups = append(groups, kmsg.ListGroupsResponseGroup{
					Group: g.id, ProtocolType: g.protocolType, GroupState: g.state.String(), GroupType: groupType,
				})
			}
		})
	}
	slices.SortFunc(groups, func(a, b kmsg.ListGroupsResponseGroup) int { return strings.Compare(a.Group, b.Group) })
	return groups, codeNone
}

// DeleteGroups removes groups without members, with all their offsets.
func (c *Coordinator) DeleteGroups(ctx context.Context, req *kmsg.DeleteGroupsRequest) *kmsg.DeleteGroupsResponse {
	resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
	for _, id := range req.Groups {
		resp.Groups = append(resp.Groups, kmsg.DeleteGroupsResponseGroup{Group: id, ErrorCode: c.deleteGroup(ctx, id)})
	}
	return resp
}

func (c *Coordinator) deleteGroup(ctx context.Context, id string) int16 {
	return c.change(ctx, id, func(s *shard, g *group, now time.Time, done func(err error)) int16 {
		switch {
		case g == nil || g.state == dead:
			return codeGroupIDNotFound
		case g.state != empty:
			return codeNonEmptyGroup
		}
		g.delete(now, done)
		return codeNone
	})
}

// change is ask for something that is answered when it is stored: fn returns a code other than none, or arranges for done.
func (c *Coordinator) change(ctx context.Context, groupID string, fn func(s *shard, g *group, now time.Time, done func(err error)) int16) int16 {
	s, code := c.shardOf(ctx, groupID)
	if code != codeNone {
		return code
	}
	w := led.NewWaiter[int16]()
	ok := s.do(func(now time.Time) {
		code := fn(s, s.group(groupID), now, func(err error) { w.Answer(led.StoreCode(err)) })
		if code != codeNone {
			w.Answer(code)
		}
	})
	code, answered := w.Await(ctx, ok)
	if !answered || !s.Current() {
		return codeNotCoordinator
	}
	return code
}

// OffsetDelete removes offsets of a group, except for topics that its members read.
func (c *Coordinator) OffsetDelete(ctx context.Context, req *kmsg.OffsetDeleteRequest) *kmsg.OffsetDeleteResponse {
	resp := req.ResponseKind().(*kmsg.OffsetDeleteResponse)
	code := c.change(ctx, req.Group, func(s *shard, g *group, now time.Time, done func(err error)) int16 {
		switch {
		case g == nil || g.state == dead:
			return codeGroupIDNotFound
		case g.state != empty && g.protocolType != consumerProtocol:
			return codeNonEmptyGroup
		}
		g.forget(now, g.deletable(c, req, resp), func(_ time.Time, err error) { done(err) })
		return codeNone
	})
	if code != codeNone {
		resp.ErrorCode, resp.Topics = code, nil
	}
	return resp
}

// deletable fills resp and returns the offsets that are to be removed.
func (g *group) deletable(c *Coordinator, req *kmsg.OffsetDeleteRequest, resp *kmsg.OffsetDeleteResponse) []topicPartition {
	var targets []topicPartition
	for _, t := range req.Topics {
		_, count, code := c.topic(req.Version, t.Topic, [16]byte{})
		if len(g.offsets[t.Topic]) > 0 && code != codeNone {
			count, code = 1<<31-1, codeNone // the topic is gone, what is left of it may go
		}
		if code == codeNone && g.subscribed(t.Topic) {
			code = codeGroupSubscribedToTopic
		}
		rt := kmsg.OffsetDeleteResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			rp := kmsg.OffsetDeleteResponseTopicPartition{Partition: p.Partition, ErrorCode: code}
			switch {
			case code != codeNone:
			case p.Partition < 0 || p.Partition >= count:
				rp.ErrorCode = codeUnknownTopicOrPartition
			case g.offsets[t.Topic][p.Partition] != nil:
				targets = append(targets, topicPartition{strings.Clone(t.Topic), p.Partition})
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return targets
}

// TopicDeleted removes the committed offsets of a topic that no longer exists from all groups coordinated here, so that a topic
// of the same name does not inherit them. It returns when that is committed; an error means that some may be left, and calling
// again is harmless.
func (c *Coordinator) TopicDeleted(ctx context.Context, name string) error {
	var errs []error
	for p := range c.env.cfg.Partitions.Count() {
		s, code := c.shards.At(ctx, p)
		switch code {
		case codeNone:
			errs = append(errs, s.forgetTopic(ctx, name))
		case codeNotCoordinator:
		default:
			errs = append(errs, fmt.Errorf("partition %d of %s is not loaded", p, OffsetsTopic))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the committed offsets of topic %s: %w", name, err)
	}
	return nil
}

// forgetTopic removes the offsets of a topic from all groups of the shard and waits for it.
func (s *shard) forgetTopic(ctx context.Context, name string) error {
	var waiters []*led.Waiter[error]
	ok := s.do(func(now time.Time) {
		for _, g := range s.groups {
			targets := g.targets(func(tp topicPartition, _ *slot) bool { return tp.topic == name })
			if len(targets) == 0 {
				continue
			}
			w := led.NewWaiter[error]()
			waiters = append(waiters, w)
			g.forget(now, targets, func(_ time.Time, err error) { w.Answer(err) })
		}
	})
	if !ok {
		return led.ErrUnloaded
	}
	var errs []error
	for _, w := range waiters {
		err, answered := w.Await(ctx, true)
		if !answered {
			return context.Cause(ctx)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
