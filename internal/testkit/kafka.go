package testkit

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Kafka is an Apache Kafka of one node, with its own defaults, on free ports of loopback.
type Kafka struct {
	Addr string // HOST:PORT

	t    testing.TB
	args []string
	p    *Process
}

const kafkaProperties = `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:%[2]d
listeners=PLAINTEXT://127.0.0.1:%[1]d,CONTROLLER://127.0.0.1:%[2]d
controller.listener.names=CONTROLLER
log.dirs=%[3]s
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
`

// StartKafka starts an Apache Kafka, empty, and waits until it answers. It skips the test where there is no Java or the build of
// clients/java (make foreign) has not fetched Kafka's classes.
func StartKafka(t testing.TB) *Kafka {
	t.Helper()
	java := Program(t, "java")
	lib := filepath.Join(Root(t), "clients", "java", "target", "lib")
	if !exists(lib) {
		t.Skipf("%s is missing: make foreign fetches Kafka's classes", lib)
	}
	dir := t.TempDir()
	port, controller := freePort(t), freePort(t)
	k := &Kafka{Addr: fmt.Sprintf("127.0.0.1:%d", port), t: t}
	config := filepath.Join(dir, "server.properties")
	if err := os.WriteFile(config, fmt.Appendf(nil, kafkaProperties, port, controller, filepath.Join(dir, "logs")), 0o600); err != nil {
		t.Fatal(err)
	}
	classes := filepath.Join(lib, "*")
	if out, errOut, err := Exec(t, java, "", nil, "-cp", classes, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", config); err != nil {
		t.Fatalf("format Kafka's storage: %v\n%s%s", err, out, errOut)
	}
	k.args = []string{"-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", classes, "kafka.Kafka", config}
	k.start(java)
	return k
}

func (k *Kafka) start(java string) {
	k.t.Helper()
	k.p = Command(k.t, java, k.args...)
	Wait(k.t, "Kafka to answer", 2*time.Minute, func() bool {
		select {
		case <-k.p.Exited:
			k.t.Fatalf("Kafka went away (%v):\n%s", k.p.err, k.p.Output())
		default:
		}
		conn, err := net.Dial("tcp", k.Addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// Kill ends Kafka by SIGKILL.
func (k *Kafka) Kill() { k.p.Kill() }

// Restart starts it again after Kill, on the same data and address.
func (k *Kafka) Restart() {
	k.t.Helper()
	k.start(Program(k.t, "java"))
}

// freePort is a port of loopback that nobody listens on at the moment.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
