package replica

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/weir-analytics/weir/internal/vfs"
	"github.com/weir-analytics/weir/raftfsm/peer"
)

type cluster struct {
	t     *testing.T
	net   *peer.Memory
	disks [3]*vfs.Mem
	nodes [3]*node
	rs    [3]*Replica
}

func newCluster(t *testing.T) *cluster { return newClusterOver(t, peer.NewMemory(1)) }

func newClusterOver(t *testing.T, net *peer.Memory) *cluster {
	c := &cluster{t: t, net: net}
	for i := range 3 {
		c.disks[i] = vfs.NewMem()
		c.start(i, false)
	}
	return c
}

func serverName(i int) string { return fmt.Sprint("node-", i) }

func (c *cluster) start(i int, join bool) {
	c.t.Helper()
	n := newNode(c.t, c.disks[i], "d")
	n.net = c.net.Node(serverName(i))
	cfg := n.config(0)
	cfg.heartbeat = 200 * time.Millisecond
	cfg.NodeID, cfg.ServerID, cfg.SegmentBytes, cfg.Join = int32(i), serverName(i), 2000, join
	for j := range 3 {
		cfg.Members = append(cfg.Members, Member{NodeID: int32(j), ServerID: serverName(j), Address: serverName(j)})
	}
	r, err := Open(cfg)
	must(c.t, err)
	c.t.Cleanup(func() { _ = r.Close() })
	c.nodes[i], c.rs[i] = n, r
}

// kill ends a replica as a power cut does.
func (c *cluster) kill(i int) {
	c.net.Kill(serverName(i))
	c.disks[i] = c.disks[i].Crash(nil)
	r := c.rs[i]
	c.rs[i] = nil
	must(c.t, r.Close())
}

func (c *cluster) leader() *Replica {
	c.t.Helper()
	end := time.Now().Add(30 * time.Second)
	for time.Now().Before(end) {
		for _, r := range c.rs {
			if r != nil {
				if _, _, serving := r.Leader(); serving {
					return r
				}
			}
		}
		time.Sleep(5 * time.Millisecond) // elections are raft's and in real time
	}
	c.t.Fatal("no leader within 30 s")
	return nil
}

func (c *cluster) caughtUp(i int, hw int64) {
	c.t.Helper()
	waitFor(c.t, c.rs[i], fmt.Sprint("catching up of node ", i), func() bool { return c.rs[i].HighWatermark() >= hw })
}

func (c *cluster) index(r *Replica) int {
	for i := range c.rs {
		if c.rs[i] == r {
			return i
		}
	}
	panic("unknown replica")
}

func TestThreeReplicasAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("elections take seconds")
	}
	c := newCluster(t)
	l := c.leader()
	for i := range 50 {
		put(t, l, from(t, 5, 0, int32(i), 1))
	}
	for i := range 3 {
		c.caughtUp(i, 50)
	}
	for i := range 3 {
		if got, want := values(t, c.rs[i]), values(t, l); !reflect.DeepEqual(got, want) {
			t.Errorf("node %d: got %v\nwant %v", i, got, want)
		}
		if c.rs[i] == l {
			continue
		}
		if _, err := c.rs[i].Append(context.Background(), batchOf(t, "x")).Result(); !errors.Is(err, ErrNotLeader) {
			t.Errorf("node %d, which does not lead: got %v", i, err)
		}
	}
	// The next leader knows what the producer sent to the last one.
	c.kill(c.index(l))
	l = c.leader()
	if got := put(t, l, from(t, 5, 0, 48, 1)); !got.Duplicate || got.BaseOffset != 48 {
		t.Errorf("a retry at the next leader: %+v", got)
	}
	if got := put(t, l, from(t, 5, 0, 50, 1)); got.BaseOffset != 50 {
		t.Errorf("the next batch at the next leader: %+v", got)
	}
}

// A replica that was away while the log start moved past its end begins anew at
// the log start, once, and gets every record that is kept.
func TestAReplicaBehindTheLogStartGetsAllThatIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("elections take seconds")
	}
	for _, wiped := range []bool{false, true} {
		t.Run(fmt.Sprint("wiped ", wiped), func(t *testing.T) {
			c := newCluster(t)
			l := c.leader()
			for i := range 30 {
				put(t, l, from(t, 5, 0, int32(i), 1))
			}
			behind := (c.index(l) + 1) % 3
			c.caughtUp(behind, 30)
			c.kill(behind)
			for i := 30; i < 200; i++ {
				put(t, l, from(t, 5, 0, int32(i), 1))
			}
			start, err := l.SetLogStart(context.Background(), 120)
			must(t, err)
			must(t, l.retire())
			if a := l.log.Bounds().Anchor; a.NextOffset < 60 {
				t.Fatalf("anchor %+v is too low for the test", a)
			}
			if wiped { // the disk was swapped, and with it the votes
				c.disks[behind] = vfs.NewMem()
			}
			c.start(behind, wiped)
			c.caughtUp(behind, 200)
			r := c.rs[behind]
			waitFor(t, r, "log start", func() bool { return r.LogStart() == start })
			if got, want := values(t, r), values(t, l); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
			restores := 0
			for _, e := range c.nodes[behind].eventList() {
				if _, ok := e.(Restored); ok {
					restores++
				}
			}
			if restores != 1 {
				t.Errorf("%d restores, want 1", restores)
			}
			// It can be killed and take part again.
			c.kill(behind)
			c.start(behind, false)
			put(t, l, from(t, 5, 0, 200, 1))
			c.caughtUp(behind, 201)
			if got := values(t, c.rs[behind]); len(got) != 81 {
				t.Errorf("%d records after a restart, want 81", len(got))
			}
		})
	}
}

// Records that the group never agreed on give way to those of the next leader.
func TestUncommittedRecordsGiveWay(t *testing.T) {
	if testing.Short() {
		t.Skip("elections take seconds")
	}
	c := newCluster(t)
	l := c.leader()
	for i := range 10 {
		put(t, l, batchOf(t, fmt.Sprint("agreed ", i)))
	}
	lost := c.index(l)
	c.net.Kill(serverName(lost))
	var alone []*Pending
	for i := range 5 {
		alone = append(alone, l.Append(context.Background(), batchOf(t, fmt.Sprint("alone ", i))))
	}
	for _, p := range alone {
		if _, err := p.Result(); err == nil {
			t.Error("acknowledged by a minority")
		}
	}
	end := l.log.Bounds().NextOffset
	must(t, l.Close())
	c.rs[lost] = nil
	l = c.leader()
	for i := range 3 {
		put(t, l, batchOf(t, fmt.Sprint("later ", i)))
	}
	c.start(lost, false)
	c.caughtUp(lost, 13)
	if got, want := values(t, c.rs[lost]), values(t, l); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if end <= 10 {
		t.Errorf("log of the cut off leader ended at %d, the test shows nothing", end)
	}
}
