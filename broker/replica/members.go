package replica

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// Membership is who is in the group, by server id, as this replica knows it.
type Membership struct {
	Voters, Learners []string
	Index            uint64 // of the entry that says so
}

// Has says whether a server is in the group.
func (m Membership) Has(server string) (voter, learner bool) {
	for _, id := range m.Voters {
		voter = voter || id == server
	}
	for _, id := range m.Learners {
		learner = learner || id == server
	}
	return voter, learner
}

const (
	// memberWait bounds one change of the group; its outcome is unknown then, and the next look at Membership tells.
	memberWait = 10 * time.Second
	// caughtUpEntries and caughtUpWithin say how near and how fresh a follower's answer is by which it counts as having caught up.
	caughtUpEntries = 16
	caughtUpWithin  = 3 * time.Second
	// stalledAfter is how long a leader may take to store entries, or a transfer of leadership to end, before another node should lead.
	stalledAfter = 8 * time.Second
)

// Membership returns who is in the group.
func (r *Replica) Membership() Membership {
	var m Membership
	if r.Err() != nil {
		return m
	}
	future := r.raft.GetConfiguration()
	if future.Error() != nil {
		return m
	}
	for _, s := range future.Configuration().Servers {
		if s.Suffrage == raft.Voter {
			m.Voters = append(m.Voters, string(s.ID))
		} else {
			m.Learners = append(m.Learners, string(s.ID))
		}
	}
	m.Index = future.Index()
	return m
}

// AddLearner takes a server in that gets the log and has no vote; Promote gives it one, Remove takes it out. Only the leader can; each is refused
// when the group has changed since at, so that two who look after the same group do not undo each other's work.
func (r *Replica) AddLearner(server string, at uint64) error {
	if err := r.link.Reaches(raft.ServerID(server)); err != nil {
		return fmt.Errorf("add a learner: it is not ready: %w", err)
	}
	return r.changeMembers("add a learner", func() raft.IndexFuture {
		return r.raft.AddNonvoter(raft.ServerID(server), raft.ServerAddress(server), at, memberWait)
	})
}

// Promote gives a learner a vote. See AddLearner.
func (r *Replica) Promote(server string, at uint64) error {
	return r.changeMembers("make a learner a voter", func() raft.IndexFuture {
		return r.raft.AddVoter(raft.ServerID(server), raft.ServerAddress(server), at, memberWait)
	})
}

// RemoveMember takes a server out. See AddLearner.
func (r *Replica) RemoveMember(server string, at uint64) error {
	return r.changeMembers("remove a replica", func() raft.IndexFuture { return r.raft.RemoveServer(raft.ServerID(server), at, memberWait) })
}

func (r *Replica) changeMembers(what string, change func() raft.IndexFuture) error {
	if err := r.serving(); err != nil {
		return err
	}
	if err := change().Error(); err != nil {
		return fmt.Errorf("%s: %w", what, proposeError(err))
	}
	return nil
}

// CaughtUp says whether a follower of this leader has, a moment ago, had almost all of the log.
func (r *Replica) CaughtUp(server string) bool {
	last, at := r.link.Progress(raft.ServerID(server))
	return time.Since(at) < caughtUpWithin && last+caughtUpEntries >= r.log.Bounds().LastIndex
}

// HandOver makes a voter that has caught up the leader; empty: any. Batches that come meanwhile are refused with ErrNotLeader.
func (r *Replica) HandOver(server string) error {
	if err := r.serving(); err != nil {
		return err
	}
	if server == "" {
		return r.raft.LeadershipTransfer().Error()
	}
	return r.raft.LeadershipTransferToServer(raft.ServerID(server), raft.ServerAddress(server)).Error()
}

// errStalled stops a leader that stands still.
var errStalled = errors.New("it has led without getting on")

// Watch steps in when this replica leads and stands still, because its disk does not answer or because a transfer of leadership was never
// taken back, which the library does not notice: its heartbeats stop, so that another replica leads, and it stops as after a failed write. A
// group of one has nobody else to lead it and goes on waiting.
func (r *Replica) Watch(now time.Time) {
	if r.Err() != nil || r.raft == nil || r.raft.State() != raft.Leader || r.logs.headsOnly.Load() {
		return
	}
	refusing := r.refusing.Load()
	if now.Sub(time.Unix(0, r.refused.Load())) > caughtUpWithin {
		refusing = 0 // nobody has asked since
	}
	for what, began := range map[string]int64{"storing entries": r.logs.storing.Load(), "handing over": refusing} {
		if began > 0 && now.Sub(time.Unix(0, began)) > stalledAfter {
			r.link.Withhold()
			r.fail(fmt.Errorf("%w: %s takes longer than %s", errStalled, what, stalledAfter))
			return
		}
	}
}
