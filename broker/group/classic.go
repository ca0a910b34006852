package group

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
)

// JoinGroup makes the caller a member and answers when the generation is complete.
//
// Version 0 has no rebalance timeout, the session timeout stands in. From 4 on, dynamic members are given an id first
// (MEMBER_ID_REQUIRED), from 5 on there are static members, from 9 on the leader may be told to skip the assignment.
func (c *Coordinator) JoinGroup(ctx context.Context, caller Caller, req *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
	resp := req.ResponseKind().(*kmsg.JoinGroupResponse)
	res := c.joinGroup(ctx, caller, req)
	resp.ErrorCode, resp.Generation, resp.LeaderID, resp.MemberID = res.code, res.generation, res.leader, res.memberID
	resp.SkipAssignment = res.skip
	if res.code == codeNone {
		resp.ProtocolType, resp.Protocol = &res.protocolType, &res.protocol
	}
	for _, m := range res.members {
		resp.Members = append(resp.Members, kmsg.JoinGroupResponseMember{
			MemberID: m.id, InstanceID: m.instance, ProtocolMetadata: m.metadata,
		})
	}
	return resp
}

func (c *Coordinator) joinGroup(ctx context.Context, caller Caller, req *kmsg.JoinGroupRequest) joinResult {
	r, code := c.checkJoin(caller, req)
	if code != codeNone {
		return failedJoin(code, req.MemberID)
	}
	s, code := c.shardOf(ctx, req.Group)
	if code != codeNone {
		return failedJoin(code, req.MemberID)
	}
	w := led.NewWaiter[joinResult]()
	ok := s.do(func(now time.Time) {
		g := s.group(req.Group)
		if g == nil {
			if r.memberID != "" {
				w.Answer(failedJoin(codeUnknownMemberID, r.memberID))
				return
			}
			g = s.ensure(strings.Clone(req.Group), now)
		}
		g.join(now, r, w)
		s.settle(g)
	})
	res, answered := w.Await(ctx, ok)
	if !answered {
		s.do(func(now time.Time) {
			if g := s.group(req.Group); g != nil {
				g.abandonJoin(now, w)
				s.settle(g)
			}
		})
	}
	if !answered || !s.Current() {
		return failedJoin(codeNotCoordinator, req.MemberID)
	}
	return res
}

// checkJoin checks what doesn't depend on the group and copies what is kept.
func (c *Coordinator) checkJoin(caller Caller, req *kmsg.JoinGroupRequest) (joinRequest, int16) {
	session := time.Duration(req.SessionTimeoutMillis) * time.Millisecond
	switch {
	case req.Group == "":
		return joinRequest{}, codeInvalidGroupID
	case session < c.env.cfg.MinSession || session > c.env.cfg.MaxSession:
		return joinRequest{}, codeInvalidSessionTimeout
	case req.InstanceID != nil && *req.InstanceID == "":
		return joinRequest{}, codeInvalidRequest
	}
	r := joinRequest{
		memberID: strings.Clone(req.MemberID), instance: cloneString(req.InstanceID),
		clientID: strings.Clone(caller.ClientID), clientHost: strings.Clone(caller.ClientHost),
		sessionTimeout: session, rebalanceTimeout: time.Duration(req.RebalanceTimeoutMillis) * time.Millisecond,
		protocolType: strings.Clone(req.ProtocolType),
		handshake:    req.Version >= 4, skipAssignment: req.Version >= 9,
	}
	if req.Version < 1 || req.RebalanceTimeoutMillis < 0 {
		r.rebalanceTimeout = session
	}
	for _, p := range req.Protocols {
		r.protocols = append(r.protocols, protocol{name: strings.Clone(p.Name), metadata: bytes.Clone(p.Metadata)})
	}
	return r, codeNone
}

func cloneString(s *string) *string {
	if s == nil {
		return nil
	}
	c := strings.Clone(*s)
	return &c
}

// SyncGroup gives a member its assignment, when the leader's SyncGroup has brought it and it is committed.
//
// From version 3 on with static members; from 5 on the protocol is checked and answered.
func (c *Coordinator) SyncGroup(ctx context.Context, req *kmsg.SyncGroupRequest) *kmsg.SyncGroupResponse {
	resp := req.ResponseKind().(*kmsg.SyncGroupResponse)
	res := c.syncGroup(ctx, req)
	resp.ErrorCode = res.code
	resp.MemberAssignment = res.assignment
	if resp.MemberAssignment == nil {
		resp.MemberAssignment = []byte{}
	}
	if res.code == codeNone {
		resp.ProtocolType, resp.Protocol = &res.protocolType, &res.protocol
	}
	return resp
}

