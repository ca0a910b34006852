package group

import (
	"slices"
	"time"

	"github.com/weir-analytics/weir/broker/led"
)

// joinRequest is a JoinGroup after its fields were checked.
type joinRequest struct {
	memberID             string
	instance             *string
	clientID, clientHost string
	sessionTimeout       time.Duration
	rebalanceTimeout     time.Duration
	protocolType         string
	protocols            []protocol
	handshake            bool // v4: a new dynamic member is given its id first and must come again with it
	skipAssignment       bool // v9: the leader understands SkipAssignment
}

// joinResult answers a JoinGroup.
type joinResult struct {
	code         int16
	generation   int32
	protocolType string
	protocol     string
	leader       string
	skip         bool
	memberID     string
	members      []joinedMember // for the leader only
}

type joinedMember struct {
	id       string
	instance *string
	metadata []byte
}

func failedJoin(code int16, memberID string) joinResult {
	return joinResult{code: code, generation: -1, memberID: memberID}
}

// join takes a JoinGroup. w is answered at once or when the generation is complete.
func (g *group) join(now time.Time, r joinRequest, w *led.Waiter[joinResult]) {
	switch {
	case g.state == dead:
		w.Answer(failedJoin(codeCoordinatorNotAvailable, r.memberID))
	case g.full(r.memberID):
		w.Answer(failedJoin(codeGroupMaxSizeReached, ""))
	case !g.accepts(r.protocolType, r.protocols):
		w.Answer(failedJoin(codeInconsistentGroupProtocol, r.memberID))
	case r.memberID == "":
		g.joinNew(now, r, w)
	default:
		g.joinKnown(now, r, w)
	}
}

// full says whether the group has no room for the caller. While members are joining again, those that already have keep
// their place.
func (g *group) full(memberID string) bool {
	limit := g.env.cfg.MaxGroupSize
	m, known := g.members[memberID]
	switch g.state {
	case empty, dead:
		return memberID == "" && len(g.pending) >= limit
	case preparing:
		return (!known || m.join == nil) && g.joined() >= limit
	default:
		return !known && len(g.members) >= limit
	}
}

func (g *group) joinNew(now time.Time, r joinRequest, w *led.Waiter[joinResult]) {
	if r.instance != nil {
		id := *r.instance + "-" + g.env.cfg.NewID()
		if old, ok := g.statics[*r.instance]; ok {
			g.replaceStatic(now, g.members[old], id, r, w)
			return
		}
		g.addJoining(now, id, r, w)
		return
	}
	id := r.clientID + "-" + g.env.cfg.NewID()
	if r.handshake {
		g.pending[id] = now.Add(r.sessionTimeout)
		w.Answer(failedJoin(codeMemberIDRequired, id))
		return
	}
	g.addJoining(now, id, r, w)
}

func (g *group) joinKnown(now time.Time, r joinRequest, w *led.Waiter[joinResult]) {
	if _, ok := g.pending[r.memberID]; ok && r.instance == nil {
		g.addJoining(now, r.memberID, r, w)
		return
	}
	m, code := g.find(r.memberID, r.instance)
	if code != codeNone {
		w.Answer(failedJoin(code, r.memberID))
		return
	}
	m.hasID = true
	switch {
	case g.state == completing && m.offers(r.protocols), g.state == stable && m.offers(r.protocols) && g.leader != m.id:
		// The first answer got lost: say it again. A leader of a stable group that joins again asks for a rebalance.
		m.touch(now)
		w.Answer(g.joinAnswer(m))
	default:
		g.update(m, r, w)
		g.touchJoining(m, now)
		g.rebalanceOrComplete(now, "member joins again")
	}
}

// addJoining makes the caller a member.
func (g *group) addJoining(now time.Time, id string, r joinRequest, w *led.Waiter[joinResult]) {
	delete(g.pending, id)
	m := &member{id: id, instance: r.instance, clientID: r.clientID, clientHost: r.clientHost, isNew: true, hasID: id == r.memberID}
	g.update(m, r, w)
	if len(g.members) == 0 {
		g.protocolType = r.protocolType
	}
	g.add(m)
	g.newcomer = g.newcomer || g.initial
	g.touchJoining(m, now)
	g.rebalanceOrComplete(now, "member joins")
}

// touchJoining sets the deadline of a member that has just parked a JoinGroup. A new one can't send heartbeats until it is
// answered, which may take longer than its session.
func (g *group) touchJoining(m *member, now time.Time) {
	m.touch(now)
	if m.isNew {
		m.deadline = now.Add(g.env.cfg.NewMemberTimeout)
	}
}

// update takes over what a member says about itself and parks its request.
func (g *group) update(m *member, r joinRequest, w *led.Waiter[joinResult]) {
	if m.join != nil {
		// The client asked again on another connection and no longer waits for the first answer.
		m.join.Answer(failedJoin(codeRebalanceInProgress, m.id))
	}
	m.join = w
	m.protocols = r.protocols
	m.sessionTimeout, m.rebalanceTimeout = r.sessionTimeout, r.rebalanceTimeout
	m.clientID, m.clientHost = r.clientID, r.clientHost
}

// joinAnswer describes the current generation to a member.
func (g *group) joinAnswer(m *member) joinResult {
	res := joinResult{
		generation: g.generation, protocolType: g.protocolType, protocol: g.protocol, leader: g.leader, memberID: m.id,
	}
	if g.leader == m.id {
		res.members = g.joinedMembers()
	}
	return res
}

func (g *group) joinedMembers() []joinedMember {
	members := make([]joinedMember, 0, len(g.order))
	for _, m := range g.order {
		members = append(members, joinedMember{id: m.id, instance: m.instance, metadata: m.metadata(g.protocol)})
	}
	return members
}

// abandonJoin forgets a parked JoinGroup whose client has gone. A client that never learned its member id can't come back
// for it, so the member goes too; others have until their session ends.
func (g *group) abandonJoin(now time.Time, w *led.Waiter[joinResult]) {
	i := slices.IndexFunc(g.order, func(m *member) bool { return m.join == w })
	if i < 0 {
		return
	}
	m := g.order[i]
	m.join = nil
	m.touch(now)
	if m.isNew && !m.hasID && !m.static() {
		g.remove(m)
		g.afterRemoval(now, 1, "client of a new member has gone")
	}
}
