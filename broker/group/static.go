package group

import (
	"time"

	"github.com/weir-analytics/weir/broker/led"
)

// replaceStatic lets a restarted static member take the place of its former self under another member id. In a stable group
// nobody else notices: the member keeps its assignment, as long as its protocols don't change the group's choice.
func (g *group) replaceStatic(now time.Time, m *member, id string, r joinRequest, w *led.Waiter[joinResult]) {
	g.failParked(m, codeFencedInstanceID)
	before := *m
	oldLeader := g.leader
	g.rename(m, id)
	m.isNew = false
	g.update(m, r, w)
	m.touch(now)
	switch {
	case g.state == preparing:
		g.completeIfJoined(now)
	case g.state == stable && g.choose() == g.protocol:
		m.join = nil // answered when the new id is stored
		g.storeReplaced(now, m, before, oldLeader, r, w)
	default:
		// Between join and sync the leader may already assign to the old id.
		g.prepare(now, "static member came back")
	}
}

// rename gives a member another id and keeps its place, its assignment and its leadership.
func (g *group) rename(m *member, id string) {
	old := m.id
	delete(g.members, old)
	m.id = id
	g.members[id] = m
	if m.static() {
		g.statics[*m.instance] = id
	}
	if g.leader == old {
		g.leader = id
	}
	if _, ok := g.unsynced[old]; ok {
		delete(g.unsynced, old)
		g.unsynced[id] = struct{}{}
	}
}

// storeReplaced remembers the new id of a static member before it is told, and takes the change back if that fails.
func (g *group) storeReplaced(now time.Time, m *member, before member, oldLeader string, r joinRequest, w *led.Waiter[joinResult]) {
	id := m.id
	g.write(g.metadataRecords(now, g.assignments()), func(now time.Time, err error) {
		switch {
		case g.members[id] != m:
			w.Answer(failedJoin(codeFencedInstanceID, id)) // replaced or removed meanwhile
		case err != nil:
			g.rename(m, before.id)
			m.protocols, m.clientID, m.clientHost = before.protocols, before.clientID, before.clientHost
			m.sessionTimeout, m.rebalanceTimeout = before.sessionTimeout, before.rebalanceTimeout
			w.Answer(failedJoin(led.StoreCode(err), ""))
		default:
			g.stored = true
			m.touch(now)
			w.Answer(g.replacedAnswer(m, oldLeader, r.skipAssignment))
		}
	})
}

// replacedAnswer tells a returned static member its generation. From v9 on a leader is told that it is one and that it must
// not assign anew. Older clients can't be told so: they get the id that the leader had before, so that nobody feels called.
func (g *group) replacedAnswer(m *member, oldLeader string, skipAssignment bool) joinResult {
	res := g.joinAnswer(m)
	if skipAssignment {
		res.skip = g.leader == m.id
		return res
	}
	res.leader, res.members = oldLeader, nil
	return res
}
