package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/internal/testkit"
)

// three is a cluster of three processes on loopback addresses.
type three struct {
	t     *testing.T
	nodes [3]*testkit.Node
	flags [3][]string
}

// startThree starts a node and lets two others join it, and waits until every topic has three copies.
func startThree(t *testing.T) *three {
	t.Helper()
	c := &three{t: t}
	peer := freeAddr(t)
	c.flags[0] = []string{"--peer", peer, "--http", freeAddr(t)}
	c.nodes[0] = testkit.StartNode(t, "", c.flags[0]...)
	token := strings.TrimSpace(c.nodes[0].Run("", "cluster", "token"))
	for i := 1; i < 3; i++ {
		c.flags[i] = []string{"--peer", freeAddr(t), "--http", freeAddr(t), "--join", peer, "--join-token", token}
		c.nodes[i] = testkit.StartNode(t, "", c.flags[i]...)
	}
	c.whole()
	return c
}

// freeAddr is a loopback address whose port nobody uses now. A node that is killed has to come back under the same one.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// clusterDoc is what weir cluster status --json prints.
type clusterDoc struct {
	Controller int32 `json:"controller"`
	Nodes      []struct {
		ID    int32 `json:"id"`
		Leads int   `json:"leads"`
	} `json:"nodes"`
	Partitions int `json:"partitions"`
	Leaderless int `json:"leaderless"`
	Lagging    int `json:"lagging"`
}

func (c *three) status(i int) (d clusterDoc, err error) {
	out, errOut, err := c.nodes[i].Try("", "cluster", "status", "--json")
	if err != nil {
		return d, fmt.Errorf("%w: %s", err, errOut)
	}
	return d, json.Unmarshal([]byte(out), &d)
}

// whole waits until every partition has a leader and three copies that are in step.
func (c *three) whole() {
	c.t.Helper()
	testkit.Wait(c.t, "three copies of everything", 90*time.Second, func() bool {
		for i := range c.nodes {
			d, err := c.status(i)
			if err != nil || len(d.Nodes) != 3 || d.Leaderless+d.Lagging > 0 || d.Partitions == 0 {
				return false
			}
		}
		return true
	})
}

func (c *three) seeds() (list []string) {
	for _, n := range c.nodes {
		list = append(list, n.Kafka)
	}
	return list
}

func (c *three) client(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.seeds()...), kgo.MetadataMinAge(100 * time.Millisecond)}, opts...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	return cl
}

// leaderOf is the index of the node that leads a partition.
func (c *three) leaderOf(topic string, partition int32) int {
	c.t.Helper()
	adm := kadm.NewClient(c.client())
	var leader int32
	testkit.Wait(c.t, "a leader of "+topic, 30*time.Second, func() bool {
		m, err := adm.Metadata(c.t.Context(), topic)
		if err != nil {
			return false
		}
		leader = m.Topics[topic].Partitions[partition].Leader
		return leader > 0
	})
	return int(leader) - 1
}

// sendKeyed sends records one after the other and keeps what was acknowledged, by offset.
type sendKeyed struct {
	mu    sync.Mutex
	acked map[int64]string
	gap   time.Duration // the longest time between two acknowledgements
}

func (s *sendKeyed) run(ctx context.Context, cl *kgo.Client, topic string) {
	last := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		value := fmt.Sprintf("value %d", i)
		r := &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "key %d", i%10), Value: []byte(value)}
		if err := cl.ProduceSync(context.WithoutCancel(ctx), r).FirstErr(); err != nil {
			continue
		}
		s.mu.Lock()
		s.acked[r.Offset], s.gap = value, max(s.gap, time.Since(last))
		last = time.Now()
		s.mu.Unlock()
	}
}

