package group

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/weir-analytics/weir/broker/led"
	"github.com/weir-analytics/weir/broker/record"
)

// check returns what is wrong with a group, whatever happened to it before.
func (g *group) check() error {
	if len(g.order) != len(g.members) {
		return fmt.Errorf("%d members in order, %d in the map", len(g.order), len(g.members))
	}
	statics := 0
	for _, m := range g.order {
		if g.members[m.id] != m {
			return fmt.Errorf("member %q is not under its id", m.id)
		}
		if m.static() {
			statics++
			if g.statics[*m.instance] != m.id {
				return fmt.Errorf("instance %q belongs to %q, want %q", *m.instance, g.statics[*m.instance], m.id)
			}
		}
		if m.join != nil && g.state != preparing {
			return fmt.Errorf("JoinGroup of %q is parked in state %s", m.id, g.state)
		}
		if m.sync != nil && g.state != completing {
			return fmt.Errorf("SyncGroup of %q is parked in state %s", m.id, g.state)
		}
		if m.deadline.IsZero() {
			return fmt.Errorf("member %q has no deadline", m.id)
		}
	}
	switch {
	case statics != len(g.statics):
		return fmt.Errorf("%d static members, %d instances", statics, len(g.statics))
	case len(g.members) > 0 && g.members[g.leader] == nil:
		return fmt.Errorf("leader %q is not a member", g.leader)
	case (g.state == empty || g.state == dead) && len(g.members) > 0:
		return fmt.Errorf("%d members in state %s", len(g.members), g.state)
	case (g.state == completing || g.state == stable) && (len(g.members) == 0 || !g.all(g.protocol)):
		return fmt.Errorf("%d members, protocol %q in state %s", len(g.members), g.protocol, g.state)
	case g.state == preparing && g.joinBy.IsZero():
		return errors.New("a rebalance that nothing ends")
	case g.state == completing && g.syncBy.IsZero() && len(g.unsynced) > 0:
		return errors.New("members are waited for and nothing ends that")
	case g.writes < 0:
		return fmt.Errorf("%d writes under way", g.writes)
	}
	for id := range g.unsynced {
		if g.members[id] == nil && g.state != preparing {
			return fmt.Errorf("unsynced %q is not a member", id)
		}
	}
	for topic, partitions := range g.offsets {
		if len(partitions) == 0 {
			return fmt.Errorf("topic %q without slots", topic)
		}
		for _, s := range partitions {
			if s.writes < 0 || s.staging < 0 || s.staging > s.writes || s.unused() {
				return fmt.Errorf("slot of %q: %+v", topic, *s)
			}
		}
	}
	return nil
}

// steppedJournal keeps writes until the test says what becomes of them.
type steppedJournal struct {
	writes []func(now time.Time, err error)
	recs   [][]record.Record
}

func (j *steppedJournal) write(_ *group, recs []record.Record, done func(now time.Time, err error)) {
	j.writes, j.recs = append(j.writes, done), append(j.recs, recs)
}

func (j *steppedJournal) writeInTxn(g *group, _ Transaction, recs []record.Record, done func(now time.Time, err error)) {
	j.write(g, recs, done)
}

func (j *steppedJournal) finish(now time.Time, err error) {
	if len(j.writes) == 0 {
		return
	}
	done := j.writes[0]
	j.writes, j.recs = j.writes[1:], j.recs[1:]
	done(now, err)
}

func testEnv() *env {
	cfg := testConfig(newMemTopic(1))
	cfg.MaxGroupSize = 4
	cfg.fill()
	return &env{cfg: cfg, log: slog.New(slog.DiscardHandler), metrics: newMetrics(nil, nil)}
}

