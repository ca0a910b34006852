package clients

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// segmentioLeftOut are tests of kafka-go's suite that say nothing about this broker.
var segmentioLeftOut = map[string]string{
	"TestConn/test_delete_topics":                                "of a topic that is made on demand the first answer names the partitions here, the tests want none; one of them fails against Apache Kafka 4.3.1 too",
	"TestConn/nettest":                                           "left out by kafka-go's own CI too: it fails against Kafka",
	"TestReaderConsumerGroup/consumer_group_rebalance$":          "fails against Apache Kafka 4.3.1 in the same way",
	"TestReaderReadCompactedMessage":                             "makes segments of 200 bytes, which Apache Kafka 4.3.1 refuses too",
	"TestReaderConsumerGroup/.*commit":                           "the test calls a function that it has not set, and panics whatever the broker says",
	"TestClientElectLeaders":                                     "ElectLeaders is not offered on one node",
	"TestClient(Alter|List)PartitionReassignments(MultiTopics)?": "reassignment is not offered on one node",
}

// TestSegmentioOwnTests runs kafka-go's own tests, which dial localhost:9092 without and localhost:9093 with a log-in. They get a network of
// their own, in which these ports are free.
func TestSegmentioOwnTests(t *testing.T) {
	needNode(t)
	if testing.Short() {
		t.Skip("takes minutes")
	}
	if dir := os.Getenv("CLIENTS_NAMESPACE"); dir != "" {
		runSegmentio(t, dir)
		return
	}
	dir := t.TempDir()
	buildSegmentio(t, dir)
	cmd := exec.CommandContext(timeout(t, 20*time.Minute), os.Args[0], "-test.run=^TestSegmentioOwnTests$", "-test.v", "-test.timeout=20m")
	cmd.Env = append(os.Environ(), "CLIENTS_NAMESPACE="+dir)
	one := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET, UidMappings: one(os.Getuid()), GidMappings: one(os.Getgid()), Pdeathsig: syscall.SIGKILL,
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("kafka-go's tests need a network namespace, which this machine does not give: %v", err)
	}
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

func init() {
	if os.Getenv("CLIENTS_NAMESPACE") != "" {
		prepare = loopbackUp
	}
}

// loopbackUp makes 127.0.0.1 usable in a network namespace that was just made.
func loopbackUp() error {
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(s)
	req := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{name: [16]byte{'l', 'o'}, flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(s), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&req))); errno != 0 {
		return errno
	}
	return nil
}

// segmentioSource is where kafka-go is in the module cache.
func segmentioSource(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(program(t, "go"), "list", "-m", "-f", "{{.Dir}}", "github.com/segmentio/kafka-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// buildSegmentio builds the test programs into dir, with the versions of libraries that kafka-go itself asks for.
func buildSegmentio(t *testing.T, dir string) {
	t.Helper()
	source := segmentioSource(t)
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(source, name))
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, name), data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program(t, "go"), "test", "-mod=mod", "-modfile="+filepath.Join(dir, "go.mod"), "-c", "-o", dir+"/", ".", "./sasl", "./topics")
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build kafka-go's tests: %v\n%s", err, out)
	}
}

func runSegmentio(t *testing.T, dir string) {
	data := filepath.Join(t.TempDir(), "data")
	_, stop, err := startNode(node.binary, data, "--kafka", "plaintext://127.0.0.1:9092", "--kafka-advertise", "plaintext://localhost:9092",
		"--kafka", "sasl_plaintext://127.0.0.1:9093", "--kafka-advertise", "sasl_plaintext://localhost:9093", "--kafka-allow-if-no-acl")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	addUser(t, data, "adminplain", "admin-secret")
	addUser(t, data, "adminscram256", "admin-secret-256")
	addUser(t, data, "adminscram512", "admin-secret-512")
	skip := strings.Join(slices.Sorted(maps.Keys(segmentioLeftOut)), "|")
	for program, folder := range map[string]string{"kafka-go.test": "", "sasl.test": "sasl", "topics.test": "topics"} {
		cmd := exec.CommandContext(timeout(t, 15*time.Minute), filepath.Join(dir, program), "-test.v", "-test.timeout=15m", "-test.skip="+skip)
		cmd.Dir = filepath.Join(segmentioSource(t), folder)
		cmd.Env = append(os.Environ(), "KAFKA_VERSION=4.1.0", "KAFKA_SKIP_NETTEST=1")
		out, err := cmd.CombinedOutput()
		passed := regexp.MustCompile(`(?m)^\s*--- PASS`).FindAll(out, -1)
		t.Logf("%s: %d pass", program, len(passed))
		if err != nil || len(passed) == 0 {
			for _, m := range regexp.MustCompile(`(?m)^\s*--- FAIL.*$`).FindAll(out, -1) {
				t.Logf("%s", m)
			}
			t.Errorf("%s: %v\n%s", program, err, out[max(len(out)-3000, 0):])
		}
	}
	for what, why := range segmentioLeftOut {
		t.Logf("left out: %s: %s", what, why)
	}
}
