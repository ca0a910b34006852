package group

import "time"

// heartbeat takes a Heartbeat.
func (g *group) heartbeat(now time.Time, memberID string, instance *string, generation int32) int16 {
	m, code := g.checkMember(memberID, instance, generation)
	if code != codeNone {
		return code
	}
	m.touch(now)
	if g.state == preparing {
		return codeRebalanceInProgress
	}
	return codeNone
}

// leaver names a member that leaves. An administrator may name a static member by its instance alone.
type leaver struct {
	memberID string
	instance *string
}

// leave takes a LeaveGroup and returns one code per member.
func (g *group) leave(now time.Time, leavers []leaver) []int16 {
	codes := make([]int16, len(leavers))
	before := len(g.members)
	for i, l := range leavers {
		codes[i] = g.leaveOne(l)
	}
	g.afterRemoval(now, before-len(g.members), "member leaves")
	return codes
}

func (g *group) leaveOne(l leaver) int16 {
	if l.memberID == "" && l.instance != nil {
		id, ok := g.statics[*l.instance]
		if !ok {
			return codeUnknownMemberID
		}
		g.remove(g.members[id])
		return codeNone
	}
	if _, ok := g.pending[l.memberID]; ok && l.instance == nil {
		delete(g.pending, l.memberID)
		return codeNone
	}
	m, code := g.find(l.memberID, l.instance)
	if code != codeNone {
		return code
	}
	g.remove(m)
	return codeNone
}
