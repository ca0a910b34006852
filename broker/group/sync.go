package group

import (
	"errors"
	"slices"
	"time"

	"github.com/weir-analytics/weir/broker/led"
)

// syncRequest is a SyncGroup after its fields were checked.
type syncRequest struct {
	memberID     string
	instance     *string
	generation   int32
	protocolType *string // nil before v5
	protocol     *string
	assignments  map[string][]byte // from the leader: member id -> assignment
}

// syncResult answers a SyncGroup.
type syncResult struct {
	code         int16
	protocolType string
	protocol     string
	assignment   []byte
}

// sync takes a SyncGroup. w is answered at once or when the leader's assignment is stored.
func (g *group) sync(now time.Time, r syncRequest, w *led.Waiter[syncResult]) {
	m, code := g.checkMember(r.memberID, r.instance, r.generation)
	if code == codeNone && (differs(r.protocolType, g.protocolType) || differs(r.protocol, g.protocol)) && g.state != empty {
		code = codeInconsistentGroupProtocol
	}
	if code != codeNone {
		w.Answer(syncResult{code: code})
		return
	}
	switch g.state {
	case preparing:
		w.Answer(syncResult{code: codeRebalanceInProgress})
	case completing:
		g.synced(m)
		g.park(m, w)
		if g.leader == m.id {
			g.storeAssignment(now, r.assignments)
		}
	case stable:
		g.synced(m)
		m.touch(now)
		w.Answer(g.syncAnswer(m))
	default:
		w.Answer(syncResult{code: codeUnknownMemberID})
	}
}

func differs(got *string, want string) bool { return got != nil && *got != want }

// checkMember is what SyncGroup and Heartbeat demand of their caller.
func (g *group) checkMember(memberID string, instance *string, generation int32) (*member, int16) {
	if g.state == dead {
		return nil, codeCoordinatorNotAvailable
	}
	m, code := g.find(memberID, instance)
	if code == codeNone && generation != g.generation {
		code = codeIllegalGeneration
	}
	return m, code
}

func (g *group) synced(m *member) {
	delete(g.unsynced, m.id)
	if len(g.unsynced) == 0 {
		g.syncBy = time.Time{}
	}
}

func (g *group) park(m *member, w *led.Waiter[syncResult]) {
	if m.sync != nil {
		m.sync.Answer(syncResult{code: codeRebalanceInProgress}) // asked again on another connection
	}
	m.sync = w
}

func (g *group) syncAnswer(m *member) syncResult {
	return syncResult{protocolType: g.protocolType, protocol: g.protocol, assignment: m.assignment}
}

// storeAssignment makes the leader's assignment durable, then gives it out. A rebalance that starts meanwhile wins.
func (g *group) storeAssignment(now time.Time, assignments map[string][]byte) {
	generation := g.generation
	g.write(g.metadataRecords(now, assignments), func(now time.Time, err error) {
		if err == nil {
			g.stored = true
		}
		if g.state != completing || g.generation != generation {
			return
		}
		if err != nil {
			g.env.log.Warn("assignment was not stored, the group rebalances", "group", g.id, "generation", g.generation, "err", err)
			g.failSyncs(now, led.StoreCode(err))
			if errors.Is(err, led.ErrUnloaded) {
				return // the group is about to be thrown away
			}
			g.prepare(now, "assignment was not stored")
			return
		}
		g.enter(stable, now)
		for _, m := range g.order {
			m.assignment = assignments[m.id]
			if m.sync != nil {
				m.sync.Answer(g.syncAnswer(m))
				m.sync = nil
				m.touch(now)
			}
		}
	})
}

// failSyncs answers all parked SyncGroups with an error and forgets what was assigned.
func (g *group) failSyncs(now time.Time, code int16) {
	for _, m := range g.order {
		m.assignment = nil
		if m.sync != nil {
			m.sync.Answer(syncResult{code: code})
			m.sync = nil
			m.touch(now)
		}
	}
}

// syncTimeout runs when syncBy has come: who joined and never came for its assignment is out.
func (g *group) syncTimeout(now time.Time) {
	g.syncBy = time.Time{}
	late := slices.DeleteFunc(slices.Clone(g.order), func(m *member) bool {
		_, waiting := g.unsynced[m.id]
		return !waiting
	})
	for _, m := range late {
		g.env.log.Info("member did not ask for its assignment in time and is removed", "group", g.id, "member", m.id)
		g.remove(m)
	}
	g.afterRemoval(now, len(late), "members did not sync")
}

// abandonSync forgets a parked SyncGroup whose client has gone. The member has until its session ends.
func (g *group) abandonSync(now time.Time, w *led.Waiter[syncResult]) {
	for _, m := range g.order {
		if m.sync == w {
			m.sync = nil
			m.touch(now)
		}
	}
}
