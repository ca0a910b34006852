package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/weir-analytics/weir/raftfsm/transport"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	return l
}

// start runs a node with the keys in dir until the test ends.
func start(t *testing.T, dir, cluster, server string) *Node {
	t.Helper()
	keys, err := LoadKeys(dir)
	must(t, err)
	l := listen(t)
	n := Open(Config{ClusterID: cluster, ServerID: server, Listener: l, Advertise: l.Addr().String(), Keys: keys})
	run(t, n)
	return n
}

func run(t *testing.T, n *Node) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, n.Close()); err != nil {
			t.Error(err)
		}
	})
}

// trio is three nodes that know each other, with certificates of the same authority.
func trio(t *testing.T) []*Node {
	t.Helper()
	a, err := NewAuthority("c", time.Now())
	must(t, err)
	var nodes []*Node
	book := map[string]string{}
	for i := range 3 {
		dir, server := t.TempDir(), fmt.Sprint("server-", i)
		request, key, err := certRequest(server)
		must(t, err)
		cert, err := a.Issue(request, server, time.Now())
		must(t, err)
		must(t, writeFiles(dir, file{caFile, a.Cert}, file{keyFile, key}, file{certFile, cert}))
		nodes = append(nodes, start(t, dir, "c", server))
		book[server] = nodes[i].Advertised()
	}
	for _, n := range nodes {
		n.SetAddresses(book)
	}
	return nodes
}

type echoFSM struct {
	mu   sync.Mutex
	seen [][]byte
}

func (f *echoFSM) Apply(l *raft.Log) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, l.Data)
	return len(f.seen)
}
func (f *echoFSM) count() int { f.mu.Lock(); defer f.mu.Unlock(); return len(f.seen) }
func (f *echoFSM) Snapshot() (raft.FSMSnapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return blob(bytes.Join(f.seen, []byte{'\n'})), nil
}
func (f *echoFSM) Restore(r io.ReadCloser) error {
	b, err := io.ReadAll(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = bytes.Split(b, []byte{'\n'})
	return err
}

type blob []byte

func (b blob) Persist(s raft.SnapshotSink) error {
	_, err := s.Write(b)
	return errors.Join(err, s.Close())
}
func (b blob) Release() {}

func startRaft(t *testing.T, link transport.Group, members raft.Configuration, id raft.ServerID) (*raft.Raft, *echoFSM) {
	t.Helper()
	c := raft.DefaultConfig()
	c.LocalID, c.Logger, c.TrailingLogs = id, hclog.NewNullLogger(), 0
	store, snaps, f := raft.NewInmemStore(), raft.NewInmemSnapshotStore(), &echoFSM{}
	if len(members.Servers) > 0 {
		must(t, raft.BootstrapCluster(c, store, store, snaps, link, members))
	}
	r, err := raft.NewRaft(c, f, store, store, snaps, link)
	must(t, err)
	t.Cleanup(func() { _ = r.Shutdown().Error() })
	return r, f
}

func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) { // raft's time is real
		if time.Now().After(end) {
			t.Fatal("not within 30 s: " + what)
		}
	}
}

func TestARaftGroupAgreesOverTLSAndASnapshotReachesWhoWasAway(t *testing.T) {
	nodes := trio(t)
	var members raft.Configuration
	for _, n := range nodes[:2] {
		members.Servers = append(members.Servers, raft.Server{ID: n.self, Address: raft.ServerAddress(n.self)})
	}
	var rafts [3]*raft.Raft
	var fsms [3]*echoFSM
	links := make([]transport.Group, 3)
	for i, n := range nodes {
		var err error
		links[i], err = n.Open(transport.GroupID{9})
		must(t, err)
		if i < 2 {
			rafts[i], fsms[i] = startRaft(t, links[i], members, n.self)
		}
	}
	var leader int
	waitUntil(t, "a leader", func() bool {
		for i, r := range rafts[:2] {
			if leader = i; r.State() == raft.Leader {
				return true
			}
		}
		return false
	})
	large := bytes.Repeat([]byte{'x'}, appendBytes/2+1) // two of them are too many for one request
	for i := range 8 {
		body := large
		if i%2 == 0 {
			body = fmt.Append(nil, "small ", i)
		}
		must(t, rafts[leader].Apply(body, 0).Error())
	}
	waitUntil(t, "the follower", func() bool { return fsms[1-leader].count() == 8 })
	if last, at := links[leader].Progress(nodes[1-leader].self); last < 8 || at.IsZero() {
		t.Errorf("progress of the follower: %d at %v", last, at)
	}
	must(t, rafts[leader].Snapshot().Error())
	rafts[2], fsms[2] = startRaft(t, links[2], raft.Configuration{}, nodes[2].self)
	must(t, rafts[leader].AddNonvoter(nodes[2].self, raft.ServerAddress(nodes[2].self), 0, 0).Error())
	waitUntil(t, "the third", func() bool { return fsms[2].count() == 8 })
	must(t, rafts[leader].VerifyLeader().Error()) // takes joined heartbeats there and back
	must(t, links[leader].Reaches(nodes[2].self))
	other, err := nodes[leader].Open(transport.GroupID{10})
	must(t, err)
	if err := other.Reaches(nodes[2].self); !errors.Is(err, transport.ErrRefused) {
		t.Errorf("a group that is not open there: %v", err)
	}
	links[leader].Withhold()
	waitUntil(t, "another leader of a group whose heartbeats are withheld", func() bool { return rafts[leader].State() != raft.Leader })
}