// A node is killed, the leader of what is written to among them, while records are sent and hits come in at the others. What was acknowledged
// is there once, at the offset that was said, and counted exactly.
func TestAnyOneOfThreeNodesMayDie(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three nodes, which are killed")
	}
	c := startThree(t)
	ctx := t.Context()
	c.nodes[1].Run("", "site", "add", crashSite)
	adm := kadm.NewClient(c.client())
	if _, err := adm.CreateTopic(ctx, 1, 3, nil, "kept"); err != nil {
		t.Fatal(err)
	}
	var before []*sender
	for round := range 2 {
		victim := c.leaderOf("kept", 0)
		keyed := &sendKeyed{acked: map[int64]string{}}
		hits := &sender{name: fmt.Sprint("round", round), keys: map[string]int64{}}
		base := c.nodes[(victim+1)%3].HTTP
		sending, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { keyed.run(sending, c.client(kgo.RequiredAcks(kgo.AllISRAcks())), "kept") })
		wg.Go(func() {
			client := &http.Client{Timeout: 20 * time.Second}
			for sending.Err() == nil {
				body := hits.body(false)
				for !hits.send(context.WithoutCancel(sending), client, base, body) { // the same hit until it is taken
					time.Sleep(20 * time.Millisecond)
				}
				hits.acked++
			}
		})
		time.Sleep(time.Second)
		killed := time.Now()
		c.nodes[victim].Kill()
		testkit.Wait(t, "records after the leader was killed", 60*time.Second, func() bool {
			keyed.mu.Lock()
			defer keyed.mu.Unlock()
			return keyed.gap > 200*time.Millisecond && time.Since(killed) > 3*time.Second
		})
		t.Logf("round %d: node %d was killed; the longest silence was %v", round, victim+1, keyed.gap)
		c.nodes[victim].Restart(c.flags[victim]...)
		time.Sleep(time.Second)
		stop()
		wg.Wait()
		c.whole()
		c.checkKept("kept", keyed.acked)
		for _, n := range c.nodes {
			checkOnce(t, n, crashSite, "page", append(before, hits))
		}
		before = append(before, hits)
		t.Logf("round %d: %d records and %d hits", round, len(keyed.acked), hits.acked)
	}
	for i, n := range c.nodes {
		if err := n.Stop(60 * time.Second); err != nil {
			t.Errorf("node %d: %v", i+1, err)
		}
	}
	for i, n := range c.nodes {
		if out, errOut, err := n.Try("", "verify"); err != nil {
			t.Errorf("verify of node %d: %v\n%s%s", i+1, err, out, errOut)
		}
	}
	c.checkSameLogs()
}

// checkKept reads the topic and compares it with what was acknowledged.
func (c *three) checkKept(topic string, acked map[int64]string) {
	c.t.Helper()
	cl := c.client(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ends, err := kadm.NewClient(cl).ListEndOffsets(c.t.Context(), topic)
	if err != nil {
		c.t.Fatal(err)
	}
	end, _ := ends.Lookup(topic, 0)
	got := map[int64]string{}
	for next := int64(0); next < end.Offset; {
		f := cl.PollFetches(c.t.Context())
		if err := f.Err(); err != nil {
			c.t.Fatal(err)
		}
		f.EachRecord(func(r *kgo.Record) { got[r.Offset], next = string(r.Value), r.Offset+1 })
	}
	for offset, want := range acked {
		if got[offset] != want {
			c.t.Errorf("offset %d of %s: %q was acknowledged, there is %q", offset, topic, want, got[offset])
		}
	}
}

// checkSameLogs compares the records of topics that are not compacted on the disks of all nodes.
func (c *three) checkSameLogs() {
	c.t.Helper()
	logs := [3]map[string][]byte{}
	for i, n := range c.nodes {
		logs[i] = map[string][]byte{}
		root := filepath.Join(n.Dir, "topics")
		topics, err := os.ReadDir(root)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, topic := range topics {
			var doc struct{ Name string }
			b, _ := os.ReadFile(filepath.Join(root, topic.Name(), "topic.json"))
			if json.Unmarshal(b, &doc) != nil || doc.Name != "kept" && doc.Name != "events" {
				continue
			}
			files, _ := filepath.Glob(filepath.Join(root, topic.Name(), "*", "*.log"))
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					c.t.Fatal(err)
				}
				rel, _ := filepath.Rel(root, f)
				partition := filepath.Dir(rel)
				logs[i][partition] = append(logs[i][partition], b...)
			}
		}
	}
	if len(logs[0]) != 9 {
		c.t.Errorf("%d partitions on node 1, want 9", len(logs[0]))
	}
	for partition, want := range logs[0] {
		for i := 1; i < 3; i++ {
			got := logs[i][partition]
			n := min(len(got), len(want)) // the last stop may have come before a follower had everything
			if string(got[:n]) != string(want[:n]) || len(want) > 0 && n == 0 {
				c.t.Errorf("partition %s of node %d differs from that of node 1 (%d and %d bytes)", partition, i+1, len(got), len(want))
			}
		}
	}
}

