package replica

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// agree waits until all replicas that run are at the model, and checks them.
func (c *cluster) agree(m *txnModel, what string) {
	c.t.Helper()
	for i, r := range c.rs {
		if r != nil {
			c.caughtUp(i, m.next)
			m.check(c.t, r, fmt.Sprintf("%s, node %d", what, i))
		}
	}
}

// What replicas know of transactions is the same on all of them, through the
// death of leaders and the return of followers.
func TestReplicasAgreeOnTransactions(t *testing.T) {
	if testing.Short() {
		t.Skip("elections take seconds")
	}
	c := newCluster(t)
	w := &txnWriter{t: t, rng: rand.New(rand.NewPCG(5, 6)), m: newTxnModel(), seq: map[int64]int32{}}
	for round := range 3 {
		l := c.leader()
		for range 60 {
			w.write(l)
		}
		c.agree(w.m, fmt.Sprint("round ", round))
		dead := c.index(l)
		c.kill(dead)
		next := c.leader()
		w.m.check(t, next, fmt.Sprintf("the leader after round %d", round))
		for range 20 {
			w.write(next)
		}
		c.start(dead, false)
		c.agree(w.m, fmt.Sprintf("round %d, all again", round))
	}
	if len(w.m.aborted) == 0 {
		t.Error("nothing was aborted, the test shows nothing")
	}
}

// A replica that begins at the leader's log start is told which transactions
// were open there.
func TestAReplicaBehindTheLogStartLearnsOpenTransactions(t *testing.T) {
	if testing.Short() {
		t.Skip("elections take seconds")
	}
	c := newCluster(t)
	l := c.leader()
	w := &txnWriter{t: t, rng: rand.New(rand.NewPCG(7, 8)), m: newTxnModel(), seq: map[int64]int32{}}
	put(t, l, inTxn(t, 50, 0, 0, 1)) // open from the first record on
	w.m.open[50], w.m.epoch[50], w.m.next = 0, 0, 1
	for range 20 {
		w.write(l)
	}
	behind := (c.index(l) + 1) % 3
	c.agree(w.m, "before")
	c.kill(behind)
	for range 150 {
		w.write(l)
	}
	start, err := l.SetLogStart(context.Background(), w.m.next*2/3)
	must(t, err)
	must(t, l.retire())
	if a := l.log.Bounds().Anchor; a.NextOffset < w.m.next/3 {
		t.Fatalf("anchor %+v is too low for the test", a)
	}
	c.start(behind, false)
	r := c.rs[behind]
	c.caughtUp(behind, w.m.next)
	waitFor(t, r, "log start", func() bool { return r.LogStart() == start })
	restored := false
	for _, e := range c.nodes[behind].eventList() {
		_, is := e.(Restored)
		restored = restored || is
	}
	if !restored {
		t.Error("it did not begin anew, the test shows nothing")
	}
	c.agree(w.m, "after")
	endTxn(t, l, mark(50, 0, false, 1))
	w.m.marker(mark(50, 0, false, 1), w.m.next)
	c.agree(w.m, "after the end of the oldest")
	c.kill(behind)
	c.start(behind, false)
	c.agree(w.m, "after a restart")
}

// Markers that the group never agreed on leave nothing behind.
func TestUncommittedMarkersGiveWay(t *testing.T) {
	if testing.Short() {
		t.Skip("elections take seconds")
	}
	c := newCluster(t)
	l := c.leader()
	m := newTxnModel()
	put(t, l, inTxn(t, 1, 0, 0, 1))
	put(t, l, inTxn(t, 2, 0, 0, 1))
	endTxn(t, l, mark(2, 0, false, 1))
	m.open[1], m.epoch[1], m.epoch[2], m.next = 0, 0, 0, 3
	m.aborted = []Aborted{abort(2, 1, 2, 0)}
	c.agree(m, "before")
	lost := c.index(l)
	c.net.Kill(serverName(lost))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := l.AppendMarker(ctx, mark(1, 0, false, 1)); !errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("a marker on a minority: got %v", err)
	}
	if l.log.Bounds().NextOffset != 4 {
		t.Error("the marker was not written, the test shows nothing")
	}
	must(t, l.Close())
	c.rs[lost] = nil
	l = c.leader()
	endTxn(t, l, mark(1, 0, true, 2))
	m.marker(mark(1, 0, true, 2), 3)
	c.start(lost, false)
	c.agree(m, "after")
	c.kill(lost)
	c.start(lost, false)
	c.agree(m, "after a restart")
}
