package group

import (
	"time"

	"github.com/weir-analytics/weir/broker/record"
)

// phase is where a group is in its life.
type phase int8

const (
	// empty: no members; offsets may be kept.
	empty phase = iota
	// preparing: members are asked to join again, some have.
	preparing
	// completing: everybody joined, the leader has not sent the assignment yet.
	completing
	// stable: every member may have its assignment.
	stable
	// dead: the tombstone is on its way to the log, or the group is gone.
	dead
)

// String returns Kafka's name of the phase.
func (p phase) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}[p]
}

// journal takes what a group wants to have in the log. done is called once, later, under the same lock as all methods of
// the group, in the order of the writes; err is nil when the records are committed.
type journal interface {
	write(g *group, recs []record.Record, done func(now time.Time, err error))
	// writeInTxn is write for records that count once a transaction is committed.
	writeInTxn(g *group, in Transaction, recs []record.Record, done func(now time.Time, err error))
}

// group is one consumer group: a state machine that takes the time as an argument and is guarded by the lock of its shard.
type group struct {
	id      string
	env     *env
	journal journal

	state phase
	// stateSince is when state was entered; the retention of an empty group's offsets counts from it.
	stateSince time.Time
	generation int32
	// protocolType is "consumer", "connect", ...; empty for a group that only keeps offsets.
	protocolType string
	protocol     string // chosen for this generation; empty when the group is
	leader       string // member id; empty when there are no members

	members map[string]*member
	order   []*member         // members in the order in which they came
	statics map[string]string // instance id -> member id
	// pending are ids that were given out and whose members have not joined with them yet, with the time when they lapse.
	pending map[string]time.Time
	// unsynced are members that have not sent SyncGroup in this generation.
	unsynced map[string]struct{}

	// joinBy ends the wait for members to join, syncBy that for SyncGroup. Zero when not running.
	joinBy, syncBy time.Time
	// initial is true while the first generation after empty waits for more members: joinBy may move up to initialLeft further
	// if one came (newcomer) since it was set.
	initial, newcomer bool
	initialLeft       time.Duration

	offsets map[string]map[int32]*slot // topic -> partition
	// staged says which partitions a producer's open transaction has offsets for.
	staged map[int64]map[topicPartition]struct{}
	// stored is true when the log holds a metadata record of the group.
	stored bool
	// writes counts the writes whose outcome is not known yet.
	writes int
}

func newGroup(id string, e *env, j journal, now time.Time) *group {
	return &group{
		id: id, env: e, journal: j, stateSince: now,
		members: map[string]*member{}, statics: map[string]string{},
		pending: map[string]time.Time{}, unsynced: map[string]struct{}{},
		offsets: map[string]map[int32]*slot{}, staged: map[int64]map[topicPartition]struct{}{},
	}
}

func (g *group) enter(p phase, now time.Time) {
	g.env.log.Debug("group changes state", "group", g.id, "from", g.state, "to", p, "generation", g.generation)
	g.state, g.stateSince = p, now
}

// write hands records to the journal and counts what is under way.
func (g *group) write(recs []record.Record, done func(now time.Time, err error)) {
	g.writes++
	g.journal.write(g, recs, func(now time.Time, err error) {
		g.writes--
		done(now, err)
	})
}

func (g *group) add(m *member) {
	if len(g.members) == 0 {
		g.leader = m.id
	}
	g.members[m.id] = m
	g.order = append(g.order, m)
	if m.static() {
		g.statics[*m.instance] = m.id
	}
}

// remove takes a member out and tells it so if it waits for an answer.
func (g *group) remove(m *member) {
	g.failParked(m, codeUnknownMemberID)
	delete(g.members, m.id)
	delete(g.unsynced, m.id)
	if m.static() && g.statics[*m.instance] == m.id {
		delete(g.statics, *m.instance)
	}
	for i := range g.order {
		if g.order[i] == m {
			g.order = append(g.order[:i:i], g.order[i+1:]...)
			break
		}
	}
	if g.leader == m.id {
		g.leader = ""
		if len(g.order) > 0 {
			g.leader = g.order[0].id
		}
	}
}

// failParked answers the parked requests of a member with an error.
func (g *group) failParked(m *member, code int16) {
	if m.join != nil {
		m.join.Answer(failedJoin(code, ""))
		m.join = nil
	}
	if m.sync != nil {
		m.sync.Answer(syncResult{code: code})
		m.sync = nil
	}
}

// find returns a member after checking that the caller may speak for it.
func (g *group) find(memberID string, instance *string) (*member, int16) {
	if instance != nil {
		current, ok := g.statics[*instance]
		if !ok {
			return nil, codeUnknownMemberID
		}
		if current != memberID {
			return nil, codeFencedInstanceID
		}
	}
	m, ok := g.members[memberID]
	if !ok {
		return nil, codeUnknownMemberID
	}
	return m, codeNone
}

// rebalanceTimeout is the longest that any member asked for.
func (g *group) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for _, m := range g.order {
		longest = max(longest, m.rebalanceTimeout)
	}
	return longest
}

// candidates are the protocols that every member supports, in the order of the first member.
func (g *group) candidates() []string {
	if len(g.order) == 0 {
		return nil
	}
	var names []string
	for _, p := range g.order[0].protocols {
		if g.all(p.name) {
			names = append(names, p.name)
		}
	}
	return names
}

func (g *group) all(name string) bool {
	for _, m := range g.order {
		if !m.supports(name) {
			return false
		}
	}
	return true
}

// accepts says whether somebody with these protocols can be in the group.
func (g *group) accepts(protocolType string, protocols []protocol) bool {
	if protocolType == "" || len(protocols) == 0 {
		return false
	}
	if len(g.members) == 0 {
		return true
	}
	if protocolType != g.protocolType {
		return false
	}
	for _, p := range protocols {
		if g.all(p.name) {
			return true
		}
	}
	return false
}

// choose elects the protocol of the next generation: each member votes for the first of its own that all support. A tie
// goes to the one that the first member likes better.
func (g *group) choose() string {
	candidates := g.candidates()
	votes := map[string]int{}
	for _, m := range g.order {
		votes[vote(m, candidates)]++
	}
	best := ""
	for _, name := range candidates {
		if best == "" || votes[name] > votes[best] {
			best = name
		}
	}
	return best
}

func vote(m *member, candidates []string) string {
	for _, p := range m.protocols {
		for _, name := range candidates {
			if p.name == name {
				return name
			}
		}
	}
	return ""
}

// disposable says that nothing would be lost by forgetting the group. One whose generations were counted stays until its
// tombstone is written, so that no generation is given out twice.
func (g *group) disposable() bool {
	unused := g.state == empty && g.generation == 0 || g.state == dead
	return unused && len(g.members) == 0 && len(g.pending) == 0 && len(g.offsets) == 0 && !g.stored && g.writes == 0
}