// A rolling restart is not seen by a client with default settings, nor by who sends hits to a node that runs.
func TestARollingRestartIsNotSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three nodes")
	}
	c := startThree(t)
	if _, err := kadm.NewClient(c.client()).CreateTopic(t.Context(), 3, 3, nil, "rolled"); err != nil {
		t.Fatal(err)
	}
	sending, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	failed, sent := 0, 0
	wg.Go(func() {
		cl := c.client()
		for sending.Err() == nil {
			if err := cl.ProduceSync(context.WithoutCancel(sending), &kgo.Record{Topic: "rolled", Value: []byte("v")}).FirstErr(); err != nil {
				failed++
				t.Error(err)
			}
			sent++
		}
	})
	for i := range c.nodes {
		if err := c.nodes[i].Stop(60 * time.Second); err != nil {
			t.Errorf("node %d: %v", i+1, err)
		}
		c.nodes[i].Restart(c.flags[i]...)
		c.whole()
	}
	stop()
	wg.Wait()
	if failed > 0 || sent == 0 {
		t.Errorf("%d of %d records were refused", failed, sent)
	}
}

// A transaction whose partitions, group and coordinator are on different nodes is seen whole or not at all.
func TestATransactionReachesAcrossNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three nodes")
	}
	c := startThree(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := kadm.NewClient(c.client()).CreateTopic(ctx, 6, 3, nil, "moved"); err != nil {
		t.Fatal(err)
	}
	leaders := map[int]bool{}
	for p := range int32(6) {
		leaders[c.leaderOf("moved", p)] = true
	}
	if len(leaders) != 3 {
		t.Errorf("six partitions are led by %d nodes, want 3", len(leaders))
	}
	want := 0
	for id := range 4 { // coordinators on several nodes
		cl := c.client(kgo.TransactionalID(fmt.Sprint("mover-", id)), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		for _, commit := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
			if err := cl.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			for p := range int32(6) {
				r := &kgo.Record{Topic: "moved", Partition: p, Value: fmt.Appendf(nil, "%v", commit)}
				if err := cl.ProduceSync(ctx, r).FirstErr(); err != nil {
					t.Fatalf("producer %d, partition %d: %v", id, p, err)
				}
			}
			if err := cl.EndTransaction(ctx, commit); err != nil {
				t.Fatalf("producer %d: %v", id, err)
			}
		}
		want += 6
	}
	reader := c.client(kgo.ConsumeTopics("moved"), kgo.ConsumerGroup("readers"), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for got := 0; got < want; {
		f := reader.PollFetches(ctx)
		if err := f.Err(); err != nil {
			t.Fatalf("%d of %d records: %v", got, want, err)
		}
		f.EachRecord(func(r *kgo.Record) {
			if string(r.Value) != fmt.Sprint(kgo.TryCommit) {
				t.Errorf("an aborted record was read from partition %d", r.Partition)
			}
			got++
		})
	}
	if err := reader.CommitUncommittedOffsets(ctx); err != nil {
		t.Errorf("commit what was read: %v", err)
	}
}
