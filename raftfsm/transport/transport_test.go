package transport

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"
)

func TestAGroupIsOpenOnce(t *testing.T) {
	n := NewLocal("here")
	g, err := n.Open(GroupID{1})
	if err != nil || g.LocalAddr() != "here" {
		t.Fatalf("got %v, %v", g, err)
	}
	if _, err := n.Open(GroupID{1}); err == nil {
		t.Error("opened twice")
	}
	if _, err := n.Open(GroupID{2}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(g.Close(), g.Close()); err != nil {
		t.Error(err)
	}
	if _, err := n.Open(GroupID{1}); err != nil {
		t.Errorf("after Close: %v", err)
	}
}

func TestThereAreNoPeersAndNoPipelines(t *testing.T) {
	g, err := NewLocal("here").Open(GroupID{1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.AppendEntriesPipeline("a", "a"); !errors.Is(err, raft.ErrPipelineReplicationNotSupported) {
		t.Errorf("got %v", err)
	}
	for name, err := range map[string]error{
		"append":   g.AppendEntries("a", "a", nil, nil),
		"vote":     g.RequestVote("a", "a", nil, nil),
		"prevote":  g.RequestPreVote("a", "a", nil, nil),
		"snapshot": g.InstallSnapshot("a", "a", nil, nil, nil),
		"timeout":  g.TimeoutNow("a", "a", nil, nil),
	} {
		if !errors.Is(err, ErrNoPeers) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got := g.DecodePeer(g.EncodePeer("a", "addr")); got != "addr" {
		t.Errorf("got %q", got)
	}
}

func TestElectNowAsksTheLocalReplicaOrEndsWithTheLink(t *testing.T) {
	g, err := NewLocal("here").Open(GroupID{1})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { g.ElectNow(); close(done) }()
	rpc := <-g.Consumer()
	if _, ok := rpc.Command.(*raft.TimeoutNowRequest); !ok {
		t.Errorf("got %T", rpc.Command)
	}
	rpc.Respond(&raft.TimeoutNowResponse{}, nil) // must not block
	<-done
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	g.ElectNow()
}
