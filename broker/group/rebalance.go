package group

import (
	"maps"
	"time"
)

// rebalanceOrComplete starts a rebalance, or ends the one that is under way if everybody is there.
func (g *group) rebalanceOrComplete(now time.Time, reason string) {
	if g.state == preparing {
		g.completeIfJoined(now)
		return
	}
	g.prepare(now, reason)
}

// afterRemoval does what must follow when so many members, or pending ids, have gone. An id that nobody joined with had no part
// in the assignment: its end only matters to those who wait for it.
func (g *group) afterRemoval(now time.Time, members int, reason string) {
	switch {
	case g.state == preparing:
		g.completeIfJoined(now)
	case members > 0 && (g.state == stable || g.state == completing):
		g.prepare(now, reason)
	}
}

// prepare asks all members to join again. The first members of an empty group wait a little for others, so that a group
// that starts all at once needs one rebalance, not one per member.
func (g *group) prepare(now time.Time, reason string) {
	if g.state == completing {
		g.failSyncs(now, codeRebalanceInProgress)
	}
	g.env.log.Info("group rebalances", "group", g.id, "generation", g.generation, "members", len(g.members), "reason", reason)
	g.env.metrics.rebalances.Inc()
	wasEmpty := g.state == empty
	g.syncBy = time.Time{}
	g.enter(preparing, now)
	timeout := g.rebalanceTimeout()
	if !wasEmpty {
		g.joinBy = now.Add(timeout)
		g.completeIfJoined(now)
		return
	}
	delay := g.env.cfg.InitialRebalanceDelay
	g.initial, g.newcomer = true, false
	g.joinBy, g.initialLeft = now.Add(delay), max(timeout-delay, 0)
	if delay <= 0 {
		g.complete(now)
	}
}

// joined counts the members that have joined again.
func (g *group) joined() int {
	n := 0
	for _, m := range g.order {
		if m.join != nil {
			n++
		}
	}
	return n
}

func (g *group) completeIfJoined(now time.Time) {
	if !g.initial && len(g.pending) == 0 && g.joined() == len(g.members) {
		g.complete(now)
	}
}

// joinTimeout runs when joinBy has come.
func (g *group) joinTimeout(now time.Time) {
	if g.initial && g.newcomer && g.initialLeft > 0 {
		delay := g.env.cfg.InitialRebalanceDelay
		g.newcomer = false
		g.joinBy, g.initialLeft = now.Add(min(delay, g.initialLeft)), max(g.initialLeft-delay, 0)
		return
	}
	g.complete(now)
}

// complete ends the joining: who has not joined is out, except static members, whose session decides.
func (g *group) complete(now time.Time) {
	g.initial, g.joinBy = false, time.Time{}
	for _, m := range g.absentDynamic() {
		g.env.log.Info("member did not join in time and is removed", "group", g.id, "member", m.id)
		g.remove(m)
	}
	if len(g.members) > 0 && !g.electLeader() {
		g.joinBy = now.Add(g.rebalanceTimeout()) // all are static and none has come: wait for one, or for their sessions to end
		return
	}
	g.generation++
	if len(g.members) == 0 {
		g.becomeEmpty(now)
		return
	}
	g.protocol = g.choose()
	g.enter(completing, now)
	g.syncBy = now.Add(g.rebalanceTimeout())
	clear(g.unsynced)
	for _, m := range g.order {
		if m.join != nil {
			m.join.Answer(g.joinAnswer(m))
			m.join = nil
		}
		m.isNew = false
		m.touch(now)
		g.unsynced[m.id] = struct{}{}
	}
}

func (g *group) absentDynamic() []*member {
	var absent []*member
	for _, m := range g.order {
		if m.join == nil && !m.static() {
			absent = append(absent, m)
		}
	}
	return absent
}

// electLeader keeps the leader if it has joined and takes the first member that has otherwise.
func (g *group) electLeader() bool {
	if m, ok := g.members[g.leader]; ok && m.join != nil {
		return true
	}
	for _, m := range g.order {
		if m.join != nil {
			g.leader = m.id
			return true
		}
	}
	return false
}

// becomeEmpty stores that nobody is left, so that the offsets' retention starts now also after a restart.
func (g *group) becomeEmpty(now time.Time) {
	g.protocol, g.leader = "", ""
	g.enter(empty, now)
	g.write(g.metadataRecords(now, nil), func(_ time.Time, err error) {
		if err != nil {
			// Nobody waits for this and the next generation is stored again.
			g.env.log.Warn("empty group was not stored", "group", g.id, "err", err)
			return
		}
		g.stored = true
	})
}

// tick does what has become due. The caller asks due for the next time.
func (g *group) tick(now time.Time) {
	maps.DeleteFunc(g.pending, func(_ string, by time.Time) bool { return !now.Before(by) })
	expired := g.expired(now)
	for _, m := range expired {
		g.env.log.Info("member's session ended", "group", g.id, "member", m.id)
		g.env.metrics.expiredMembers.Inc()
		g.remove(m)
	}
	g.afterRemoval(now, len(expired), "members have gone")
	if !g.joinBy.IsZero() && !now.Before(g.joinBy) {
		g.joinTimeout(now)
	}
	if !g.syncBy.IsZero() && !now.Before(g.syncBy) {
		g.syncTimeout(now)
	}
}

func (g *group) expired(now time.Time) []*member {
	var expired []*member
	for _, m := range g.order {
		if m.expires() && !now.Before(m.deadline) {
			expired = append(expired, m)
		}
	}
	return expired
}

// due is when tick must be called next; zero for never.
func (g *group) due() time.Time {
	var next time.Time
	earlier := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	earlier(g.joinBy)
	earlier(g.syncBy)
	for _, by := range g.pending {
		earlier(by)
	}
	for _, m := range g.order {
		if m.expires() {
			earlier(m.deadline)
		}
	}
	return next
}
