package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weir-analytics/weir/internal/testkit"
)

func TestAProducerMakesTheTopicItAsksForUnlessThatIsForbidden(t *testing.T) {
	kcat := testkit.Program(t, "kcat")
	for _, forbidden := range []bool{false, true} {
		var flags []string
		if forbidden {
			flags = []string{"--auto-create-topics=false"}
		}
		n := testkit.StartNode(t, "", flags...)
		_, _, err := testkit.Exec(t, kcat, "a\nb\n", nil, "-b", n.Kafka, "-P", "-t", "fresh", "-X", "message.timeout.ms=5000")
		if forbidden != (err != nil) {
			t.Errorf("forbidden %v: producing to a topic that is not there: %v", forbidden, err)
		}
		if !forbidden {
			if got, _, _ := testkit.Exec(t, kcat, "", nil, "-b", n.Kafka, "-C", "-t", "fresh", "-e", "-q"); got != "a\nb\n" {
				t.Errorf("read back %q", got)
			}
		}
	}
}

func TestKcatListsProducesConsumesAndJoinsGroups(t *testing.T) {
	kcat := testkit.Program(t, "kcat")
	n := testkit.StartNode(t, "")
	run := func(stdin string, args ...string) string {
		t.Helper()
		out, errOut, err := testkit.Exec(t, kcat, stdin, nil, append([]string{"-b", n.Kafka}, args...)...)
		if err != nil {
			t.Fatalf("kcat %v: %v\n%s", args, err, errOut)
		}
		return out
	}
	if list := run("", "-L"); !strings.Contains(list, `topic "events" with 8 partitions`) || !strings.Contains(list, n.Kafka) {
		t.Errorf("kcat -L:\n%s", list)
	}
	n.Run("", "topics", "create", "orders", "--partitions", "3")
	var in strings.Builder
	var want []string
	for i := range 300 {
		fmt.Fprintf(&in, "k%d:v%d\n", i, i)
		want = append(want, fmt.Sprintf("k%d:v%d", i, i))
	}
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		run(in.String(), "-t", "orders", "-P", "-K", ":", "-z", codec)
	}
	got := strings.Fields(run("", "-t", "orders", "-C", "-e", "-q", "-K", ":"))
	slices.Sort(got)
	slices.Sort(want)
	if len(got) != 5*len(want) || !slices.Equal(slices.Compact(got), want) {
		t.Errorf("kcat -C read %d records, want each of %d five times", len(got), len(want))
	}
	group := func() []string {
		return strings.Fields(run("", "-G", "readers", "-e", "-q", "-K", ":", "-X", "auto.offset.reset=earliest", "orders"))
	}
	if got := group(); len(got) != 5*len(want) {
		t.Errorf("kcat -G read %d records, want %d", len(got), 5*len(want))
	}
	run("one:more\n", "-t", "orders", "-P", "-K", ":")
	if got := group(); !slices.Equal(got, []string{"one:more"}) {
		t.Errorf("kcat -G went on with %v, want the one record that came since", got)
	}
	n.Kill()
	n.Restart()
	if got := strings.Fields(run("", "-t", "orders", "-C", "-e", "-q", "-K", ":")); len(got) != 5*len(want)+1 {
		t.Errorf("after kill -9 kcat -C read %d records, want %d", len(got), 5*len(want)+1)
	}
	if got := group(); len(got) != 0 {
		t.Errorf("after kill -9 kcat -G read %v again", got)
	}
}

func TestTopicsGroupsProduceAndConsume(t *testing.T) {
	n := testkit.StartNode(t, "")
	n.Run("", "topics", "create", "orders", "--partitions", "2", "--set", "retention.ms=86400000")
	if _, said, err := n.Try("", "topics", "create", "orders"); err == nil || !strings.Contains(said, "orders") {
		t.Errorf("create again: %v, %s", err, said)
	}
	if out := n.Run("", "topics", "describe", "orders"); !strings.Contains(out, "86400000") {
		t.Errorf("describe:\n%s", out)
	}
	n.Run("a=1\nb={\"x\":2}\n", "produce", "orders", "--key-separator", "=", "--header", "from=test", "--compression", "zstd")
	out := n.Run("", "consume", "orders")
	values := map[string]string{}
	for line := range strings.Lines(out) {
		var doc struct {
			Key     string
			Value   json.RawMessage
			Headers map[string]string
		}
		if err := json.Unmarshal([]byte(line), &doc); err != nil || doc.Headers["from"] != "test" {
			t.Fatalf("%s: %v", line, err)
		}
		values[doc.Key] = string(doc.Value)
	}
	if values["a"] != "1" || values["b"] != `{"x":2}` {
		t.Errorf("consume:\n%s", out)
	}
	if got := strings.Count(n.Run("", "consume", "orders", "--group", "g"), "\n"); got != 2 {
		t.Errorf("consume --group printed %d records, want 2", got)
	}
	if got := strings.Count(n.Run("", "consume", "orders", "--group", "g"), "\n"); got != 0 {
		t.Errorf("consume --group printed %d records again", got)
	}
	testkit.Wait(t, "group g in the list", 60*time.Second, func() bool {
		return strings.Contains(n.Run("", "groups", "list"), "g ")
	})
	if out := n.Run("", "groups", "describe", "g"); !strings.Contains(out, "orders") {
		t.Errorf("groups describe:\n%s", out)
	}
	n.Run("", "topics", "delete", "orders")
	if out := n.Run("", "topics", "list"); strings.Contains(out, "orders") || !strings.Contains(out, "events") {
		t.Errorf("topics list:\n%s", out)
	}
	if _, said, err := n.Try("", "consume", "orders"); err == nil || !strings.Contains(said, "there is no topic") {
		t.Errorf("consume of nothing: %v, %s", err, said)
	}
}

