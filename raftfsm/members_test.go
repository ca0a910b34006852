package raftfsm

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/peer"
	"github.com/weir-analytics/weir/raftfsm/state"
)

// member is a node of a cluster in this process.
type member struct {
	*Controller
	t    *testing.T
	cfg  Config
	stop func()
}

// startMember opens and runs a node; join is a member to join through.
func startMember(t *testing.T, dir, addr string, join *member) *member {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Default(dir)
	cfg.ElectionTimeout, cfg.Log = 300*time.Millisecond, slog.New(slog.DiscardHandler)
	cfg.Peers = &Peers{Listener: l, Advertise: l.Addr().String()}
	if join != nil {
		cfg.Peers.Join = join.PeerAddress()
		if cfg.Peers.Token, err = join.AddJoinToken(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Open(cfg)
	if err != nil {
		l.Close()
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	m := &member{Controller: c, t: t, cfg: cfg}
	m.stop = func() {
		cancel()
		if err := errors.Join(<-done, c.Close()); err != nil {
			t.Error(err)
		}
		m.stop = func() {}
	}
	t.Cleanup(func() { m.stop() })
	return m
}

func (m *member) register() {
	m.t.Helper()
	within(m.t, "a node to be ready", func() bool {
		select {
		case <-m.Ready():
			return true
		default:
			return false
		}
	})
	b := state.Broker{ID: m.NodeID(), ServerID: m.ServerID(), Host: "127.0.0.1", Port: 9000 + m.NodeID(), Peer: m.PeerAddress()}
	if err := m.RegisterBroker(m.t.Context(), b); err != nil {
		m.t.Fatal(err)
	}
	if err := m.AllowJoins(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
}

func within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) { // elections take real time
		if time.Now().After(end) {
			t.Fatal("not within 60 s: " + what)
		}
	}
}

func (m *member) voters() (n int) {
	f := m.raft.GetConfiguration()
	if f.Error() != nil {
		return -1
	}
	for _, s := range f.Configuration().Servers {
		if s.Suffrage == raft.Voter {
			n++
		}
	}
	return n
}

func TestAClusterGrowsFromOneToThreeAndOutlivesAnyOne(t *testing.T) {
	if testing.Short() {
		t.Skip("elections take seconds")
	}
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	ctx := t.Context()
	one := startMember(t, dirs[0], "127.0.0.1:0", nil)
	one.register()
	if _, err := one.CreateTopic(ctx, state.TopicSpec{Name: "auto", Partitions: 3, ReplicationFactor: -1}); err != nil {
		t.Fatal(err)
	}
	two := startMember(t, dirs[1], "127.0.0.1:0", one)
	two.register()
	within(t, "the second to follow", func() bool { return len(two.State().Nodes) == 2 && two.State().Topics["auto"].Partitions == 3 })
	if two.NodeID() != 2 || one.voters() != 1 {
		t.Errorf("node %d, %d voters of two nodes, want 1", two.NodeID(), one.voters())
	}
	if p := one.State().PlacementOf(one.State().Topics["auto"], 0); len(p.Replicas) != 1 {
		t.Errorf("with two nodes a partition is on %v", p.Replicas)
	}
	three := startMember(t, dirs[2], "127.0.0.1:0", two)
	three.register()
	members := []*member{one, two, three}
	within(t, "three voters", func() bool { return one.voters() == 3 })
	within(t, "three copies", func() bool {
		s := three.State()
		leads := map[int32]bool{}
		for p := range int32(3) {
			place := s.PlacementOf(s.Topics["auto"], p)
			if len(place.Replicas) != 3 || !place.Moved {
				return false
			}
			leads[place.Replicas[0]] = true
		}
		return len(leads) == 3
	})
	// A change through any node is seen there when it returns, and refusals come back as they are.
	for i, m := range members {
		name := string(rune('a'+i)) + ".example"
		if _, err := m.AddSite(ctx, name, "UTC"); err != nil {
			t.Fatalf("node %d: %v", i+1, err)
		}
		if _, ok := m.State().SiteByName(name); !ok {
			t.Errorf("node %d does not see its own change", i+1)
		}
		if _, err := m.AddSite(ctx, "a.example", "UTC"); !errors.Is(err, state.ErrExists) {
			t.Errorf("node %d: got %v, want ErrExists", i+1, err)
		}
	}
	// Whoever leads goes away; the others go on, and it follows when it is back.
	for round := range 2 {
		var gone int
		within(t, "a leader", func() bool {
			for i, m := range members {
				if m.Leading() {
					gone = i
					return true
				}
			}
			return false
		})
		addr := members[gone].PeerAddress()
		members[gone].stop()
		other := members[(gone+1)%3]
		name := string(rune('x'+round)) + ".example"
		within(t, "the others to agree", func() bool {
			_, err := other.AddSite(ctx, name, "UTC")
			return err == nil || errors.Is(err, state.ErrExists)
		})
		members[gone] = startMember(t, dirs[gone], addr, nil)
		members[gone].register()
		if _, ok := members[gone].State().SiteByName(name); !ok {
			t.Errorf("node %d is ready without what was agreed on while it was away", gone+1)
		}
	}
	// The disk of a member is gone: neither its address nor its number is given to another one.
	token, err := members[1].AddJoinToken(ctx, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	stranger := peer.JoinConfig{Dir: t.TempDir(), Address: members[1].PeerAddress(), Token: token, Server: "other-data", Advertise: "127.0.0.1:1", NodeID: 3}
	if _, err := peer.Join(ctx, stranger); err == nil || !strings.Contains(err.Error(), "weir cluster remove 3") {
		t.Errorf("a known number with other data: %v", err)
	}
	stranger.NodeID, stranger.Advertise = 0, members[2].PeerAddress()
	if _, err := peer.Join(ctx, stranger); err == nil || !strings.Contains(err.Error(), "weir cluster remove 3") {
		t.Errorf("a known address with other data: %v", err)
	}
	if err := members[0].RemoveNode(ctx, 3); err != nil {
		t.Fatal(err)
	}
	within(t, "the removed node to be out", func() bool { return members[1].voters() == 2 })
	within(t, "every node to know that", func() bool { _, ok := members[1].State().Nodes[3]; return !ok })
}