func TestCallsTellApartWhatWasNotSent(t *testing.T) {
	nodes := trio(t)
	ctx := context.Background()
	nodes[1].Handle(transport.ServiceVerify, func(_ context.Context, from string, body []byte) ([]byte, error) {
		if string(body) == "no" {
			return nil, errors.New("not today")
		}
		return append([]byte(from+" says "), body...), nil
	})
	got, err := nodes[0].Call(ctx, "server-1", transport.ServiceVerify, []byte("hello"))
	if err != nil || string(got) != "server-0 says hello" {
		t.Errorf("got %q, %v", got, err)
	}
	big := bytes.Repeat([]byte{7}, 3*bulkBytes)
	if got, err := nodes[0].Call(ctx, "server-1", transport.ServiceVerify, big); err != nil || !bytes.HasSuffix(got, big) {
		t.Errorf("a large call: %d bytes, %v", len(got), err)
	}
	if _, err := nodes[0].Call(ctx, "server-1", transport.ServiceVerify, []byte("no")); !errors.Is(err, transport.ErrRefused) {
		t.Errorf("refused: got %v", err)
	}
	for _, to := range []string{"server-9", "server-2"} {
		if to == "server-2" {
			must(t, nodes[2].cfg.Listener.Close())
			nodes[2].cancel()
		}
		if _, err := nodes[0].Call(ctx, to, transport.ServiceVerify, nil); !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("to %s: got %v, want ErrNotSent", to, err)
		}
	}
}

func TestAStreamCarriesBytesBothWays(t *testing.T) {
	nodes := trio(t)
	nodes[1].HandleStreams(func(from string, nc net.Conn) {
		go func() { defer nc.Close(); fmt.Fprint(nc, "for ", from, ": "); io.CopyN(nc, nc, 4) }()
	})
	nc, err := nodes[2].Stream(context.Background(), "server-1")
	must(t, err)
	defer nc.Close()
	_, err = nc.Write([]byte("ping"))
	must(t, err)
	if got, err := io.ReadAll(nc); err != nil || string(got) != "for server-2: ping" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAStrangerIsRefused(t *testing.T) {
	nodes := trio(t)
	for name, c := range map[string]struct{ cluster, server string }{
		"of another authority": {"c", "server-1"},
		"of another cluster":   {"other", "server-7"},
	} {
		dir := t.TempDir()
		must(t, FoundCA(dir, c.cluster, c.server, time.Now()))
		stranger := start(t, dir, c.cluster, c.server)
		stranger.SetAddresses(map[string]string{"server-0": nodes[0].Advertised()})
		if _, err := stranger.Call(context.Background(), "server-0", transport.ServiceVerify, nil); !errors.Is(err, transport.ErrNotSent) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// A member that was removed, and one that calls itself another.
	nodes[0].SetAddresses(map[string]string{"server-1": nodes[1].Advertised()})
	if _, err := nodes[2].Call(context.Background(), "server-0", transport.ServiceVerify, nil); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("removed: got %v", err)
	}
	nodes[2].cfg.ServerID = "server-1"
	if _, err := nodes[2].Call(context.Background(), "server-0", transport.ServiceVerify, nil); !errors.Is(err, transport.ErrNotSent) {
		t.Errorf("under another name: got %v", err)
	}
}

func TestANodeJoinsWithATokenAndOnlyWithIt(t *testing.T) {
	founder := t.TempDir()
	must(t, FoundCA(founder, "c", "first", time.Now()))
	authority, ok, err := Founded(founder)
	if err != nil || !ok {
		t.Fatalf("got %v, %v", ok, err)
	}
	must(t, HandedOver(founder))
	if _, ok, err := Founded(founder); ok || err != nil {
		t.Errorf("after it was handed over: %v, %v", ok, err)
	}
	n := start(t, founder, "c", "first")
	token := NewToken(n.cfg.Keys.CAHash())
	n.HandleJoins(func(_ context.Context, q JoinRequest) (JoinAnswer, error) {
		if !bytes.Equal(q.Secret, token.Secret[:]) {
			return JoinAnswer{}, errors.New("the token does not hold")
		}
		cert, err := authority.Issue(q.Request, q.Server, time.Now())
		n.SetAddresses(map[string]string{q.Server: q.Address})
		return JoinAnswer{Cluster: "c", NodeID: 2, CA: authority.Cert, Cert: cert, Addresses: map[string]string{"first": n.Advertised()}}, err
	})
	typed, err := ParseToken(token.Text())
	must(t, err)
	cfg := JoinConfig{Dir: filepath.Join(t.TempDir(), "peer"), Address: n.Advertised(), Token: typed, Server: "second", Advertise: "127.0.0.1:1"}
	a, err := Join(context.Background(), cfg)
	must(t, err)
	second := start(t, cfg.Dir, a.Cluster, "second")
	second.SetAddresses(a.Addresses)
	n.Handle(transport.ServiceVerify, func(context.Context, string, []byte) ([]byte, error) { return []byte("welcome"), nil })
	if got, err := second.Call(context.Background(), "first", transport.ServiceVerify, nil); err != nil || string(got) != "welcome" {
		t.Errorf("got %q, %v", got, err)
	}
	for name, change := range map[string]func(*Token){
		"another secret":    func(t *Token) { t.Secret[0]++ },
		"another authority": func(t *Token) { t.CAHash[0]++ },
	} {
		bad := cfg
		bad.Dir = filepath.Join(t.TempDir(), "peer")
		change(&bad.Token)
		if _, err := Join(context.Background(), bad); err == nil {
			t.Errorf("%s: joined", name)
		}
		if _, err := os.Stat(bad.Dir); err == nil {
			t.Errorf("%s: left keys behind", name)
		}
	}
}