func (c *Coordinator) syncGroup(ctx context.Context, req *kmsg.SyncGroupRequest) syncResult {
	if req.Group == "" {
		return syncResult{code: codeInvalidGroupID}
	}
	r := syncRequest{
		memberID: req.MemberID, instance: req.InstanceID, generation: req.Generation,
		protocolType: req.ProtocolType, protocol: req.Protocol, assignments: map[string][]byte{},
	}
	for _, a := range req.GroupAssignment {
		r.assignments[strings.Clone(a.MemberID)] = bytes.Clone(a.MemberAssignment)
	}
	s, code := c.shardOf(ctx, req.Group)
	if code != codeNone {
		return syncResult{code: code}
	}
	w := led.NewWaiter[syncResult]()
	ok := s.do(func(now time.Time) {
		g := s.group(req.Group)
		if g == nil {
			w.Answer(syncResult{code: codeUnknownMemberID})
			return
		}
		g.sync(now, r, w)
		s.settle(g)
	})
	res, answered := w.Await(ctx, ok)
	if !answered {
		s.do(func(now time.Time) {
			if g := s.group(req.Group); g != nil {
				g.abandonSync(now, w)
				s.settle(g)
			}
		})
	}
	if !answered || !s.Current() {
		return syncResult{code: codeNotCoordinator}
	}
	return res
}

// Heartbeat keeps a member's session alive and tells it when it must join again.
func (c *Coordinator) Heartbeat(ctx context.Context, req *kmsg.HeartbeatRequest) *kmsg.HeartbeatResponse {
	resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
	if req.Group == "" {
		resp.ErrorCode = codeInvalidGroupID
		return resp
	}
	resp.ErrorCode = c.ask(ctx, req.Group, func(s *shard, g *group, now time.Time) int16 {
		if g == nil {
			return codeUnknownMemberID
		}
		return g.heartbeat(now, req.MemberID, req.InstanceID, req.Generation)
	})
	return resp
}

// LeaveGroup takes members out of the group: up to version 2 the caller itself, from 3 on any, by member or instance id.
func (c *Coordinator) LeaveGroup(ctx context.Context, req *kmsg.LeaveGroupRequest) *kmsg.LeaveGroupResponse {
	resp := req.ResponseKind().(*kmsg.LeaveGroupResponse)
	if req.Group == "" {
		resp.ErrorCode = codeInvalidGroupID
		return resp
	}
	leavers := []leaver{{memberID: req.MemberID}}
	if req.Version >= 3 {
		leavers = leavers[:0]
		for _, m := range req.Members {
			leavers = append(leavers, leaver{memberID: m.MemberID, instance: m.InstanceID})
		}
	}
	var codes []int16
	resp.ErrorCode = c.ask(ctx, req.Group, func(s *shard, g *group, now time.Time) int16 {
		switch {
		case g == nil: // nobody is a member of it, which is said of each
			for range leavers {
				codes = append(codes, codeUnknownMemberID)
			}
			return codeNone
		case g.state == dead:
			return codeCoordinatorNotAvailable
		}
		codes = g.leave(now, leavers)
		s.settle(g)
		return codeNone
	})
	switch {
	case resp.ErrorCode != codeNone:
	case req.Version < 3:
		resp.ErrorCode = codes[0]
	default:
		for i, m := range req.Members {
			resp.Members = append(resp.Members, kmsg.LeaveGroupResponseMember{
				MemberID: m.MemberID, InstanceID: m.InstanceID, ErrorCode: codes[i],
			})
		}
	}
	return resp
}

// ask runs fn on a group, nil when there is none, and answers its code if this node is still the coordinator afterwards.
func (c *Coordinator) ask(ctx context.Context, groupID string, fn func(s *shard, g *group, now time.Time) int16) int16 {
	s, code := c.shardOf(ctx, groupID)
	if code != codeNone {
		return code
	}
	ok := s.do(func(now time.Time) { code = fn(s, s.group(groupID), now) })
	if !ok || !s.Current() {
		return codeNotCoordinator
	}
	return code
}
