package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// notApplicable are librdkafka's numbered tests that say nothing about this broker.
var notApplicable = map[string]string{
	"0009": "runs a mock cluster",
	"0016": "reads the client's software name through JMX",
	"0047": "waits for a broker that answers in parts, with a known fault of its own",
	"0059": "makes ten searches that wait a second each for fetch.queue.backoff.ms, with a limit of 10 s in all; no faster against kfake",
	"0097": "its client does not know the words of OpenSSL 3.0.22 for a certificate that it refused, and it wants the alerts of Java's TLS",
	"0101": "needs three brokers with racks",
	"0126": "OAUTHBEARER is not offered",
	"0139": "runs a mock cluster",
	"0150": "runs a mock cluster",
}

// subtests are the parts of tests that end with the first that fails. Left out of 0081 are AlterConfigs and IncrementalAlterConfigs, which change
// settings of a broker (flags here) and of groups by KIP-848 (not offered), and DescribeConfigs_groups; of 0142, share groups and OAUTHBEARER.
var subtests = map[string][]string{
	"0081": strings.Fields(`unclean_destroy CreateTopics DeleteTopics CreatePartitions CreateAcls DescribeAcls DeleteAcls DescribeConfigs:
		DeleteRecords ListConsumerGroups: DescribeConsumerGroups: DescribeTopics DescribeCluster DescribeConsumerGroups_with_authorized_ops
		DeleteGroups DeleteConsumerGroupOffsets ListOffsets AlterConsumerGroupOffsets ListConsumerGroupOffsets UserScramCredentials`),
	"0142": strings.Fields("consumer producer txn_producer reauth_failure"),
}

// A way is one way to reach the broker that tests of librdkafka are run over.
type way struct {
	name  string
	tests []string // numbers; nil is all of them
	flags []string // of weir
	conf  func(openNode) string
	env   []string
}

var ways = []way{
	{
		name: "plaintext",
		conf: func(n openNode) string { return "bootstrap.servers=" + n.plaintext + "\n" },
	},
	{
		name: "noautocreate", tests: []string{"0045", "0107", "0111"}, flags: []string{"--auto-create-topics=false"},
		conf: func(n openNode) string { return "bootstrap.servers=" + n.plaintext + "\n" },
		env:  []string{"TEST_SCENARIO=noautocreate"},
	},
	{
		name: "ssl", tests: []string{"0001", "0005", "0017", "0081", "0103"},
		conf: func(n openNode) string {
			return "bootstrap.servers=" + n.ssl + "\nsecurity.protocol=ssl\nssl.ca.location=" + n.cert +
				"\nssl.certificate.location=" + n.cert + "\nssl.key.location=" + n.key + "\n"
		},
	},
	{
		name: "sasl_plaintext", tests: []string{"0001", "0135", "0142"}, flags: []string{"--kafka-reauthenticate", "5s"},
		conf: func(n openNode) string {
			return "bootstrap.servers=" + n.saslPlaintext + "\nsecurity.protocol=sasl_plaintext\nsasl.mechanism=PLAIN\nsasl.username=" + userName + "\nsasl.password=" + password + "\n"
		},
	},
	{
		name: "sasl_ssl", tests: []string{"0005", "0081", "0103", "0109", "0123", "0135", "0142"}, flags: []string{"--kafka-reauthenticate", "5s"},
		conf: func(n openNode) string {
			return "bootstrap.servers=" + n.saslSSL + "\nsecurity.protocol=sasl_ssl\nssl.ca.location=" + n.cert +
				"\nsasl.mechanism=SCRAM-SHA-512\nsasl.username=" + userName + "\nsasl.password=" + password + "\n"
		},
	},
}

