package group

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weir-analytics/weir/broker/led"
)

// Members come, go, die and commit while writes fail, outcomes are unknown, leadership moves and the node restarts. Whatever
// the seed: in one generation of one life of the coordinator there is one leader and everybody gets what it assigned, a
// confirmed commit is never lost, and in the end the group becomes stable.
func TestGroupUnderFaults(t *testing.T) {
	seeds := 30
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) { simulate(t, uint64(seed)) })
		})
	}
}

type sim struct {
	t    *testing.T
	mu   sync.Mutex
	node *node
	part *memPartition
	over bool
	calm bool // members no longer crash, so that the group can settle

	lives       map[*shard]int
	leaders     map[string]string // life of the shard/generation -> leader
	assignments map[string]string // life of the shard/generation/member -> assignment
	acked       [simMembers]int64 // by member, which commits rising offsets for its own partition
	tried       [simMembers]int64
}

const simMembers = 4

func simulate(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	mt := newMemTopic(1)
	var ids sync.Mutex
	n := 0
	change := func(c *Config) {
		c.InitialRebalanceDelay = 100 * time.Millisecond
		c.NewID = func() string { ids.Lock(); defer ids.Unlock(); n++; return fmt.Sprint("id", n) }
	}
	s := &sim{t: t, part: mt.parts[0], lives: map[*shard]int{}, leaders: map[string]string{}, assignments: map[string]string{}}
	s.node = start(t, mt, change)
	var wg sync.WaitGroup
	for i := range simMembers {
		seed := rng.Uint64()
		wg.Go(func() { s.member(i, rand.New(rand.NewPCG(seed, 2))) })
	}
	for range 60 {
		time.Sleep(time.Duration(rng.IntN(4000)) * time.Millisecond)
		s.fault(rng, mt, change)
	}
	s.part.Set(func() { s.part.AppendErr, s.part.AppendBut = nil, false })
	s.mu.Lock()
	s.calm = true
	s.mu.Unlock()
	time.Sleep(3 * time.Minute) // longer than every session and rebalance
	synctest.Wait()
	if st := s.current().describe().State; st != stable.String() {
		t.Errorf("group is %s in the end, want Stable", st)
	}
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	wg.Wait()
	s.checkOffsets()
	s.current().stop()
	s.node = start(t, mt, change)
	s.checkOffsets()
}

func (s *sim) current() *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.node
}

// fault does something bad, or ends it.
func (s *sim) fault(rng *rand.Rand, mt *memTopic, change func(*Config)) {
	switch rng.IntN(6) {
	case 0:
		s.part.Set(func() { s.part.AppendErr, s.part.AppendBut = led.ErrNotWritten, false })
	case 1:
		s.part.Set(func() { s.part.AppendErr, s.part.AppendBut = errors.New("unknown"), rng.IntN(2) == 0 })
	case 2:
		s.part.Set(func() { s.part.Epoch++ })
	case 3:
		s.current().stop()
		next := start(s.t, mt, change)
		s.mu.Lock()
		s.node = next
		s.mu.Unlock()
	default:
		s.part.Set(func() { s.part.AppendErr, s.part.AppendBut = nil, false })
	}
}

// member is a client: join, sync, heartbeat and commit, and again when told so.
func (s *sim) member(i int, rng *rand.Rand) {
	id := ""
	for !s.done() {
		n := s.current()
		life := s.life(n)
		req := joinReq(id)
		if i%2 == 0 {
			req = static(req, fmt.Sprint("instance", i))
		}
		resp := n.JoinGroup(s.t.Context(), caller, req)
		switch resp.ErrorCode {
		case codeNone:
			id = resp.MemberID
			s.consume(n, life, i, id, resp, rng)
		case codeMemberIDRequired:
			id = resp.MemberID
		case codeUnknownMemberID, codeFencedInstanceID:
			id = ""
		}
		if rng.IntN(10) == 0 && !s.isCalm() { // a crash: the next life of this member starts without an id
			id = ""
			time.Sleep(time.Duration(rng.IntN(5000)) * time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (s *sim) consume(n *node, life, i int, id string, join *kmsg.JoinGroupResponse, rng *rand.Rand) {
	where := fmt.Sprint(life, "/", join.Generation)
	var plan map[string]string
	if join.LeaderID == id && !join.SkipAssignment {
		plan = map[string]string{}
		for _, m := range join.Members {
			plan[m.MemberID] = fmt.Sprint("plan of ", id, " in ", join.Generation, " for ", m.MemberID)
		}
		s.note(n, life, s.leaders, where, id)
	}
	got := <-n.syncLater(id, join.Generation, plan)
	if got.ErrorCode != codeNone {
		return
	}
	if len(got.MemberAssignment) > 0 && plan != nil {
		s.note(n, life, s.assignments, where+"/"+id, string(got.MemberAssignment))
		if want := plan[id]; string(got.MemberAssignment) != want {
			s.t.Errorf("leader got %q, assigned %q", got.MemberAssignment, want)
		}
	}
	for !s.done() {
		if n.beat(id, join.Generation) != codeNone {
			return
		}
		if !s.commitNext(n, i, id, join.Generation) || (rng.IntN(20) == 0 && !s.isCalm()) {
			return
		}
		time.Sleep(time.Duration(500+rng.IntN(2000)) * time.Millisecond)
	}
}

// note remembers a fact of one generation and fails when it contradicts what was noted before in the same life.
func (s *sim) note(n *node, life int, facts map[string]string, where, what string) {
	if life != s.life(n) {
		return // the answer may belong to either life
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := facts[where]; ok && old != what {
		s.t.Errorf("%s: %q and %q", where, old, what)
	}
	facts[where] = what
}

func (s *sim) commitNext(n *node, i int, id string, generation int32) bool {
	s.mu.Lock()
	s.tried[i]++
	at := s.tried[i]
	s.mu.Unlock()
	code := n.commit(id, generation, "hits", int32(i), at)
	if code == codeNone {
		s.mu.Lock()
		s.acked[i] = at
		s.mu.Unlock()
	}
	return code == codeNone
}

func (s *sim) done() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

func (s *sim) isCalm() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calm
}

// life numbers the shard that serves the group at the moment. Each load of the log begins another one, in which a generation
// that was not stored may be given out anew.
func (s *sim) life(n *node) int {
	sh, _ := n.shards.Get(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.lives[sh]; !ok {
		s.lives[sh] = len(s.lives)
	}
	return s.lives[sh]
}

func (s *sim) checkOffsets() {
	s.t.Helper()
	commits := int64(0)
	for i := range simMembers {
		got := s.current().fetch("hits", int32(i))
		if got < s.acked[i] || got > s.tried[i] {
			s.t.Errorf("partition %d: offset %d, want between %d (confirmed) and %d (tried)", i, got, s.acked[i], s.tried[i])
		}
		commits += s.acked[i]
	}
	if commits == 0 {
		s.t.Error("nothing was ever committed, the test tests nothing")
	}
}
