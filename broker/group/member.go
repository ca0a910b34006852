package group

import (
	"bytes"
	"time"

	"github.com/weir-analytics/weir/broker/led"
)

// protocol is one assignment strategy that a member offers, with what it tells the leader under that strategy.
type protocol struct {
	name     string
	metadata []byte
}

// member is one member of a group. It is guarded by the lock of its shard.
type member struct {
	id                   string
	instance             *string // set for static members
	clientID, clientHost string

	sessionTimeout   time.Duration
	rebalanceTimeout time.Duration
	protocols        []protocol // in the member's order of preference
	assignment       []byte

	// isNew is true until the first JoinGroup of this member is answered: it has not seen its id yet and can't send heartbeats.
	isNew bool
	// hasID is true when the client named this id itself, so that it may come back under it.
	hasID bool

	join *led.Waiter[joinResult] // parked JoinGroup
	sync *led.Waiter[syncResult] // parked SyncGroup

	// deadline is when the member is taken for dead, unless a parked request shows that it is alive.
	deadline time.Time
}

func (m *member) static() bool { return m.instance != nil }

// touch notes a sign of life.
func (m *member) touch(now time.Time) { m.deadline = now.Add(m.sessionTimeout) }

// expires says whether deadline counts now. A member with a parked request is waiting for us, not we for it; a new one is
// bounded all the same, because a client that gave up would leave a member behind with every try.
func (m *member) expires() bool { return m.isNew || (m.join == nil && m.sync == nil) }

// metadata returns what the member sent for a protocol.
func (m *member) metadata(name string) []byte {
	for _, p := range m.protocols {
		if p.name == name {
			return p.metadata
		}
	}
	return nil
}

func (m *member) supports(name string) bool {
	for _, p := range m.protocols {
		if p.name == name {
			return true
		}
	}
	return false
}

// offers says whether the member already offers exactly these protocols.
func (m *member) offers(protocols []protocol) bool {
	if len(m.protocols) != len(protocols) {
		return false
	}
	for i, p := range protocols {
		if m.protocols[i].name != p.name || !bytes.Equal(m.protocols[i].metadata, p.metadata) {
			return false
		}
	}
	return true
}
