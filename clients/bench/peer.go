package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// peer is a running server.
type peer struct {
	name    string
	pid     int
	measure func(ctx context.Context, records, size int) (result, error)
	stop    func() error
}

// starters start what can be measured. Each keeps its data below settings.dir.
var starters = map[string]func(context.Context, settings) (*peer, error){
	"weir":        startWeir,
	"kfake":       startFake,
	"kafka":       startKafka,
	"nats":        func(ctx context.Context, s settings) (*peer, error) { return startNATS(ctx, s, "default", 10) },
	"nats-always": func(ctx context.Context, s settings) (*peer, error) { return startNATS(ctx, s, "always", 500) },
}

// child starts a program. Its output is shown when it fails.
func child(program string, args ...string) (*exec.Cmd, *output, func() error, error) {
	cmd, out := exec.Command(program, args...), &output{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, nil, nil, err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	return cmd, out, func() error {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(30 * time.Second):
			cmd.Process.Kill()
			<-exited
		}
		return nil
	}, nil
}

// output keeps the last of what a program prints.
type output struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.kept.Len() > 64<<10 {
		o.kept.Reset()
	}
	return o.kept.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept.String()
}

// await asks until ready answers no error.
func await(ctx context.Context, out *output, ready func() error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w\n%s", err, out)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// startWeir starts a whole node with its pipeline; it syncs before it answers.
func startWeir(ctx context.Context, s settings) (*peer, error) {
	data := filepath.Join(s.dir, "weir")
	args := []string{"serve", "--data", data, "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0"}
	cmd, out, stop, err := child(s.weir, append(args, strings.Fields(s.weirFlags)...)...)
	if err != nil {
		return nil, err
	}
	var seed string
	if err := await(ctx, out, func() (err error) { seed, err = weirListener(filepath.Join(data, "admin.sock")); return err }); err != nil {
		return nil, fmt.Errorf("%w; %w", err, stop())
	}
	return kafkaPeer(cmd.Process.Pid, seed, s, stop), nil
}

// weirListener asks the admin socket for the address of the Kafka listener, once the node is ready.
func weirListener(socket string) (string, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	c := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	res, err := c.Get("http://weir/readyz")
	if err != nil {
		return "", err
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("/readyz: %s", res.Status)
	}
	if res, err = c.Get("http://weir/api/v1/status"); err != nil {
		return "", err
	}
	defer res.Body.Close()
	var doc struct{ Listeners map[string]string }
	if err := json.NewDecoder(res.Body).Decode(&doc); err != nil || doc.Listeners["kafka"] == "" {
		return "", fmt.Errorf("/api/v1/status names no Kafka listener (%v)", err)
	}
	return doc.Listeners["kafka"], nil
}

// freePort returns a port of loopback that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// startFake starts this program as kfake, a Kafka in memory.
func startFake(ctx context.Context, s settings) (*peer, error) {
	cmd, out, stop, err := child("/proc/self/exe", "-serve", "kfake")
	if err != nil {
		return nil, err
	}
	var seed string
	if err := await(ctx, out, func() error {
		line, _, whole := strings.Cut(out.String(), "\n")
		if !whole {
			return fmt.Errorf("kfake printed no address")
		}
		seed = line
		return nil
	}); err != nil {
		return nil, fmt.Errorf("%w; %w", err, stop())
	}
	return kafkaPeer(cmd.Process.Pid, seed, s, stop), nil
}

func serveFake(ctx context.Context) error {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Println(c.ListenAddrs()[0])
	<-ctx.Done()
	return nil
}

const serverProperties = `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:%[2]d
listeners=PLAINTEXT://127.0.0.1:%[1]d,CONTROLLER://127.0.0.1:%[2]d
controller.listener.names=CONTROLLER
log.dirs=%[3]s
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
`

// startKafka starts Apache Kafka with one node, its own defaults (no sync to disk) and the heap of its start script.
func startKafka(ctx context.Context, s settings) (*peer, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	controller, err := freePort()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(s.dir, "kafka.properties")
	data := filepath.Join(s.dir, "kafka")
	if err := os.WriteFile(config, fmt.Appendf(nil, serverProperties, port, controller, data), 0o600); err != nil {
		return nil, err
	}
	class := filepath.Join(s.javaLib, "*")
	if b, err := exec.CommandContext(ctx, "java", "-cp", class, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", config).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("format: %w\n%s", err, b)
	}
	cmd, out, stop, err := child("java", "-Xmx1g", "-Xms1g", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
		"-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", class, "kafka.Kafka", config)
	if err != nil {
		return nil, err
	}
	seed := fmt.Sprintf("127.0.0.1:%d", port)
	if err := await(ctx, out, func() error {
		c, err := net.Dial("tcp", seed)
		if err == nil {
			c.Close()
		}
		return err
	}); err != nil {
		return nil, fmt.Errorf("%w; %w", err, stop())
	}
	return kafkaPeer(cmd.Process.Pid, seed, s, stop), nil
}
