package clients

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const transactionsTool = "org.apache.kafka.tools.TransactionsCommand"

// TestKafkaTools runs the classes behind Kafka's scripts the way their users do.
func TestKafkaTools(t *testing.T) {
	needNode(t)
	topic := fmt.Sprintf("tools.%d", rand.Uint32())
	steps := []struct {
		name, stdin, class string
		args               []string
		want               string // a regular expression that the output must match
	}{
		{"kafka-topics create", "", "org.apache.kafka.tools.TopicCommand", []string{"--create", "--topic", topic, "--partitions", "3", "--config", "retention.ms=3600000"}, "Created topic"},
		{"kafka-topics describe", "", "org.apache.kafka.tools.TopicCommand", []string{"--describe", "--topic", topic}, `PartitionCount: 3\s.*retention.ms=3600000`},
		{"kafka-topics list", "", "org.apache.kafka.tools.TopicCommand", []string{"--list"}, `(?m)^` + regexp.QuoteMeta(topic) + `$`},
		{"kafka-topics alter", "", "org.apache.kafka.tools.TopicCommand", []string{"--alter", "--topic", topic, "--partitions", "4"}, `^\s*$`},
		{"kafka-configs alter", "", "kafka.admin.ConfigCommand", []string{"--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config", "retention.bytes=1000000"}, "Completed updating"},
		{"kafka-configs describe", "", "kafka.admin.ConfigCommand", []string{"--describe", "--entity-type", "topics", "--entity-name", topic}, `retention.bytes=1000000`},
		{"kafka-console-producer", "a:1\nb:2\nc:3\n", "org.apache.kafka.tools.ConsoleProducer", []string{"--topic", topic, "--reader-property", "parse.key=true", "--reader-property", "key.separator=:"}, `^[\s>]*$`},
		{"kafka-console-consumer", "", "org.apache.kafka.tools.consumer.ConsoleConsumer", []string{"--topic", topic, "--from-beginning", "--max-messages", "3", "--timeout-ms", "60000", "--group", topic}, `Processed a total of 3 messages`},
		{"kafka-get-offsets", "", "org.apache.kafka.tools.GetOffsetShell", []string{"--topic", topic}, regexp.QuoteMeta(topic) + `:3:\d`},
		{"kafka-consumer-groups list", "", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", []string{"--list"}, `(?m)^` + regexp.QuoteMeta(topic) + `$`},
		{"kafka-consumer-groups describe", "", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", []string{"--describe", "--group", topic}, regexp.QuoteMeta(topic) + `\s+3\s+\d+\s+\d+\s+0`},
		{"kafka-consumer-groups reset-offsets", "", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", []string{"--reset-offsets", "--to-earliest", "--execute", "--group", topic, "--topic", topic}, regexp.QuoteMeta(topic) + `\s+3\s+0`},
		{"kafka-consumer-groups delete", "", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", []string{"--delete", "--group", topic}, "was successful"},
		{"kafka-producer-perf-test", "", "org.apache.kafka.tools.ProducerPerformance", []string{"--topic", topic, "--num-records", "5000", "--record-size", "200", "--throughput", "-1"}, "5000 records sent"},
		{"kafka-consumer-perf-test", "", "org.apache.kafka.tools.ConsumerPerformance", []string{"--topic", topic, "--num-records", "5000", "--timeout", "60000"}, `\n.*, 500\d, `},
		{"kafka-verifiable-producer", "", "org.apache.kafka.tools.VerifiableProducer", []string{"--topic", topic, "--max-messages", "100"}, `"acked":100`},
		{"kafka-log-dirs", "", "org.apache.kafka.tools.LogDirsCommand", []string{"--describe", "--topic-list", topic}, regexp.QuoteMeta(topic) + `-3`},
		{"kafka-cluster", "", "org.apache.kafka.tools.ClusterTool", []string{"cluster-id"}, "Cluster ID: "},
		{"kafka-broker-api-versions", "", "org.apache.kafka.tools.BrokerApiVersionsCommand", nil, `Produce\(0\): 0 to 13`},
		{"kafka-transactions list", "", transactionsTool, []string{"list"}, `^TransactionalId\s`},
		{"kafka-transactions find-hanging", "", transactionsTool, []string{"find-hanging", "--broker-id", "1"}, `^Topic\s.*\n$`},
		{"kafka-topics delete", "", "org.apache.kafka.tools.TopicCommand", []string{"--delete", "--topic", topic}, `^\s*$`},
	}
	for _, s := range steps {
		t.Run(strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			args := append(slices.Clone(s.args), "--bootstrap-server", node.seed)
			if s.class == transactionsTool { // it wants its own words last
				args = append([]string{"--bootstrap-server", node.seed}, s.args...)
			}
			out, err := tool(t, s.stdin, s.class, args...)
			if err != nil || !regexp.MustCompile(s.want).MatchString(out) {
				t.Errorf("%v\n%s\nwant a match of %s", err, out, s.want)
			}
		})
	}
}

// TestDumpLogSegments lets Kafka read the files that weir wrote, byte by byte: those that are full while the node runs, all after a clean
// stop. (The one that is being written is longer than what is in it: DumpLogSegments prints its records and then trips over the zeros, as it
// does over Kafka's own with preallocate=true.)
func TestDumpLogSegments(t *testing.T) {
	needNode(t)
	javaPath(t)
	data := filepath.Join(t.TempDir(), "data")
	seed, stop, err := startNode(node.binary, data)
	if err != nil {
		t.Fatal(err)
	}
	f := franz{seed}
	dir, n := fillSegments(t, f)
	full := segments(t, dir)
	if len(full) < 3 {
		t.Errorf("%d segments, want several: %v", len(full), full)
	}
	if len(full) > 1 {
		dump(t, full[0])
	}
	txns := transactions(t, f, filepath.Dir(filepath.Dir(dir)))
	own := filepath.Join(data, "topics")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	records := 0
	for _, file := range segments(t, dir) {
		records += strings.Count(dump(t, file), "| offset: ")
	}
	if records != n {
		t.Errorf("DumpLogSegments shows %d records, want %d", records, n)
	}
	dump(t, segments(t, own)[0]) // whatever the node itself has written
	file := segments(t, txns)[0]
	out := dump(t, file)
	for _, want := range []string{`endTxnMarker: COMMIT coordinatorEpoch: \d+`, `endTxnMarker: ABORT coordinatorEpoch: \d+`, `isTransactional: true isControl: true`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("DumpLogSegments shows no %q:\n%s", want, out)
		}
	}
	out, err = tool(t, "", "org.apache.kafka.tools.DumpLogSegments", "--files", strings.TrimSuffix(file, ".log")+".txnindex")
	if err != nil || !regexp.MustCompile(`version: 0 producerId: \d+ firstOffset: 2 lastOffset: 3 lastStableOffset: 4`).MatchString(out) {
		t.Errorf("DumpLogSegments of the index of aborted transactions: %v\n%s", err, out)
	}
}

// transactions commits a transaction of one record in a topic of its own and aborts another. It returns where the topic's files are.
func transactions(t *testing.T, f franz, topics string) (dir string) {
	t.Helper()
	c, err := f.client(kgo.TransactionalID("dump"), kgo.DefaultProduceTopic("dump.txn"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := timeout(t, time.Minute)
	adm := kadm.NewClient(c)
	if _, err := adm.CreateTopic(ctx, 1, -1, nil, "dump.txn"); err != nil {
		t.Fatal(err)
	}
	for _, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		if err := c.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := c.ProduceSync(ctx, kgo.StringRecord("x")).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := c.EndTransaction(ctx, end); err != nil {
			t.Fatal(err)
		}
	}
	details, err := adm.ListTopics(ctx, "dump.txn")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(topics, fmt.Sprintf("%x", [16]byte(details["dump.txn"].ID)), "0")
}

// fillSegments writes batches of all codecs into a topic with small segments and commits offsets of a group. It returns where the topic's
// files are and how many records it has.
func fillSegments(t *testing.T, f franz) (dir string, n int) {
	t.Helper()
	c, err := f.client()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	adm := kadm.NewClient(c)
	size := "65536"
	if _, err := adm.CreateTopic(timeout(t, time.Minute), 1, -1, map[string]*string{"segment.bytes": &size}, "dump"); err != nil {
		t.Fatal(err)
	}
	for range 12 {
		for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
			recs := numbered(n, 100)
			for i := range recs {
				recs[i].Value = append(recs[i].Value, fmt.Sprint(" ", rand.Uint64(), rand.Uint64())...)
			}
			recs[0].Headers, recs[1].Key, recs[2].Value = []header{{"codec", []byte(codec)}}, nil, nil
			mustProduce(t, f, "dump", 0, produceOpts{Codec: codec, Idempotent: true}, recs)
			n += len(recs)
		}
	}
	details, err := adm.ListTopics(timeout(t, time.Minute), "dump")
	if err != nil {
		t.Fatal(err)
	}
	logs, err := adm.DescribeAllLogDirs(timeout(t, time.Minute), nil)
	if err != nil {
		t.Fatal(err)
	}
	logs.Each(func(d kadm.DescribedLogDir) { dir = d.Dir })
	return filepath.Join(dir, fmt.Sprintf("%x", [16]byte(details["dump"].ID)), "0"), n
}

// segments are the .log files below a directory that hold a batch, in the order of their names.
func segments(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".log" && startsWithBatch(path) {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no .log file with records under %s: %v", dir, err)
	}
	return files
}

func startsWithBatch(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 61)
	_, err = io.ReadFull(f, head)
	return err == nil && head[16] == 2
}

func dump(t *testing.T, file string) string {
	t.Helper()
	out, err := tool(t, "", "org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--print-data-log", "--files", file)
	if err != nil || strings.Contains(out, "isvalid: false") || strings.Contains(out, "Found") || strings.Contains(out, "Exception") || !strings.Contains(out, "isvalid: true") {
		t.Errorf("DumpLogSegments %s: %v\n%.1500s\n...\n%s", file, err, out, out[max(len(out)-1500, 0):])
	}
	return out
}