// Whatever comes in whatever order, a group keeps its invariants, answers nobody twice (answer panics), and leaves nobody
// without an answer: once everything has timed out and all writes have ended, nothing is parked and no member is left.
func FuzzGroupKeepsItsInvariants(f *testing.F) {
	f.Add([]byte{0, 0, 16, 0, 40, 40, 40, 2, 32, 2, 48, 5, 3, 4, 6, 7})
	f.Add([]byte{1, 17, 40, 40, 2, 18, 5, 1, 5, 17, 5, 7, 7, 40, 40, 40})
	f.Add([]byte{0, 1, 40, 9, 25, 2, 5, 8, 5, 8, 6, 5, 11, 10, 5})
	f.Fuzz(func(t *testing.T, ops []byte) {
		j := &steppedJournal{}
		e := testEnv()
		now := time.Unix(1_700_000_000, 0)
		g := newGroup(testGroup, e, j, now)
		var joins []*led.Waiter[joinResult]
		var syncs []*led.Waiter[syncResult]
		ids := []string{""}
		for i, op := range ops {
			who := ids[int(op>>4)%len(ids)]
			switch op & 15 {
			case 0, 1:
				r := joinRequest{memberID: who, clientID: "c", sessionTimeout: 10 * time.Second, rebalanceTimeout: 30 * time.Second,
					protocolType: "consumer", protocols: []protocol{{name: "range", metadata: []byte{op & 64}}}, handshake: op&128 != 0}
				if op&1 == 1 {
					instance := string(rune('a' + op>>6))
					r.instance = &instance
				}
				w := led.NewWaiter[joinResult]()
				g.join(now, r, w)
				joins = append(joins, w)
			case 2, 12:
				w := led.NewWaiter[syncResult]()
				g.sync(now, syncRequest{memberID: who, generation: g.generation, assignments: map[string][]byte{who: []byte(who)}}, w)
				syncs = append(syncs, w)
			case 3:
				g.heartbeat(now, who, nil, g.generation)
			case 4:
				g.leave(now, []leaver{{memberID: who}})
			case 5:
				j.finish(now, nil)
			case 6:
				j.finish(now, led.ErrNotWritten)
			case 7, 8:
				now = now.Add(time.Duration(op>>4) * time.Second)
				g.tick(now)
			case 9:
				if m, code := g.checkCommit(who, nil, g.generation); code == codeNone {
					g.commit(now, m, []commitItem{{topicPartition{"t", int32(op >> 6)}, &offset{at: int64(i), expiresMs: noExpiry, committedMs: now.UnixMilli()}}}, func(error) {})
				}
			case 10:
				if g.state == empty {
					g.delete(now, func(error) {})
				}
			case 11:
				g.expire(now.Add(time.Duration(op>>4) * 24 * time.Hour))
			case 13:
				if len(joins) > 0 {
					g.abandonJoin(now, joins[int(op>>4)%len(joins)])
				}
			case 14:
				if len(syncs) > 0 {
					g.abandonSync(now, syncs[int(op>>4)%len(syncs)])
				}
			case 15: // load again what a journal would hold of it
				v, err := parseMetadata(g.metadataRecords(now, g.assignments())[0].Value)
				if err != nil {
					t.Fatalf("own record can't be read: %v", err)
				}
				if n := newGroup(testGroup, e, j, now); len(v.Members) != len(g.members) || v.Generation != g.generation {
					t.Fatalf("own record: %+v", v)
				} else if (&groupImage{metadata: v}).fill(n, now); n.check() != nil && g.all(g.protocol) {
					t.Fatalf("group from its own record: %v", n.check())
				}
			}
			if err := g.check(); err != nil {
				t.Fatalf("after step %d (%d): %v", i, op&15, err)
			}
			for id := range g.members {
				if len(ids) < 12 {
					ids = append(ids, id)
				}
			}
			for id := range g.pending {
				if len(ids) < 12 {
					ids = append(ids, id)
				}
			}
		}
		for range 20 {
			for len(j.writes) > 0 {
				j.finish(now, nil)
			}
			if due := g.due(); !due.IsZero() {
				now = due
				g.tick(now)
			}
		}
		if len(g.members) > 0 || len(g.pending) > 0 {
			t.Fatalf("%d members and %d ids are left when nobody is heard of any more, state %s", len(g.members), len(g.pending), g.state)
		}
	})
}

// No stored record makes the loader panic, and what it takes in comes out the same after being written again.
func FuzzStoredRecord(f *testing.F) {
	now := time.UnixMilli(1_700_000_000_000)
	f.Add(offsetKey("g", "t", 3), offsetRecord("g", "t", 3, &offset{at: 5, leaderEpoch: 2, metadata: "m", expiresMs: noExpiry}, now).Value)
	f.Add(offsetKey("g", "t", 3), offsetRecord("g", "t", 3, &offset{at: 5, leaderEpoch: -1, expiresMs: 77}, now).Value)
	g := newGroup("g", testEnv(), &steppedJournal{}, now)
	instance := "i"
	g.protocolType, g.protocol, g.generation = "consumer", "range", 4
	g.add(&member{id: "m", instance: &instance, clientID: "c", sessionTimeout: time.Second, protocols: []protocol{{"range", []byte("x")}}})
	f.Add(groupKey("g"), g.metadataRecords(now, map[string][]byte{"m": []byte("a")})[0].Value)
	f.Add([]byte{0, 3}, []byte{0, 0})
	f.Fuzz(func(t *testing.T, k, v []byte) {
		img := newImage()
		if err := img.applyRecord(record.Batch{}, record.Record{Key: k, Value: v}); err != nil {
			return
		}
		for id, gi := range img.groups {
			g := newGroup(id, testEnv(), &steppedJournal{}, now)
			gi.fill(g, now)
			if err := g.check(); err != nil {
				t.Fatal(err)
			}
			for tp, s := range gi.slots {
				o := s.committed
				if o == nil {
					continue
				}
				again, err := parseOffset(offsetRecord(id, tp.topic, tp.partition, o, now).Value)
				if err != nil || again.at != o.at || again.metadata != o.metadata || again.committedMs != o.committedMs || again.expiresMs != o.expiresMs {
					t.Fatalf("offset %+v comes back as %+v, %v", *o, again, err)
				}
			}
			again := &groupImage{}
			var err error
			if again.metadata, err = parseMetadata(g.metadataRecords(now, g.assignments())[0].Value); err != nil {
				t.Fatalf("group can't be read back: %v", err)
			}
			g2 := newGroup(id, testEnv(), &steppedJournal{}, now)
			again.fill(g2, now)
			if a, b := fmt.Sprint(g.generation, g.protocolType, g.protocol, g.leader, len(g.members)), fmt.Sprint(g2.generation, g2.protocolType, g2.protocol, g2.leader, len(g2.members)); a != b {
				t.Fatalf("group %s comes back as %s", a, b)
			}
		}
	})
}
