package hardstate

import (
	"fmt"
	"sync"
)

// The keys under which raft stores what it must not forget.
const (
	keyCurrentTerm  = "CurrentTerm"
	keyLastVoteTerm = "LastVoteTerm"
	keyLastVoteCand = "LastVoteCand"
)

// Group is the stable store of one raft group. Raft calls it from one
// goroutine; it is safe for more.
type Group struct {
	store *Store
	id    GroupID

	mu       sync.Mutex
	voteTerm uint64 // given, but durable only with its candidate
}

// Group returns the stable store of a group.
func (s *Store) Group(id GroupID) *Group {
	st, _ := s.Known(id)
	return &Group{store: s, id: id, voteTerm: st.VoteTerm}
}

// SetUint64 stores the current term, durably, or remembers the term of a vote
// until its candidate follows.
func (g *Group) SetUint64(key []byte, val uint64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch string(key) {
	case keyCurrentTerm:
		st, _ := g.store.Known(g.id)
		st.Term = val
		return g.store.set(g.id, st)
	case keyLastVoteTerm:
		g.voteTerm = val
		return nil
	}
	return fmt.Errorf("hard state has no number %q", key)
}

// GetUint64 returns a stored number, 0 when there is none.
func (g *Group) GetUint64(key []byte) (uint64, error) {
	st, _ := g.store.Known(g.id)
	switch string(key) {
	case keyCurrentTerm:
		return st.Term, nil
	case keyLastVoteTerm:
		return st.VoteTerm, nil
	}
	return 0, fmt.Errorf("hard state has no number %q", key)
}

// Set stores the candidate of a vote together with the term given before.
func (g *Group) Set(key, val []byte) error {
	if string(key) != keyLastVoteCand {
		return fmt.Errorf("hard state has no value %q", key)
	}
	if len(val) > maxCandidate {
		return fmt.Errorf("candidate of %d bytes, want at most %d", len(val), maxCandidate)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	st, _ := g.store.Known(g.id)
	st.VoteTerm, st.Candidate = g.voteTerm, string(val)
	return g.store.set(g.id, st)
}

// Get returns the candidate of the last vote, empty when there is none.
func (g *Group) Get(key []byte) ([]byte, error) {
	if string(key) != keyLastVoteCand {
		return nil, fmt.Errorf("hard state has no value %q", key)
	}
	st, _ := g.store.Known(g.id)
	return []byte(st.Candidate), nil
}

// String names the group for logs.
func (id GroupID) String() string {
	topic, partition := id.Partition()
	return fmt.Sprintf("%x-%d", topic, partition)
}
