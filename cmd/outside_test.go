package cmd

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/internal/testkit"
)

// With --kafka-brokers hits and counts lie in an Apache Kafka: what was acknowledged is counted once although the node and Kafka are killed.
func TestHitsAndCountsInAnApacheKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("runs an Apache Kafka")
	}
	kafka := testkit.StartKafka(t)
	flags := []string{"--kafka-brokers", kafka.Addr}
	n := testkit.StartNode(t, "", flags...)
	n.Run("", "site", "add", crashSite)
	n.Run("", "site", "add", crashLinks, "--timezone", "Europe/Berlin")
	singles := []*sender{{name: "s0", keys: map[string]int64{}}, {name: "s1", keys: map[string]int64{}}}
	batches := []*sender{{name: "b0", keys: map[string]int64{}}}
	rng := rand.New(rand.NewPCG(1, 1))
	sendUntilKilled(t, n, rng, singles, batches)
	n.Restart(flags...)
	sendUntilKilled(t, n, rng, singles, batches)
	kafka.Kill()
	kafka.Restart()
	n.Restart(flags...)
	for _, s := range append(singles, batches...) {
		for _, body := range s.pending {
			if !s.send(t.Context(), http.DefaultClient, n.HTTP, body) {
				t.Errorf("a hit is still not taken: %.120s", body)
			}
		}
		s.pending = nil
	}
	checkOnce(t, n, crashSite, "page", singles)
	checkOnce(t, n, crashLinks, "link", batches)
	if n.Kafka != kafka.Addr {
		t.Errorf("the status names %s as the log, want %s", n.Kafka, kafka.Addr)
	}
	out, errOut, err := testkit.Exec(t, testkit.Program(t, "kcat"), "", nil, "-b", kafka.Addr, "-C", "-t", "rollup.day", "-e", "-q", "-c", "1")
	if err != nil || !strings.HasPrefix(out, "{") {
		t.Errorf("kcat reads of rollup.day: %v %.200s%s", err, out, errOut)
	}
}

// A weir that does not count is a Kafka cluster too. Whose topics are wrong, or whose directory belongs elsewhere, is told before any hit is lost.
func TestAnotherClusterIsTheLogOrIsRefusedWithWords(t *testing.T) {
	log := testkit.StartNode(t, "", "--counting=false")
	flags := []string{"--kafka-brokers", log.Kafka}
	n := testkit.StartNode(t, "", flags...)
	n.Run("", "site", "add", crashSite)
	s := &sender{name: "o", keys: map[string]int64{}}
	for range 20 {
		if !s.send(t.Context(), http.DefaultClient, n.HTTP, s.body(false)) {
			t.Fatal("a hit is not taken")
		}
	}
	testkit.Wait(t, "the first count", time.Minute, func() bool { return len(stats(t, n, crashSite).Rows) > 0 })
	checkOnce(t, n, crashSite, "page", []*sender{s})
	if out := n.Run("", "topics", "list"); !strings.Contains(out, "events.dropped") {
		t.Errorf("the topics of the cluster:\n%s", out)
	}
	if _, errOut, err := n.Try("", "received"); err == nil || !strings.Contains(errOut, "--kafka-brokers") {
		t.Errorf("weir received on a log of others: %v %s", err, errOut)
	}
	if err := n.Stop(time.Minute); err != nil {
		t.Fatal(err)
	}

	other := testkit.StartNode(t, "")
	for _, c := range []struct {
		name  string
		dir   string
		flags []string
		words []string
	}{
		{"without the flag", n.Dir, nil, []string{"--kafka-brokers " + log.Kafka}},
		{"another cluster", n.Dir, []string{"--kafka-brokers", other.Kafka}, []string{"--kafka-brokers", log.Kafka}},
		{"listeners besides", n.Dir, append([]string{"--kafka", "127.0.0.1:0"}, flags...), []string{"--kafka:", "no Kafka listener"}},
		{"no port", t.TempDir(), []string{"--kafka-brokers", "kafka"}, []string{"want HOST:PORT"}},
		{"log-in without user", t.TempDir(), append([]string{"--kafka-brokers-sasl", "PLAIN"}, flags...), []string{"--kafka-brokers-user"}},
		{"certificate without TLS", t.TempDir(), append([]string{"--kafka-brokers-ca", "x.pem"}, flags...), []string{"--kafka-brokers-tls"}},
	} {
		_, errOut, err := testkit.Exec(t, testkit.Binary(t), "", nil, append([]string{"serve", "--data", c.dir, "--http", "127.0.0.1:0"}, c.flags...)...)
		if err == nil {
			t.Errorf("%s: the node started", c.name)
		}
		for _, word := range c.words {
			if !strings.Contains(errOut, word) {
				t.Errorf("%s: %q is missing in:\n%s", c.name, word, errOut)
			}
		}
	}

}

// Topics that are there and would lose counts are refused, with what to do; those that are missing are made.
func TestTopicsOfAnotherClusterAreChecked(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	serve := func() string {
		out, errOut, err := testkit.Exec(t, testkit.Binary(t), "", nil, "serve", "--data", t.TempDir(), "--http", "127.0.0.1:0",
			"--kafka-brokers", cluster.ListenAddrs()[0])
		if err == nil {
			t.Errorf("the node started: %s", out)
		}
		return errOut
	}
	text := func(s string) *string { return &s }
	made := func(partitions int32, configs map[string]*string) {
		t.Helper()
		if _, err := admin.CreateTopic(t.Context(), partitions, 1, configs, "rollup.day"); err != nil {
			t.Fatal(err)
		}
	}
	made(8, map[string]*string{"cleanup.policy": text("delete")})
	if got := serve(); !strings.Contains(got, "rollup.day has cleanup.policy=delete, it has to be compact") {
		t.Errorf("a topic that forgets counts: %s", got)
	}
	if _, err := admin.DeleteTopic(t.Context(), "rollup.day"); err != nil {
		t.Fatal(err)
	}
	made(3, map[string]*string{"cleanup.policy": text("compact")})
	if got := serve(); !strings.Contains(got, "rollup.day has 3") || !strings.Contains(got, "have to be equal") {
		t.Errorf("a topic with another number of partitions: %s", got)
	}
}
