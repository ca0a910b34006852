package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// drivers are the clients in this process, by name. The seed is the broker's address.
var drivers = map[string]func(seed string) driver{}

// node is the broker that all tests share.
var node struct {
	seed   string // its address; empty when there is none
	binary string
}

// prepare readies the machine for the node.
var prepare = func() error { return nil }

func TestMain(m *testing.M) {
	if name := os.Getenv("CLIENTS_MEMBER"); name != "" {
		os.Exit(beMember(name))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	binary := os.Getenv("WEIR_BIN")
	if binary == "" {
		fmt.Println("WEIR_BIN does not name the binary to test; make clients sets it")
		return m.Run() // every test skips
	}
	dir, err := os.MkdirTemp("", "weir-clients-")
	if err = errors.Join(err, prepare()); err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	seed, stop, err := startNode(binary, filepath.Join(dir, "data"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	node.seed, node.binary = seed, binary
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

// startNode starts weir on free loopback ports, with a plaintext listener unless the flags name others, and waits until it is ready. stop ends it cleanly and shows its warnings.
func startNode(binary, data string, flags ...string) (seed string, stop func() error, err error) {
	var log bytes.Buffer
	if !slices.Contains(flags, "--kafka") {
		flags = append(flags, "--kafka", "127.0.0.1:0")
	}
	cmd := exec.Command(binary, append([]string{"serve", "--data", data, "--http", "127.0.0.1:0"}, flags...)...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		select {
		case err := <-exited:
			return "", nil, fmt.Errorf("weir went away: %v\n%s", err, &log)
		default:
		}
		if all, err := listeners(filepath.Join(data, "admin.sock")); err == nil {
			seed = all["kafka"]
			break
		} else if time.Since(began) > 2*time.Minute {
			cmd.Process.Kill()
			<-exited
			return "", nil, fmt.Errorf("weir did not get ready: %v\n%s", err, &log)
		}
	}
	return seed, func() error {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err = <-exited:
		case <-time.After(time.Minute):
			cmd.Process.Kill()
			<-exited
			err = fmt.Errorf("weir did not stop within a minute")
		}
		showWarnings(&log)
		return err
	}, nil
}

func showWarnings(log io.Reader) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	shown := 0
	for lines.Scan() && shown < 40 {
		if l := lines.Bytes(); bytes.Contains(l, []byte("WARN")) || bytes.Contains(l, []byte("ERROR")) || bytes.Contains(l, []byte("panic")) {
			fmt.Printf("weir: %.300s\n", l)
			shown++
		}
	}
}

// listeners asks the node's admin socket for the addresses of its listeners, once it is ready.
func listeners(socket string) (map[string]string, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	c := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	res, err := c.Get("http://weir/readyz")
	if err != nil {
		return nil, err
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("/readyz: %s", res.Status)
	}
	if res, err = c.Get("http://weir/api/v1/status"); err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var doc struct{ Listeners map[string]string }
	if err := json.NewDecoder(res.Body).Decode(&doc); err != nil {
		return nil, err
	}
	if doc.Listeners["kafka"] == "" {
		return nil, fmt.Errorf("/api/v1/status names no Kafka listener")
	}
	return doc.Listeners, nil
}

// needNode skips the test when there is no broker to test.
func needNode(t *testing.T) {
	t.Helper()
	if node.seed == "" {
		t.Skip("WEIR_BIN does not name the binary to test; run make clients")
	}
}

// program returns the path of a tool or skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}