// TestLibrdkafkaOwnTests runs librdkafka's numbered tests, built from its sources in the folder LIBRDKAFKA, but for those that need no broker.
// The output of each is in LIBRDKAFKA/weir.
func TestLibrdkafkaOwnTests(t *testing.T) {
	needNode(t)
	dir := os.Getenv("LIBRDKAFKA")
	if dir == "" {
		t.Skip("LIBRDKAFKA does not name the sources; run make librdkafka")
	}
	source, err := os.ReadFile(filepath.Join(dir, "tests", "test.c"))
	if err != nil {
		t.Fatal(err)
	}
	scripts, oneBroker := kafkaScripts(t), oneBroker(t)
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			n := startOpen(t, append(slices.Clone(w.flags), "--default-partitions", "4")...)
			conf := filepath.Join(t.TempDir(), "test.conf")
			if err := os.WriteFile(conf, []byte(w.conf(n)+"test.timeout.multiplier=3\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			env := append(os.Environ(), "RDKAFKA_TEST_CONF="+conf, "TEST_KAFKA_VERSION=4.1.0", "KAFKA_PATH="+scripts, "BROKERS="+n.plaintext,
				"LD_LIBRARY_PATH="+filepath.Join(dir, "src")+":"+filepath.Join(dir, "src-cpp"))
			env = append(env, w.env...)
			for _, number := range numbers(string(source)) {
				if w.tests != nil && !slices.Contains(w.tests, number) {
					continue
				}
				t.Run(number, func(t *testing.T) {
					env := env
					if number != "0081" { // which asks for what there is
						env = append(env, "LD_PRELOAD="+oneBroker)
					}
					if subtests[number] == nil {
						runNumbered(t, dir, number, env)
					}
					for _, sub := range subtests[number] {
						t.Run(strings.Trim(sub, ":"), func(t *testing.T) { runNumbered(t, dir, number, append(env, "SUBTESTS=do_test_"+sub)) })
					}
				})
			}
		})
	}
}

// numbers are those of the tests that reach for a broker, in their order.
func numbers(source string) (list []string) {
	for _, m := range regexp.MustCompile(`_TEST\((\d{4})_\w+,\s*([^,)]*)`).FindAllStringSubmatch(source, -1) {
		local := strings.Contains(m[2], "TEST_F_LOCAL") || strings.Contains(m[2], "TEST_F_MANUAL")
		if !local && !slices.Contains(list, m[1]) {
			list = append(list, m[1])
		}
	}
	return list
}

func runNumbered(t *testing.T, dir, number string, env []string) {
	if why, ok := notApplicable[number]; ok {
		t.Skip(why)
	}
	if number >= "0170" && number < "1000" {
		t.Skip("share groups are not offered")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := []string{"-p1", "-E", "-L"} // one by one, the subtests too, none that is local
	if number != "0142" {               // of which nothing would be left
		args = append(args, "-Q")
	}
	cmd := exec.CommandContext(ctx, "./test-runner", args...)
	cmd.Dir, cmd.Env = filepath.Join(dir, "tests"), append(env, "TESTS="+number)
	out, err := cmd.CombinedOutput()
	kept := filepath.Join(dir, "weir", strings.ReplaceAll(t.Name(), "/", "."))
	if err := errors.Join(os.MkdirAll(filepath.Dir(kept), 0o755), os.WriteFile(kept, out, 0o644)); err != nil {
		t.Error(err)
	}
	if err != nil {
		text := string(out)
		t.Fatalf("%v, all output in %s\n%s", err, kept, text[max(len(text)-2500, 0):])
	}
	for _, m := range regexp.MustCompile(`(?m)SKIPPING (?:SUB)?TEST: (.*)$`).FindAllStringSubmatch(string(out), -1) {
		if !strings.Contains(m[1], "negative test flags") {
			t.Log("skips by itself:", m[1])
		}
	}
}

// kafkaScripts makes a folder as Kafka comes in, with what librdkafka's tests call: some of the scripts and the Java classes.
func kafkaScripts(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	java, _ := javaPath(t)
	jars, err := filepath.Abs("../java/target/lib")
	if err := errors.Join(err, os.Mkdir(filepath.Join(dir, "bin"), 0o755), os.Symlink(jars, filepath.Join(dir, "libs"))); err != nil {
		t.Fatal(err)
	}
	for script, class := range map[string]string{
		"kafka-topics.sh": "org.apache.kafka.tools.TopicCommand", "kafka-acls.sh": "org.apache.kafka.tools.AclCommand", "kafka-configs.sh": "kafka.admin.ConfigCommand",
		"kafka-run-class.sh": "",
	} {
		text := fmt.Sprintf("#!/bin/sh\nexec '%s' %s -cp '%s/*':$CLASSPATH %s \"$@\"\n", java, strings.Join(jvm, " "), jars, class)
		if err := os.WriteFile(filepath.Join(dir, "bin", script), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// oneBroker builds a library that, loaded before librdkafka's, has the tests make their topics with one replica: they are written for three
// brokers.
func oneBroker(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source, library := filepath.Join(dir, "one.c"), filepath.Join(dir, "one.so")
	const text = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
void *rd_kafka_NewTopic_new(const char *topic, int partitions, int replicas, char *error, size_t size) {
	void *(*make)(const char *, int, int, char *, size_t) = dlsym(RTLD_NEXT, "rd_kafka_NewTopic_new");
	return make(topic, partitions, replicas > 1 ? 1 : replicas, error, size);
}
`
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program(t, "cc"), "-shared", "-fPIC", "-o", library, source, "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return library
}