func TestConsumeDecodesHits(t *testing.T) {
	n := testkit.StartNode(t, "")
	n.Run("", "site", "add", "shop.example")
	n.Run(`81.2.69.142 - - [26/Oct/2025:02:30:00 +0100] "GET /kettles HTTP/1.1" 200 512 "-" "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"`+"\n",
		"import", "--site", "shop.example", "-")
	var doc struct {
		Key   string
		Value struct {
			Kind, Site, Path, Browser string
		}
		Error string
	}
	out := n.Run("", "consume", "events")
	if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Value.Site != "shop.example" || doc.Value.Path != "/kettles" || doc.Value.Browser != "Firefox" {
		t.Errorf("consume events: %v\n%s", err, out)
	}
	if strings.Contains(out, "81.2.69.142") {
		t.Error("the address of the visitor is in the log")
	}
}

func TestUsersAndTokens(t *testing.T) {
	n := testkit.StartNode(t, "")
	n.Run("correct horse battery\n", "user", "add", "ada@example.com", "--role", "admin", "--password-stdin")
	if out := n.Run("", "user", "list"); !strings.Contains(out, "ada@example.com") {
		t.Errorf("user list:\n%s", out)
	}
	n.Run("", "site", "add", "shop.example")
	token := strings.TrimSpace(n.Run("", "token", "add", "reader", "--scope", "stats"))
	env := []string{"WEIR_URL=" + n.HTTP, "WEIR_TOKEN=" + token}
	if out, said, err := testkit.Exec(t, testkit.Binary(t), "", env, "stats", "shop.example"); err != nil {
		t.Errorf("stats through WEIR_URL: %v\n%s%s", err, out, said)
	}
	if _, said, err := testkit.Exec(t, testkit.Binary(t), "", env, "site", "add", "other.example"); err == nil {
		t.Errorf("a token for reading added a site: %s", said)
	}
	n.Run("", "token", "remove", "reader")
	if _, said, err := testkit.Exec(t, testkit.Binary(t), "", env, "stats", "shop.example"); err == nil || !strings.Contains(said, "WEIR_TOKEN") {
		t.Errorf("a removed token: %v, %s", err, said)
	}
}

// Two members of a group split the partitions, and when one dies the other takes over what it had.
func TestAGroupOfTwoSplitsAndTakesOver(t *testing.T) {
	n := testkit.StartNode(t, "")
	n.Run("", "topics", "create", "jobs", "--partitions", "4")
	ctx := t.Context()
	join := func(name string) *kgo.Client {
		client, err := kgo.NewClient(kgo.InstanceID(name), kgo.SeedBrokers(n.Kafka), kgo.ConsumerGroup("workers"), kgo.ConsumeTopics("jobs"),
			kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(500*time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client
	}
	first, second := join("first"), join("second")
	producer, err := kgo.NewClient(kgo.SeedBrokers(n.Kafka), kgo.DefaultProduceTopic("jobs"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	// read polls a member for a moment and notes which partitions it got records of.
	read := func(client *kgo.Client, got map[int32]int) {
		pollCtx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		client.PollFetches(pollCtx).EachRecord(func(r *kgo.Record) { got[r.Partition]++ })
	}
	send := func() {
		t.Helper()
		for p := range int32(4) {
			if err := producer.ProduceSync(ctx, &kgo.Record{Partition: p, Value: []byte("job")}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	testkit.Wait(t, "both members to get two partitions each", 30*time.Second, func() bool {
		send()
		a, b := map[int32]int{}, map[int32]int{}
		read(first, a)
		read(second, b)
		for p := range a {
			if b[p] > 0 {
				return false // around a rebalance both may see a partition
			}
		}
		return len(a) == 2 && len(b) == 2
	})
	first.Close() // a member with a name does not say good-bye: it is as good as dead, and its session ends after 6 s
	testkit.Wait(t, "the other member to get all partitions", 30*time.Second, func() bool {
		send()
		got := map[int32]int{}
		read(second, got)
		return len(got) == 4
	})
}
